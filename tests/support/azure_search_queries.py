"""How the double of Azure AI Search answers queries: filter, keywords, vectors, their fusion and the ranker."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from support.odata import parse

_KNOWN = {
    "search": str,
    "searchFields": str,
    "searchMode": str,
    "filter": str,
    "select": str,
    "top": int,
    "skip": int,
    "queryType": str,
    "semanticConfiguration": str,
    "semanticQuery": str,
    "vectorQueries": list,
    "vectorFilterMode": str,
}
_PAGE = 1000
_NEIGHBORS = 50
_RANKED = 50
_WORD = re.compile(r"\w+(?:'\w+)*")


class QueryError(Exception):
    """The service's `400`."""


class Searched(Protocol):
    definition: dict[str, Any]
    documents: dict[str, dict[str, Any]]


def require(holds: Any, message: str) -> None:
    if not holds:
        raise QueryError(message)


def answer(body: Any, index: Searched, *, semantic_ranker: bool) -> dict[str, Any]:
    """The page that a query gets, with the parameters of the next one where there is more."""
    _check(body, index.definition)
    eligible = _eligible(body, index)
    arms = [arm for arm in (_keyword_arm(body, eligible), *_vector_arms(body, eligible, index)) if arm is not None]
    scores = arms[0] if len(arms) == 1 else _fused(arms)
    order = sorted(scores, key=lambda key: (-scores[key], key))
    hits = [{"@search.score": scores[key], **_selected(body, eligible[key], index.definition)} for key in order]
    if body.get("queryType") == "semantic" and semantic_ranker:
        hits = _reranked(body, hits, [eligible[key] for key in order])
    start, top = body.get("skip", 0), body.get("top", 50)
    page: dict[str, Any] = {"@odata.context": "double", "value": hits[start : start + min(top, _PAGE)]}
    if top > _PAGE and len(hits) > start + _PAGE:
        page["@search.nextPageParameters"] = {**body, "skip": start + _PAGE, "top": top - _PAGE}
        page["@odata.nextLink"] = "next"
    return page


def _check(body: Any, definition: Mapping[str, Any]) -> None:
    require(isinstance(body, Mapping), "a query must be an object")
    for name, value in body.items():
        require(name in _KNOWN, f"The parameter '{name}' in the request payload is not a valid parameter for 'search'.")
        require(isinstance(value, _KNOWN[name]) and not isinstance(value, bool), f"'{name}' is of a wrong type")
    require(
        body.get("top", 0) >= 0 and 0 <= body.get("skip", 0) <= 100_000, "Value must be at least 0 and at most 100000"
    )
    fields = {item["name"]: item for item in definition["fields"]}
    for name in _names(body.get("select")):
        require(name in fields and fields[name].get("retrievable") is not False, f"Could not find a property '{name}'")
    for name in _names(body.get("searchFields")):
        require(
            fields.get(name, {}).get("searchable"), f"The field '{name}' in the search field list is not searchable."
        )
    require(body.get("vectorFilterMode", "preFilter") in ("preFilter", "postFilter"), "no such vectorFilterMode")
    _check_semantic(body, definition)


def _check_semantic(body: Mapping[str, Any], definition: Mapping[str, Any]) -> None:
    kind = body.get("queryType", "simple")
    require(kind in ("simple", "semantic"), f"the double knows no queryType '{kind}'")
    if kind != "semantic":
        require("semanticConfiguration" not in body and "semanticQuery" not in body, "queryType must be semantic")
        return
    held = {item["name"] for item in (definition.get("semantic") or {}).get("configurations") or ()}
    require(body.get("semanticConfiguration") in held, f"Unknown semantic configuration in '{sorted(held)}'")


def _names(text: str | None) -> list[str]:
    return text.split(",") if text else []


def _eligible(body: Mapping[str, Any], index: Searched) -> dict[str, dict[str, Any]]:
    if "filter" not in body:
        return dict(index.documents)
    test = parse(body["filter"], index.definition["fields"])
    return {key: document for key, document in index.documents.items() if test(document)}


def _selected(body: Mapping[str, Any], document: Mapping[str, Any], definition: Mapping[str, Any]) -> dict[str, Any]:
    names = _names(body.get("select")) or [item["name"] for item in definition["fields"]]
    return {name: document[name] for name in names}


def _keyword_arm(body: Mapping[str, Any], eligible: Mapping[str, Mapping[str, Any]]) -> dict[str, float] | None:
    text = body.get("search", None if body.get("vectorQueries") else "*")
    if text is None:
        return None
    if text in ("*", ""):
        return dict.fromkeys(eligible, 1.0)
    wanted, excluded = _parsed(text)
    found = {}
    for key, document in eligible.items():
        words = _words(document["text"])
        score = sum(words.count(word) / (1 + len(words)) for word in wanted)
        if score > 0 and not excluded & set(words):
            found[key] = score
    return found


def _parsed(text: str) -> tuple[list[str], set[str]]:
    """The simple syntax, as far as a plain query could run into it: a backslash escapes, a bare `-word` excludes."""
    require(len(re.findall(r'(?<!\\)(?:\\\\)*"', text)) % 2 == 0, "Failed to parse query string: a quote is not closed")
    excluded = {word.lower() for word in re.findall(r"(?:^|\s)-(\w+)", text)}
    plain = re.sub(r"\\(.)", r"\1", re.sub(r"(?:^|\s)-\w+", " ", text))
    return _words(plain), excluded


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _vector_arms(
    body: Mapping[str, Any], eligible: Mapping[str, Mapping[str, Any]], index: Searched
) -> Iterable[dict[str, float]]:
    fields = {item["name"]: item for item in index.definition["fields"] if "dimensions" in item}
    for query in body.get("vectorQueries", ()):
        require(
            not query.keys() - {"kind", "vector", "fields", "k", "exhaustive", "weight"}, "unknown vector parameter"
        )
        require(query.get("kind") == "vector" and query.get("fields") in fields, "no such vector field")
        vector, size = query.get("vector"), fields[query["fields"]]["dimensions"]
        require(isinstance(vector, list) and len(vector) == size, f"the vector query needs a length of '{size}'")
        require(all(isinstance(x, float) and math.isfinite(x) for x in vector) and any(vector), "no such direction")
        count = query.get("k", _NEIGHBORS)
        require(isinstance(count, int) and count > 0, "'k' must be greater than 0")
        yield _neighbors(vector, count, query["fields"], eligible)


def _neighbors(
    vector: list[float], count: int, name: str, eligible: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    scores = {
        key: 1 / (2 - _cosine(vector, document[name]))
        for key, document in eligible.items()
        if document[name] is not None
    }
    return {key: scores[key] for key in sorted(scores, key=lambda key: (-scores[key], key))[:count]}


def _cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def _fused(arms: list[dict[str, float]]) -> dict[str, float]:
    fused: dict[str, float] = {}
    for arm in arms:
        for rank, key in enumerate(sorted(arm, key=lambda key: (-arm[key], key)), 1):
            fused[key] = fused.get(key, 0.0) + 1 / (60 + rank)
    return fused


def _reranked(body: Mapping[str, Any], hits: list[dict[str, Any]], documents: list[Any]) -> list[dict[str, Any]]:
    """The ranker's scores: from 0 to 4, by how many of the query's words a text holds; none without words."""
    wanted = set(_words(body.get("semanticQuery", body.get("search", ""))))
    if not wanted:
        return hits
    for hit, document in zip(hits[:_RANKED], documents, strict=False):
        hit["@search.rerankerScore"] = 4 * len(wanted & set(_words(document["text"]))) / len(wanted)
    return sorted(hits, key=lambda hit: -hit.get("@search.rerankerScore", -1))

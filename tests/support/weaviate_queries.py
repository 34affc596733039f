"""How the double of Weaviate reads GraphQL and filters, and what it finds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from graphql import FieldNode, GraphQLError, ValueNode, parse
from graphql.language import ast

_SLOTS = {
    "valueText": "text", "valueString": "text", "valueNumber": "number", "valueInt": "int", "valueBoolean": "boolean",
    "valueDate": "date",
}  # fmt: skip
_ARGUMENTS = {"nearVector", "hybrid", "bm25", "limit", "offset", "tenant", "where"}
_MOST = 10_000


class QueryError(Exception):
    """What the server says of a query that it cannot run."""


class Searched(Protocol):
    definition: dict[str, Any]

    def properties(self) -> dict[str, dict[str, Any]]: ...

    def shard(self, tenant: str | None) -> dict[str, dict[str, Any]]: ...


def require(holds: Any, message: str) -> None:
    if not holds:
        raise QueryError(message)


def run(query: str, classes: Mapping[str, Searched], *, loose: bool) -> dict[str, Any]:
    """What a `Get` answers, by class."""
    try:
        [operation] = parse(query).definitions
    except (GraphQLError, ValueError) as error:
        raise QueryError(f"Syntax Error: {error}") from error
    require(isinstance(operation, ast.OperationDefinitionNode), "a query expected")
    [get] = operation.selection_set.selections  # type: ignore[union-attr]
    require(isinstance(get, FieldNode) and get.name.value == "Get", "the double knows Get alone")
    found = {}
    for node in get.selection_set.selections:  # type: ignore[union-attr]
        assert isinstance(node, FieldNode)
        name = node.name.value
        require(name in classes, f'Cannot query field "{name}" on type "GetObjectsObj".')
        found[name] = _get(node, classes[name], loose=loose)
    return found


def _get(node: FieldNode, held: Searched, *, loose: bool) -> list[dict[str, Any]]:
    given = {item.name.value: _value(item.value) for item in node.arguments or ()}
    require(given.keys() <= _ARGUMENTS, f'Unknown argument "{min(given.keys() - _ARGUMENTS, default="")}"')
    require(
        isinstance(given.get("limit", 1), int) and 0 < given.get("limit", 1) <= _MOST, "query maximum results exceeded"
    )
    objects = held.shard(given.get("tenant"))
    test = checked_where(given["where"], held.properties()) if "where" in given else lambda row: True
    eligible = {key: item for key, item in objects.items() if loose or test(item["properties"])}
    scored, measure = _search(given, eligible, held)
    order = sorted(scored, key=lambda key: (-scored[key], key))[given.get("offset", 0) :]
    return [_selected(node, eligible[key], held, measure(scored[key])) for key in order[: given.get("limit", 25)]]


def _selected(node: FieldNode, item: dict[str, Any], held: Searched, additional: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for part in node.selection_set.selections:  # type: ignore[union-attr]
        assert isinstance(part, FieldNode)
        name = part.name.value
        if name == "_additional":
            names = [each.name.value for each in part.selection_set.selections]  # type: ignore[union-attr]
            row[name] = {each: {**additional, "id": item["id"]}.get(each) for each in names}
        else:
            require(name in held.properties(), f'Cannot query field "{name}" on type "{held.definition["class"]}".')
            row[name] = item["properties"].get(name)
    return row


def _search(
    given: Mapping[str, Any], eligible: Mapping[str, dict[str, Any]], held: Searched
) -> tuple[dict[str, float], Callable[[float], dict[str, Any]]]:
    require(len(given.keys() & {"nearVector", "hybrid", "bm25"}) <= 1, "one search at a time")
    if "nearVector" in given:
        require(given["nearVector"].keys() == {"vector"}, "nearVector takes a vector")
        near = _near(given["nearVector"]["vector"], eligible)
        return near, lambda score: {"distance": 1 - score}
    if "bm25" in given:
        return _keywords(given["bm25"], eligible, held), lambda score: {"score": str(score)}
    if "hybrid" in given:
        return _hybrid(given["hybrid"], eligible, held), lambda score: {"score": str(score)}
    return dict.fromkeys(eligible, 0.0), lambda score: {}


def _near(vector: list[float], eligible: Mapping[str, dict[str, Any]]) -> dict[str, float]:
    require(all(isinstance(x, float) for x in vector) and any(vector), "vector without a direction")
    found = {}
    for key, item in eligible.items():
        if item.get("vector") is not None:
            held = item["vector"]
            require(len(held) == len(vector), f"vector lengths don't match: {len(held)} vs {len(vector)}")
            dot = sum(x * y for x, y in zip(held, vector, strict=True))
            found[key] = dot / (math.hypot(*held) * math.hypot(*vector))
    return found


def _keywords(given: Mapping[str, Any], eligible: Mapping[str, dict[str, Any]], held: Searched) -> dict[str, float]:
    names = given.get("properties") or [name for name, item in held.properties().items() if item.get("indexSearchable")]
    for name in names:
        require(held.properties().get(name, {}).get("indexSearchable"), f"property {name} is not searchable")
    wanted = set(_words(given["query"]))
    found = {}
    for key, item in eligible.items():
        words = [word for name in names for word in _words(item["properties"].get(name) or "")]
        score = sum(words.count(word) for word in wanted) / (1 + len(words))
        if score > 0:
            found[key] = score
    return found


def _hybrid(given: Mapping[str, Any], eligible: Mapping[str, dict[str, Any]], held: Searched) -> dict[str, float]:
    known = {"query", "vector", "alpha", "fusionType", "properties"}
    require(given.keys() <= known, f"unknown argument of hybrid: {given.keys() - known}")
    require(given.get("fusionType", "relativeScoreFusion") in ("relativeScoreFusion", "rankedFusion"), "no such fusion")
    alpha = given.get("alpha", 0.75)
    require(0 <= alpha <= 1, "alpha must be between 0 and 1")
    require(alpha == 0 or "vector" in given, "no vectorizer: hybrid needs a vector")
    arms = []
    if alpha < 1:
        arms.append((1 - alpha, _keywords(given, eligible, held)))
    if alpha > 0:
        arms.append((alpha, _near(given["vector"], eligible)))
    fused: dict[str, float] = {}
    for weight, arm in arms:
        for key, score in _relative(arm).items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return fused


def _relative(arm: Mapping[str, float]) -> dict[str, float]:
    low, high = min(arm.values(), default=0.0), max(arm.values(), default=0.0)
    return {key: 1.0 if high == low else (score - low) / (high - low) for key, score in arm.items()}


def checked_where(where: Any, properties: Mapping[str, dict[str, Any]]) -> Callable[[Mapping[str, Any]], bool]:
    """The test of an object's properties that a filter is."""
    require(isinstance(where, Mapping) and "operator" in where, "invalid 'where' filter: operator missing")
    if where["operator"] in ("And", "Or"):
        require(where.keys() == {"operator", "operands"} and where["operands"], "operands missing")
        tests = [checked_where(each, properties) for each in where["operands"]]
        join: Callable[[Iterable[bool]], bool] = all if where["operator"] == "And" else any
        return lambda row: join(test(row) for test in tests)
    require(where["operator"] == "Equal", f"the double knows no operator {where['operator']}")
    [slot] = where.keys() - {"operator", "path"} or {"none"}
    require(slot in _SLOTS and isinstance(where.get("path"), list), f"invalid 'where' filter: {where}")
    [name] = where["path"]
    require(name in properties, f"no such prop with name '{name}' found in class")
    held = properties[name]
    kind = held["dataType"][0]
    require(_SLOTS[slot] == kind, f"data type filter cannot be applied to property '{name}' of type '{kind}'")
    require(held.get("indexFilterable"), f"Filtering by property '{name}' requires inverted index")
    return _equal(name, held, kind, where[slot])


def _equal(name: str, held: Mapping[str, Any], kind: str, value: Any) -> Callable[[Mapping[str, Any]], bool]:
    if kind == "text":
        require(isinstance(value, str), "a text expected")
        if held["tokenization"] == "field":
            require(value.strip(), "invalid search term, only stopwords provided")
            return lambda row: row.get(name) is not None and row[name].strip() == value.strip()
        wanted = set(_words(value))
        require(wanted, "invalid search term, only stopwords provided")
        return lambda row: row.get(name) is not None and wanted <= set(_words(row[name]))
    if kind == "date":
        moment = datetime.fromisoformat(value)
        return lambda row: row.get(name) is not None and datetime.fromisoformat(row[name]) == moment
    require(
        isinstance(value, bool) == (kind == "boolean") and isinstance(value, (bool, int, float)), f"a {kind} expected"
    )
    return lambda row: row.get(name) is not None and row[name] == value


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _value(node: ValueNode) -> Any:
    if isinstance(node, ast.ObjectValueNode):
        return {item.name.value: _value(item.value) for item in node.fields}
    if isinstance(node, ast.ListValueNode):
        return [_value(item) for item in node.values]
    if isinstance(node, ast.IntValueNode):
        return int(node.value)
    if isinstance(node, ast.FloatValueNode):
        return float(node.value)
    require(isinstance(node, (ast.StringValueNode, ast.BooleanValueNode, ast.EnumValueNode)), "a value expected")
    return node.value  # type: ignore[attr-defined]

"""A strict double of an index of Pinecone: it refuses what a serverless index refuses, in the words of its errors."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.loopback import Reply
from support.rest_service import Request

KEY = "pcsk_0123456789abcdef"
_MOST_BYTES = 2 * 1024 * 1024
_MOST_METADATA = 40 * 1024
_MOST_AT_ONCE = 1000
_MOST_TERMS = 1000
_MOST_HITS = 10_000
_PAGE = 100

Records = dict[str, dict[str, Any]]


class RefusedError(Exception):
    """The index's `400`, or another status."""

    def __init__(self, message: str, status: int = 400, code: int = 3) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def require(holds: Any, message: str) -> None:
    if not holds:
        raise RefusedError(message)


def known(item: Any, names: set[str], subject: str) -> None:
    require(isinstance(item, dict), f"{subject}: expected an object")
    for name in item.keys() - names:
        raise RefusedError(f'Invalid JSON payload received. Unknown name "{name}" at "{subject}": Cannot find field.')


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass
class PineconeIndex:
    """The data of an index, by namespace; `requests` it got, `replies` to give first."""

    url: str
    dimension: int
    metric: str
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    written: dict[str, Records] = field(default_factory=dict)
    lagging: bool = False
    dropped: bool = False
    _shown: dict[str, Records] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def receive(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self.replies:
                return self.replies.pop(0)
            if request.headers.get("api-key") != KEY:
                return Reply(401, b"Unauthorized")
            if self.dropped:
                return Reply(404, {"code": 5, "message": "Index not found", "details": []})
            try:
                return Reply(200, self._answer(request))
            except RefusedError as error:
                return Reply(error.status, {"code": error.code, "message": str(error), "details": []})

    def settle(self) -> None:
        """Show what was written."""
        self._shown = {name: dict(records) for name, records in self.written.items()}

    def bodies(self, path: str) -> list[Any]:
        """The bodies of the requests to a path."""
        return [request.body for request in self.requests if request.path == path]

    def _seen(self, namespace: str) -> Records:
        held = self._shown if self.lagging else self.written
        return held.get("" if namespace == "__default__" else namespace, {})

    def _answer(self, request: Request) -> Any:
        actions = {
            ("POST", "/vectors/upsert"): self._upsert,
            ("POST", "/query"): self._query,
            ("POST", "/vectors/delete"): self._delete,
            ("GET", "/vectors/list"): self._list,
            ("GET", "/vectors/fetch"): self._fetch,
        }
        action = actions.get((request.method, request.path))
        if action is None:
            raise RefusedError("Not Found", 404, 5)
        require(request.headers.get("x-pinecone-api-version"), "missing X-Pinecone-Api-Version")
        return action(request)

    def _upsert(self, request: Request) -> Any:
        size = int(request.headers["content-length"])
        require(size <= _MOST_BYTES, f"Request size {size} bytes exceeds the maximum supported size of 2 MB")
        known(request.body, {"vectors", "namespace"}, "upsert")
        vectors = request.body["vectors"]
        require(0 < len(vectors) <= _MOST_AT_ONCE, f"Batch size exceeds maximum of {_MOST_AT_ONCE}")
        for item in vectors:
            self._check_record(item)
        records = self.written.setdefault(_namespace(request.body), {})
        for item in vectors:
            records[item["id"]] = {
                "id": item["id"],
                "values": np.array(item["values"], dtype=np.float32).tolist(),
                "metadata": {name: _kept(value) for name, value in (item.get("metadata") or {}).items()},
                **({"sparseValues": item["sparseValues"]} if item.get("sparseValues") else {}),
            }
        return {"upsertedCount": len(vectors)}

    def _check_record(self, item: Any) -> None:
        known(item, {"id", "values", "sparseValues", "metadata"}, "vectors")
        name = item.get("id")
        require(isinstance(name, str) and name, "Vector ID must not be empty")
        require(name.isascii() and "\0" not in name, f"Vector ID must be ASCII, but got '{name}'")
        require(len(name) <= 512, f"Vector ID is too long: {len(name)} characters, the limit is 512")
        self._check_dense(item.get("values"))
        require(
            any(np.float32(value) for value in item["values"]),
            f"Dense vectors must contain at least one non-zero value. Vector ID {name} contains only zeros.",
        )
        if item.get("sparseValues") is not None:
            _check_sparse(item["sparseValues"])
        metadata = item.get("metadata") or {}
        for key, value in metadata.items():
            require(not key.startswith("$"), f"metadata key '{key}' must not start with '$'")
            texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
            require(
                isinstance(value, (str, bool)) or is_number(value) or texts,
                "Metadata value must be a string, number, boolean or list of strings, "
                f"got '{json.dumps(value)}' for field '{key}'",
            )
        size = len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
        require(
            size <= _MOST_METADATA, f"Metadata size is {size} bytes, which exceeds the limit of 40960 bytes per vector"
        )

    def _check_dense(self, values: Any) -> None:
        require(isinstance(values, list) and all(map(is_number, values)), "Invalid value at 'values'")
        require(
            len(values) == self.dimension,
            f"Vector dimension {len(values)} does not match the dimension of the index {self.dimension}",
        )

    def _query(self, request: Request) -> Any:
        body = request.body
        names = {"namespace", "topK", "filter", "includeValues", "includeMetadata", "vector", "sparseVector", "id"}
        known(body, names, "query")
        top = body.get("topK")
        require(type(top) is int and 1 <= top <= _MOST_HITS, f"topK must be between 1 and {_MOST_HITS}")
        self._check_dense(body.get("vector"))
        sparse = body.get("sparseVector")
        if sparse is not None:
            require(self.metric == "dotproduct", "Index configuration does not support sparse values")
            _check_sparse(sparse)
        test = _checked_filter(body.get("filter"))
        eligible = [record for record in self._seen(_namespace(body)).values() if test(record["metadata"])]
        query = np.array(body["vector"], dtype=np.float32)
        scored = [(self._score(query, sparse, record), record) for record in eligible]
        scored.sort(key=lambda pair: -pair[0])
        matches = [_shown(record, score, body) for score, record in scored[:top]]
        usage = {"readUnits": 5}
        return {"results": [], "matches": matches, "namespace": _namespace(body), "usage": usage}

    def _score(self, query: Any, sparse: Any, record: Mapping[str, Any]) -> float:
        held = np.array(record["values"], dtype=np.float32)
        score = float(held @ query)
        if self.metric == "cosine":
            lengths = float(np.linalg.norm(held) * np.linalg.norm(query))
            score = score / lengths if lengths else 0.0
        if sparse is not None and "sparseValues" in record:
            weights = dict(zip(record["sparseValues"]["indices"], record["sparseValues"]["values"], strict=True))
            pairs = zip(sparse["indices"], sparse["values"], strict=True)
            score += sum(weights.get(term, 0.0) * weight for term, weight in pairs)
        return score

    def _delete(self, request: Request) -> Any:
        known(request.body, {"ids", "deleteAll", "namespace", "filter"}, "delete")
        require(
            not request.body.get("filter"),
            "Serverless and Starter indexes do not support deleting with metadata filtering",
        )
        records = self.written.get(_namespace(request.body))
        if records is None:
            raise RefusedError("Namespace not found", 404, 5)
        ids = request.body.get("ids") or []
        require(1 <= len(ids) <= _MOST_AT_ONCE, f"ids must hold 1 to {_MOST_AT_ONCE} vector ids")
        for name in ids:
            records.pop(name, None)
        return {}

    def _list(self, request: Request) -> Any:
        query = request.query
        known(dict(query), {"prefix", "limit", "paginationToken", "namespace"}, "list")
        limit = int(query.get("limit", _PAGE))
        require(1 <= limit <= _PAGE, f"limit must be between 1 and {_PAGE}")
        names = sorted(name for name in self._seen(_namespace(query)) if name.startswith(query.get("prefix", "")))
        after = bytes.fromhex(query.get("paginationToken", "")).decode()
        page = [name for name in names if name > after]
        more = {"pagination": {"next": page[limit - 1].encode().hex()}} if len(page) > limit else {}
        vectors = [{"id": name} for name in page[:limit]]
        return {"vectors": vectors, "namespace": _namespace(query), "usage": {"readUnits": 1}, **more}

    def _fetch(self, request: Request) -> Any:
        known(dict(request.query), {"ids", "namespace"}, "fetch")
        seen = self._seen(_namespace(request.query))
        name = request.query["ids"]
        vectors = {name: seen[name]} if name in seen else {}
        return {"vectors": vectors, "namespace": _namespace(request.query), "usage": {"readUnits": 1}}


def _namespace(fields: Mapping[str, Any]) -> str:
    name = fields.get("namespace") or ""
    require(isinstance(name, str) and name.isascii() and len(name) <= 512, "Invalid namespace")
    return "" if name == "__default__" else name


def _kept(value: Any) -> Any:
    """Every number is a double."""
    return float(value) if is_number(value) else value


def _check_sparse(sparse: Any) -> None:
    known(sparse, {"indices", "values"}, "sparseValues")
    indices, values = sparse["indices"], sparse["values"]
    require(len(indices) == len(values), "Sparse vector must have the same number of indices and values")
    require(0 < len(indices) <= _MOST_TERMS, f"Sparse vector must have 1 to {_MOST_TERMS} values")
    require(len(set(indices)) == len(indices), "Sparse vector must not have duplicate indices")
    require(all(type(term) is int and 0 <= term < 2**32 for term in indices), "Invalid value at 'sparseValues.indices'")
    require(all(map(is_number, values)), "Invalid value at 'sparseValues.values'")


def _checked_filter(wanted: Any) -> Any:
    """A test of metadata; only `$and` and `$eq` are known here."""
    if wanted is None:
        return lambda metadata: True
    require(isinstance(wanted, dict) and len(wanted) == 1, "Filter must be an object with one entry")
    [(key, condition)] = wanted.items()
    if key == "$and":
        require(isinstance(condition, list) and condition, "the $and operator must be followed by a list")
        tests = [_checked_filter(each) for each in condition]
        return lambda metadata: all(test(metadata) for test in tests)
    require(not key.startswith("$"), f"{key} is not a valid operator")
    require(isinstance(condition, dict) and condition.keys() == {"$eq"}, f"{condition} is not a valid condition")
    value = condition["$eq"]
    require(isinstance(value, (str, bool)) or is_number(value), "the $eq operator must be followed by a value")
    kept = _kept(value)
    return lambda metadata: type(metadata.get(key)) is type(kept) and metadata[key] == kept


def _shown(record: Mapping[str, Any], score: float, body: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"id": record["id"], "score": score, "values": record["values"] if body.get("includeValues") else []}
    if body.get("includeValues") and "sparseValues" in record:
        shown["sparseValues"] = record["sparseValues"]
    if body.get("includeMetadata"):
        shown["metadata"] = record["metadata"]
    return shown

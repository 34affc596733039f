"""A strict double of Weaviate on loopback, with REST and GraphQL: it refuses what the real server refuses."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from support.loopback import Reply
from support.rest_service import Request, serving_rest
from support.weaviate_queries import QueryError, checked_where, run

KEY = "weaviate-key-0123456789abcdef"
_CLASS = re.compile(r"[A-Z][_0-9A-Za-z]{0,254}")
_PROPERTY = re.compile(r"(?!_?id$)[_A-Za-z][_0-9A-Za-z]{0,230}")
_TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TYPES = {"text", "int", "number", "boolean", "date"}
_TOKENIZATIONS = {"word", "lowercase", "whitespace", "field", "trigram"}
_PROPERTY_KEYS = {"name", "dataType", "tokenization", "indexFilterable", "indexSearchable", "description"}
_CLASS_KEYS = {
    "class", "vectorizer", "vectorIndexType", "vectorIndexConfig", "properties", "multiTenancyConfig", "description",
}  # fmt: skip
_MOST_DELETED = 10_000
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class RefusedError(Exception):
    """The server's `422`."""


def refusal(status: int, message: str) -> Reply:
    """An error in the form of the server's."""
    return Reply(status, {"error": [{"message": message}]})


def require(holds: Any, message: str) -> None:
    if not holds:
        raise RefusedError(message)


def known(item: Any, names: set[str], subject: str) -> None:
    require(isinstance(item, Mapping) and not item.keys() - names, f"{subject}: unknown field in {item}")


@dataclass
class Class:
    """A class: its definition, and the objects of each tenant."""

    definition: dict[str, Any]
    shards: dict[str | None, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @property
    def many(self) -> bool:
        return bool(self.definition.get("multiTenancyConfig", {}).get("enabled"))

    def properties(self) -> dict[str, dict[str, Any]]:
        return {item["name"]: item for item in self.definition["properties"]}

    def shard(self, tenant: str | None) -> dict[str, dict[str, Any]]:
        name = self.definition["class"]
        state = "enabled, but request was without" if self.many else "disabled, but request was with"
        require((tenant is not None) == self.many, f"class {name} has multi-tenancy {state} tenant")
        if tenant is None:
            return self.shards.setdefault(None, {})
        require(tenant in self.shards, f'tenant not found: "{tenant}"')
        return self.shards[tenant]


@dataclass
class Service:
    """The double: `requests` it got, `replies` to give first, `refuse` to judge each object."""

    url: str
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    classes: dict[str, Class] = field(default_factory=dict)
    refuse: Callable[[dict[str, Any]], bool] = lambda item: False
    key: str | None = None
    most_deleted: int = _MOST_DELETED
    loose: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def receive(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self.replies:
                return self.replies.pop(0)
            if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
                return Reply(401, {"code": 401, "message": "invalid api key, please provide a valid api key"})
            try:
                return self._route(request)
            except RefusedError as error:
                return refusal(422, str(error))

    def bodies(self, path: str) -> list[Any]:
        """The bodies of the requests to a path."""
        return [request.body for request in self.requests if request.path == path]

    def _route(self, request: Request) -> Reply:
        found = re.fullmatch(r"/v1/schema(?:/(\w+)(?:/(properties|tenants))?)?", request.path)
        if found is not None:
            return self._schema(request, *found.groups())
        if request.path == "/v1/batch/objects":
            return self._batch(request) if request.method == "POST" else self._batch_delete(request)
        if request.path == "/v1/graphql" and request.method == "POST":
            return self._graphql(request)
        state = {
            "/v1/meta": {"version": "1.28.4", "hostname": self.url, "modules": {}},
            "/v1/nodes": {"nodes": [{"name": "one", "batchStats": {"queueLength": 0, "ratePerSecond": 0}}]},
        }.get(request.path)
        return Reply(200, state) if state else refusal(404, f"path {request.path} was not found")

    def _schema(self, request: Request, name: str | None, part: str | None) -> Reply:
        if name is None:
            if request.method == "GET":
                return Reply(200, {"classes": [each.definition for each in self.classes.values()]})
            return self._make(request.body)
        if request.method == "DELETE" and part is None:
            self.classes.pop(name, None)
            return Reply(200)
        held = self.classes.get(name)
        if held is None or part is None:
            return Reply(404) if held is None else Reply(200, held.definition)
        if part == "tenants":
            return self._tenants(request, held)
        held.definition["properties"].append(_checked_property(request.body, held.properties()))
        return Reply(200, request.body)

    def _make(self, body: Any) -> Reply:
        known(body, _CLASS_KEYS, "class")
        name = body.get("class", "")
        require(_CLASS.fullmatch(name), f"'{name}' is not a valid class name")
        require(name.lower() not in {each.lower() for each in self.classes}, f"class name {name} already exists")
        require(body.get("vectorizer", "none") == "none", "no such vectorizer")
        config = body.get("vectorIndexConfig", {})
        require(config.get("distance", "cosine") in ("cosine", "dot", "l2-squared"), "no such distance")
        properties: dict[str, dict[str, Any]] = {}
        for item in body.get("properties") or ():
            properties[item["name"]] = _checked_property(item, properties)
        definition = {
            **body,
            "vectorIndexConfig": {"distance": "cosine", **config},
            "properties": [*properties.values()],
        }
        self.classes[name] = Class(definition)
        return Reply(200, definition)

    def _tenants(self, request: Request, held: Class) -> Reply:
        require(held.many, "multi-tenancy is not enabled for class")
        if request.method == "GET":
            return Reply(200, [{"name": name, "activityStatus": "ACTIVE"} for name in held.shards])
        for item in request.body:
            known(item, {"name", "activityStatus"}, "tenant")
            require(_TENANT.fullmatch(item["name"]), "invalid tenant name")
            held.shards.setdefault(item["name"], {})
        return Reply(200, request.body)

    def _batch(self, request: Request) -> Reply:
        known(request.body, {"objects", "fields"}, "batch")
        outcome = []
        for item in request.body["objects"]:
            try:
                self._put(item)
                result: dict[str, Any] = {"status": "SUCCESS"}
            except RefusedError as error:
                result = {"status": "FAILED", "errors": {"error": [{"message": str(error)}]}}
            outcome.append({**item, "result": result})
        return Reply(200, outcome)

    def _put(self, item: dict[str, Any]) -> None:
        known(item, {"class", "id", "properties", "vector", "tenant"}, "object")
        require(item["class"] in self.classes, f"class '{item['class']}' not present in schema")
        require(str(UUID(item["id"])) == item["id"], "invalid UUID")
        held = self.classes[item["class"]]
        shard = held.shard(item.get("tenant"))
        properties = held.properties()
        for name, value in item["properties"].items():
            if name not in properties:
                guessed = {"name": name, "dataType": [_guessed(value)]}
                properties[name] = _checked_property(guessed, properties)
                held.definition["properties"].append(properties[name])
            _check_value(value, properties[name])
        vector = item.get("vector")
        if vector is not None:
            require(all(isinstance(x, float) for x in vector) and any(vector), "vector without a direction")
            sizes = {len(each["vector"]) for each in shard.values() if each.get("vector") is not None}
            require(sizes <= {len(vector)}, f"vector lengths don't match: {sizes} vs {len(vector)}")
        require(not self.refuse(item), "refused")
        shard[item["id"]] = item

    def _batch_delete(self, request: Request) -> Reply:
        require(request.query.keys() <= {"tenant", "consistency_level"}, "unknown parameter")
        known(request.body, {"match", "output", "dryRun"}, "batch delete")
        match = request.body["match"]
        known(match, {"class", "where"}, "match")
        require(match["class"] in self.classes, f"class: {match['class']} doesn't exist")
        held = self.classes[match["class"]]
        shard = held.shard(request.query.get("tenant"))
        try:
            test = checked_where(match["where"], held.properties())
        except QueryError as error:
            return refusal(422, f"validate: {error}")
        found = [key for key, item in shard.items() if test(item["properties"])]
        for key in found[: self.most_deleted]:
            del shard[key]
        successful = min(len(found), self.most_deleted)
        results = {"matches": len(found), "limit": self.most_deleted, "successful": successful, "failed": 0}
        return Reply(200, {"match": match, "output": "minimal", "dryRun": False, "results": results})

    def _graphql(self, request: Request) -> Reply:
        known(request.body, {"query", "variables", "operationName"}, "query")
        try:
            return Reply(200, {"data": {"Get": run(request.body["query"], self.classes, loose=self.loose)}})
        except (QueryError, RefusedError) as error:
            return Reply(200, {"data": {"Get": None}, "errors": [{"message": str(error), "path": ["Get"]}]})


def _checked_property(item: Any, held: Mapping[str, Any]) -> dict[str, Any]:
    known(item, _PROPERTY_KEYS, "property")
    name, types = item["name"], item["dataType"]
    require(_PROPERTY.fullmatch(name), f"'{name}' is not a valid property name")
    require(name.lower() not in {each.lower() for each in held}, f"property {name}: already in use")
    require(len(types) == 1 and types[0] in _TYPES, f"unknown data type {types}")
    if types == ["text"]:
        require(item.get("tokenization", "word") in _TOKENIZATIONS, "unknown tokenization")
        return {"tokenization": "word", "indexFilterable": True, "indexSearchable": True, **item}
    require("tokenization" not in item, "tokenization is not allowed for this data type")
    require(not item.get("indexSearchable"), "indexSearchable is allowed only for text")
    return {"indexFilterable": True, **item}


def _guessed(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "date" if _DATE.fullmatch(value) else "text"


def _check_value(value: Any, item: Mapping[str, Any]) -> None:
    kind = item["dataType"][0]
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = {
        "text": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "number": numeric and math.isfinite(value),
        "int": numeric and float(value).is_integer(),
        "date": isinstance(value, str) and _DATE.fullmatch(value) is not None,
    }[kind]
    require(good, f"invalid {kind} property '{item['name']}' on class")


def running_weaviate() -> AbstractContextManager[Service]:
    """Start the double on a free port; stop it at the end."""
    return serving_rest(Service)

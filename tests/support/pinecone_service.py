"""A strict double of Pinecone on loopback: the control plane, and the indexes as `pinecone_index` has them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.loopback import Reply
from support.pinecone_index import KEY, PineconeIndex
from support.rest_service import Request, serving_rest

__all__ = ["KEY", "PineconeService", "running_pinecone"]

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?")
_FIELDS = {"name", "dimension", "metric", "vector_type", "deletion_protection", "spec", "tags"}
_STATUS = {400: "INVALID_ARGUMENT", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "ALREADY_EXISTS"}


def refusal(status: int, message: str) -> Reply:
    """An error in the form of the control plane's."""
    return Reply(status, {"error": {"code": _STATUS[status], "message": message}, "status": status})


@dataclass
class Held:
    """An index: its description, where its data are, how many looks it still takes to be ready."""

    description: dict[str, Any]
    data: PineconeIndex
    looks: int
    server: ExitStack


@dataclass
class PineconeService:
    """The double: `requests` to the control plane, `replies` to give first.

    A new index is ready after `looks`; with `lagging`, the indexes show what was written only when they `settle`.
    """

    url: str
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    indexes: dict[str, Held] = field(default_factory=dict)
    looks: int = 0
    lagging: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def receive(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self.replies:
                return self.replies.pop(0)
            if request.headers.get("api-key") != KEY:
                return Reply(401, b"Invalid API Key")
            return self._route(request)

    def settle(self) -> None:
        for held in self.indexes.values():
            held.data.settle()

    def close(self) -> None:
        for held in self.indexes.values():
            held.server.close()

    def _route(self, request: Request) -> Reply:
        if request.path == "/indexes":
            if request.method == "POST":
                return self._make(request.body)
            return Reply(200, {"indexes": [held.description for held in self.indexes.values()]})
        found = re.fullmatch(r"/indexes/([^/]+)", request.path)
        held = None if found is None else self.indexes.get(found[1])
        if found is None or held is None:
            return refusal(404, f"Resource {found[1] if found else request.path} not found")
        if request.method == "DELETE":
            if held.description["deletion_protection"] == "enabled":
                return refusal(403, "Deletion protection is enabled for this index. Disable it before retrying.")
            held.data.dropped = True  # for connections that are open still
            self.indexes.pop(found[1]).server.close()
            return Reply(202)
        return Reply(200, self._looked_at(held))

    def _looked_at(self, held: Held) -> dict[str, Any]:
        held.looks -= 1
        if held.looks < 0 and held.description["status"]["state"] == "Initializing":
            held.description["status"] = {"ready": True, "state": "Ready"}
        return held.description

    def _make(self, body: Any) -> Reply:
        wrong = _mistake(body)
        if wrong:
            return refusal(400, wrong)
        name = body["name"]
        if name in self.indexes:
            return refusal(409, "Resource  already exists")
        server = ExitStack()
        data = server.enter_context(serving_rest(lambda url: PineconeIndex(url, body["dimension"], body["metric"])))
        data.lagging = self.lagging
        description = {
            "name": name,
            "dimension": body["dimension"],
            "metric": body["metric"],
            "vector_type": "dense",
            "host": data.url.removeprefix("http://"),
            "deletion_protection": body.get("deletion_protection", "disabled"),
            "spec": {"serverless": {**body["spec"]["serverless"], "read_capacity": _CAPACITY}},
            "status": {"ready": False, "state": "Initializing"},
        }
        self.indexes[name] = Held(description, data, self.looks, server)
        return Reply(201, {**self._looked_at(self.indexes[name])})


_CAPACITY = {"mode": "OnDemand", "status": {"state": "Ready", "current_shards": None, "current_replicas": None}}


def _mistake(body: Any) -> str | None:
    """What is wrong with the request of a serverless index of dense vectors."""
    if not isinstance(body, dict) or body.keys() - _FIELDS:
        return f"Failed to deserialize the JSON body into the target type: unknown field in {sorted(body)}"
    name, dimension, spec = (body.get(field) for field in ("name", "dimension", "spec"))
    placed = (
        isinstance(spec, dict) and spec.keys() == {"serverless"} and spec["serverless"].keys() == {"cloud", "region"}
    )
    checks = {
        "Name must consist of lower case alphanumeric characters or '-'": isinstance(name, str)
        and _NAME.fullmatch(name),
        "Bad request: Dimension must be between 1 and 20000": type(dimension) is int and 1 <= dimension <= 20_000,
        "Invalid metric": body.get("metric") in ("cosine", "dotproduct", "euclidean"),
        "Invalid vector_type": body.get("vector_type", "dense") == "dense",
        "Invalid spec": placed and spec["serverless"]["cloud"] in ("aws", "gcp", "azure"),
    }
    return next((message for message, holds in checks.items() if not holds), None)


@contextmanager
def running_pinecone() -> Iterator[PineconeService]:
    """Start the double on free ports; stop it and its indexes at the end."""
    with serving_rest(PineconeService) as service:
        try:
            yield service
        finally:
            service.close()

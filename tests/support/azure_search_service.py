"""A strict double of Azure AI Search on loopback, REST version 2026-04-01: it refuses what the real service refuses."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from support.azure_search_documents import DocumentError, checked_action
from support.azure_search_indexes import IndexDefinitionError, checked_definition, checked_update
from support.azure_search_queries import QueryError, answer
from support.loopback import Reply
from support.odata import FilterError
from support.rest_service import Request, serving_rest

KEY = "azure-admin-key-0123456789abcdef"
_VERSION = "2026-04-01"
_MOST_BYTES = 16 * 2**20


def refusal(status: int, message: str, code: str = "") -> Reply:
    """An error in the form of the service's."""
    return Reply(status, {"error": {"code": code, "message": message}})


@dataclass
class Index:
    """An index: its definition, what a search sees, and what it will see once its time has come."""

    definition: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    pending: list[tuple[float, str, dict[str, Any] | None]] = field(default_factory=list)

    def settle(self) -> None:
        now = time.monotonic()
        for _, key, document in (due for due in self.pending if due[0] <= now):
            if document is None:
                self.documents.pop(key, None)
            else:
                self.documents[key] = document
        self.pending = [due for due in self.pending if due[0] > now]


@dataclass
class Service:
    """The double: `requests` it got, `replies` to give first, how long writes stay unseen, what the tier can do."""

    url: str
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    indexes: dict[str, Index] = field(default_factory=dict)
    lag: float = 0.0
    semantic_ranker: bool = True
    refuse: Callable[[dict[str, Any]], int | None] = lambda document: None
    before_update: Callable[[], None] = lambda: None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _etags: itertools.count[int] = field(default_factory=itertools.count)

    def receive(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self.replies:
                return self.replies.pop(0)
            if request.headers.get("api-key") != KEY:
                return Reply(403)
            if request.query != {"api-version": _VERSION}:
                return refusal(400, f"The query string holds {dict(request.query)}, not just the api-version.")
            return self._route(request)

    def bodies(self, path: str) -> list[Any]:
        """The bodies of the requests whose path ends so."""
        return [request.body for request in self.requests if request.path.endswith(path)]

    def make_index(self, definition: Mapping[str, Any]) -> Index:
        """An index that was there before."""
        name = definition["name"]
        self.indexes[name] = Index({**checked_definition(name, definition), "@odata.etag": self._etag()})
        return self.indexes[name]

    def _etag(self) -> str:
        return f'"0x{next(self._etags):08X}"'

    def _route(self, request: Request) -> Reply:
        found = re.fullmatch(r"/indexes\('([^']+)'\)(/docs/search\.(?:index|post\.search))?", request.path)
        if found is None:
            return refusal(404, "no such resource")
        name, action = found.groups()
        if action is None:
            return self._manage(name, request)
        if name not in self.indexes:
            return self._missing(name)
        if request.method != "POST" or request.headers.get("content-type") != "application/json":
            return refusal(405, "POST JSON")
        self.indexes[name].settle()
        return (self._write if action.endswith("index") else self._search)(self.indexes[name], request)

    def _missing(self, name: str) -> Reply:
        return refusal(404, f"No index with the name '{name}' was found in the service 'double'.", "ResourceNotFound")

    def _manage(self, name: str, request: Request) -> Reply:
        if request.method == "PUT":
            return self._put(name, request)
        if name not in self.indexes:
            return self._missing(name)
        if request.method == "GET":
            return Reply(200, self.indexes[name].definition)
        if request.method == "DELETE":
            del self.indexes[name]
            return Reply(204)
        return refusal(405, "no such method")

    def _put(self, name: str, request: Request) -> Reply:
        if request.headers.get("prefer") != "return=representation":
            return refusal(400, "Prefer must be return=representation")
        self.before_update()
        existing = self.indexes.get(name)
        wanted_tag = request.headers.get("if-match")
        if wanted_tag is not None and (existing is None or wanted_tag != existing.definition["@odata.etag"]):
            return refusal(412, "The precondition given in one of the request headers evaluated to false.")
        try:
            definition = checked_definition(name, request.body)
            if existing is not None:
                checked_update(existing.definition, definition)
        except IndexDefinitionError as error:
            return refusal(400, f"The request is invalid. Details: definition : {error}", "InvalidRequestParameter")
        tagged = {**definition, "@odata.etag": self._etag()}
        if existing is None:
            self.indexes[name] = Index(tagged)
            return Reply(201, tagged)
        existing.definition = tagged
        return Reply(200, tagged)

    def _write(self, index: Index, request: Request) -> Reply:
        if int(request.headers["content-length"]) > _MOST_BYTES:
            return refusal(413, "Request Entity Too Large")
        actions = request.body.get("value") if request.body.keys() == {"value"} else None
        if not isinstance(actions, list) or not 0 < len(actions) <= 1000:
            return refusal(400, "The request is invalid. Details: actions : 1 to 1000 indexing actions expected.")
        try:
            checked = [checked_action(action, index.definition["fields"]) for action in actions]
        except DocumentError as error:
            return refusal(400, f"The request is invalid. Details: parameters : {error}", "InvalidRequestParameter")
        outcome = [self._act(index, *each) for each in checked]
        return Reply(200 if all(item["status"] for item in outcome) else 207, {"value": outcome})

    def _act(self, index: Index, action: str, document: dict[str, Any], failure: str | None) -> dict[str, Any]:
        key = document["id"]
        status = 400 if failure is not None else self.refuse(document)
        if status is not None:
            return {"key": key, "status": False, "errorMessage": failure or "refused", "statusCode": status}
        created = action != "delete" and key not in index.documents
        index.pending.append((time.monotonic() + self.lag, key, None if action == "delete" else document))
        if not self.lag:
            index.settle()
        return {"key": key, "status": True, "errorMessage": None, "statusCode": 201 if created else 200}

    def _search(self, index: Index, request: Request) -> Reply:
        try:
            return Reply(200, answer(request.body, index, semantic_ranker=self.semantic_ranker))
        except (QueryError, FilterError) as error:
            parameter = "\r\nParameter name: $filter" if isinstance(error, FilterError) else ""
            return refusal(400, f"Invalid expression: {error}{parameter}", "InvalidRequestParameter")


def running_azure_search() -> AbstractContextManager[Service]:
    """Start the double on a free port; stop it at the end."""
    return serving_rest(Service)

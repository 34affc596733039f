"""Strict doubles of Cohere's and Tavily's services on loopback: they refuse what the real ones refuse."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from support.loopback import Reply

KEY = "test-key-0123456789abcdef"


def overlap(query: str, text: str) -> float:
    """The doubles' model: which share of the query's words the text holds."""
    words = query.lower().split()
    return sum(word in text.lower().split() for word in words) / len(words)


@dataclass
class Vendor:
    """What both have: `requests` they got, `replies` to give first."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)

    def receive(self, path: str, headers: Mapping[str, str], payload: dict[str, Any]) -> Reply:
        self.requests.append({"path": path, **payload})
        self.asked.set()
        if self.replies:
            return self.replies.pop(0)
        if headers.get("content-type") != "application/json":
            return self.refusal(415, "send JSON")
        if headers.get("authorization") != f"Bearer {KEY}":
            return self.refusal(401, f"invalid key {headers.get('authorization')}")
        return self.answer(path, payload)

    def refusal(self, status: int, message: str) -> Reply:
        raise NotImplementedError

    def answer(self, path: str, payload: dict[str, Any]) -> Reply:
        raise NotImplementedError


class Cohere(Vendor):
    """`POST /v2/rerank`: results best first, each with the index of its document."""

    def refusal(self, status: int, message: str) -> Reply:
        return Reply(status, {"id": "r1", "message": message})

    def answer(self, path: str, payload: dict[str, Any]) -> Reply:
        fault = self.fault(path, payload)
        if fault is not None:
            return self.refusal(*fault)
        scored = [(overlap(payload["query"], text), index) for index, text in enumerate(payload["documents"])]
        scored.sort(key=lambda pair: -pair[0])
        return Reply(200, rerank_answer(*((index, score) for score, index in scored)))

    def fault(self, path: str, payload: dict[str, Any]) -> tuple[int, str] | None:
        query, documents = payload.get("query"), payload.get("documents")
        cut = payload.get("max_tokens_per_doc", 4096)
        return first(
            (path != "/v2/rerank", 404, "no such route"),
            (bool(payload.keys() - {"model", "query", "documents", "max_tokens_per_doc"}), 400, "unknown field"),
            (not isinstance(payload.get("model"), str), 400, "model must be a string"),
            (not isinstance(query, str) or not query.strip(), 400, "query must be a string, not empty"),
            (not isinstance(documents, list) or not documents, 400, "documents must be a list, not empty"),
            (not all(isinstance(text, str) for text in documents or ()), 400, "documents must be strings"),
            (len(documents or ()) > 1000, 400, "too many documents"),
            (not isinstance(cut, int) or cut < 1, 400, "max_tokens_per_doc must be a positive integer"),
        )


def first(*checks: tuple[bool, int, str]) -> tuple[int, str] | None:
    """Status and message of the first check that found a fault."""
    return next(((status, message) for found, status, message in checks if found), None)


def rerank_answer(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    """Cohere's answer of these indices and scores."""
    results = [{"index": index, "relevance_score": score} for index, score in pairs]
    return {
        "id": "r1",
        "results": results,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    }


class Tavily(Vendor):
    """`POST /search`: pages best first."""

    def refusal(self, status: int, message: str) -> Reply:
        return Reply(status, {"detail": {"error": message}})

    def answer(self, path: str, payload: dict[str, Any]) -> Reply:
        query, wanted = payload.get("query"), payload.get("max_results", 5)
        fault = first(
            (path != "/search", 404, "no such route"),
            (bool(payload.keys() - {"query", "max_results", "search_depth"}), 400, "unknown field"),
            (not isinstance(query, str) or not query.strip(), 400, "query is missing"),
            (len(str(query)) > 400, 400, "Query is too long. Max query length is 400 characters."),
            (not isinstance(wanted, int) or not 0 <= wanted <= 20, 400, "max_results must be between 0 and 20"),
            (payload.get("search_depth") not in {"basic", "advanced"}, 400, "search_depth must be basic or advanced"),
        )
        if fault is not None:
            return self.refusal(*fault)
        return Reply(200, search_answer(*(page(number) for number in range(wanted)), query=str(query)))


def page(number: int, **changes: Any) -> dict[str, Any]:
    """A page as Tavily gives it."""
    return {
        "title": f"Title {number}",
        "url": f"https://example.org/{number}",
        "content": f"Passage {number}.",
        "score": 1 - number / 100,
        "raw_content": None,
        **changes,
    }


def search_answer(*pages: Any, query: str = "q") -> dict[str, Any]:
    """Tavily's answer of these pages."""
    return {
        "query": query,
        "answer": None,
        "images": [],
        "results": list(pages),
        "response_time": 0.5,
        "request_id": "r",
    }

"""A strict double of OpenAI's `/embeddings` on loopback: refuses what the real one refuses, fails as it is told."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.loopback import Reply, serving

KEY = "sk-test-0123456789abcdef"


def refusal(status: int, message: str, **headers: str) -> Reply:
    """An error in the form of OpenAI's."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(status, {"error": {"message": message, "type": "invalid_request_error", "code": None}}, pairs)


def vector_of(text: str) -> list[float]:
    """The double's model: the length of the text and its first character."""
    return [float(len(text)), float(ord(text[0]) if text else 0)]


def answer(vectors: Sequence[Any], **changes: Any) -> dict[str, Any]:
    """An answer that holds these vectors, in order."""
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 0, "total_tokens": 0}, **changes}


@dataclass
class Service:
    """The double: `requests` it got, `replies` to give first, `refuse` to judge the texts of each request."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    refuse: Callable[[list[str]], Reply | None] = lambda texts: None
    max_inputs: int = 2048
    shuffle: bool = False
    asked: threading.Event = field(default_factory=threading.Event)

    def receive(self, path: str, headers: Mapping[str, str], payload: dict[str, Any]) -> Reply:
        self.requests.append({"path": path, **payload})
        self.asked.set()
        if path != "/v1/embeddings" or headers["content-type"] != "application/json":
            return refusal(404, "no such route")
        return self.replies.pop(0) if self.replies else self.reply(headers, payload)

    def reply(self, headers: Mapping[str, str], payload: dict[str, Any]) -> Reply:
        if headers.get("authorization") != f"Bearer {KEY}":
            return refusal(401, f"Incorrect API key provided: {KEY[:6]}***")
        known = {"model", "input", "encoding_format", "dimensions", "user", "input_type"}
        if payload.keys() - known or not isinstance(payload.get("model"), str):
            return refusal(400, "unknown or missing field")
        texts = payload.get("input")
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            return refusal(400, "'input' must be a list of strings, not empty")
        if len(texts) > self.max_inputs:
            return refusal(400, f"at most {self.max_inputs} inputs")
        refused = self.refuse(texts)
        if refused is not None:
            return refused
        vectors: list[Any] = [vector_of(text) for text in texts]
        if payload.get("encoding_format") == "base64":
            vectors = [base64.b64encode(np.array(v, dtype="<f4").tobytes()).decode() for v in vectors]
        body = answer(vectors, usage={"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))})
        if self.shuffle:
            body["data"].reverse()
        return Reply(200, body)


def running_service() -> AbstractContextManager[Service]:
    """Start the double on a free port; stop it at the end."""
    return serving(lambda url: Service(f"{url}/v1"))

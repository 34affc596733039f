"""A strict double of OpenAI's `/embeddings` on loopback: refuses what the real one refuses, fails as it is told."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Reply:
    """What to answer instead of vectors."""

    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    wait: threading.Event | None = None
    drop: bool = False


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

    def reply(self, headers: dict[str, str], payload: dict[str, Any]) -> Reply:
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        payload = json.loads(content)
        service = self.service
        service.requests.append({"path": self.path, **payload})
        service.asked.set()
        if self.path != "/v1/embeddings" or self.headers["content-type"] != "application/json":
            return self._send(refusal(404, "no such route"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = service.replies.pop(0) if service.replies else service.reply(headers, payload)
        return self._send(reply)

    def _send(self, reply: Reply) -> None:
        if reply.wait is not None:
            reply.wait.wait(10)
        if reply.drop:
            self.close_connection = True
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        try:
            self.send_response(reply.status)
            for name, value in (("content-type", "application/json"), *reply.headers):
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        pass


@contextmanager
def running_service() -> Iterator[Service]:
    """Start the double on a free port; stop it at the end."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    service = Service(f"http://127.0.0.1:{server.server_address[1]}/v1")
    handler.service = service
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

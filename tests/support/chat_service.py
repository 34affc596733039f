"""A strict double of OpenAI's `/chat/completions` on loopback: refuses what the real one does, fails as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.embedding_service import KEY, Reply, refusal

ROLES = {"system", "developer", "user", "assistant", "tool"}
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Stream:
    """What to stream instead: pieces that are sent as they are, then the end of the body, or a broken connection."""

    pieces: Sequence[bytes]
    broken: bool = False
    wait: threading.Event | None = None
    """Waited for after the pieces."""


def event(text: str | None = None, **changes: Any) -> bytes:
    """A piece of a stream in the form of OpenAI's."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": None}
    chunk = {"object": "chat.completion.chunk", "model": "m-1", "choices": [choice | changes.pop("choice", {})]}
    return f"data: {json.dumps(chunk | changes)}\n\n".encode()


def completion(text: str | None, **message: Any) -> dict[str, Any]:
    """An answer in one piece in the form of OpenAI's."""
    return {
        "object": "chat.completion",
        "model": "m-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


@dataclass
class Service:
    """The double: `requests` it got, `replies` to give first."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    replies: list[Reply | Stream] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when a client has closed the connection while a stream was being sent."""

    def reply(self, headers: dict[str, str], payload: dict[str, Any]) -> Reply | Stream:
        if headers.get("authorization") != f"Bearer {KEY}":
            return refusal(401, f"Incorrect API key provided: {KEY[:6]}***")
        known = {"model", "messages", "temperature", "stream", "stream_options", "max_tokens"}
        if payload.keys() - known or not isinstance(payload.get("model"), str):
            return refusal(400, "unknown or missing field")
        if "stream_options" in payload and not payload.get("stream"):
            return refusal(400, "'stream_options' is only allowed with 'stream'")
        wrong = _fault(payload.get("messages"))
        if wrong:
            return refusal(400, wrong)
        text = f"echo: {payload['messages'][-1]['content']}"
        if not payload.get("stream"):
            return Reply(200, completion(text))
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
        pieces = [
            event(choice={"delta": {"role": "assistant", "content": ""}}),
            *map(event, text),
            event(choice={"finish_reason": "stop"}),
            *([event(**usage)] if payload.get("stream_options", {}).get("include_usage") else []),
            DONE,
        ]
        return Stream(pieces)


def _fault(messages: Any) -> str | None:
    if not isinstance(messages, list) or not messages:
        return "'messages' must be a list, not empty"
    called: set[str] = set()
    for message in messages:
        if message.get("role") not in ROLES:
            return f"unknown role {message.get('role')!r}"
        called |= {call["id"] for call in message.get("tool_calls", [])}
        if message["role"] == "tool" and message.get("tool_call_id") not in called:
            return "a tool message must answer a preceding tool call"
        if not isinstance(message.get("content"), (str, list)) and not message.get("tool_calls"):
            return "content must be a string or a list of parts"
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["content-length"])))
        service = self.service
        service.requests.append({"path": self.path, **payload})
        service.asked.set()
        if self.path != "/v1/chat/completions" or self.headers["content-type"] != "application/json":
            return self._send(refusal(404, "no such route"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = service.replies.pop(0) if service.replies else service.reply(headers, payload)
        try:
            return self._stream(reply) if isinstance(reply, Stream) else self._send(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            service.gone.set()

    def _send(self, reply: Reply) -> None:
        if reply.wait is not None:
            reply.wait.wait(10)
        if reply.drop:
            self.close_connection = True
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in (("content-type", "application/json"), *reply.headers):
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in stream.pieces:
            self._write(piece)
        if stream.wait is not None:
            while not stream.wait.wait(0.02):
                self._write(b": still there\n\n")
        if stream.broken:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        pass


@contextmanager
def running_chat_service() -> Iterator[Service]:
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

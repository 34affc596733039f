"""A double of a JSON service on loopback: what it answers is its own, how it travels is here."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeVar


@dataclass(frozen=True)
class Reply:
    """What a service answers, and how it fails: after `wait`, or by closing the connection."""

    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    wait: threading.Event | None = None
    drop: bool = False


class Double(Protocol):
    """A service: it is handed every request."""

    def receive(self, path: str, headers: Mapping[str, str], payload: dict[str, Any]) -> Reply:
        """Answer; the names of headers are in lower case."""
        ...


D = TypeVar("D", bound=Double)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: Double

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.double.receive(self.path, headers, json.loads(content)))

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
def serving(make: Callable[[str], D]) -> Iterator[D]:
    """Start a double on a free port; stop it at the end. `make` is given the server's URL."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    double = make(f"http://127.0.0.1:{server.server_address[1]}")
    handler.double = double
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

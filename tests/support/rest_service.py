"""A double of a REST service on loopback: what it answers is its own, how it travels is here."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from support.loopback import Reply


@dataclass(frozen=True)
class Request:
    """What a client asks: the path decoded, the names of headers in lower case, the body parsed where there is one."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None


class RestDouble(Protocol):
    def receive(self, request: Request) -> Reply: ...


D = TypeVar("D", bound=RestDouble)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    double: RestDouble

    def handle_any(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(content) if content else None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self._send(self.double.receive(Request(self.command, unquote(parts.path), query, headers, body)))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 (the base class names them so)

    def _send(self, reply: Reply) -> None:
        if reply.wait is not None:
            reply.wait.wait(10)
        if reply.drop:
            self.close_connection = True
            return
        empty = reply.body is None
        body = b"" if empty else reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        try:
            self.send_response(reply.status)
            for name, value in (() if empty else (("content-type", "application/json"),)) + reply.headers:
                self.send_header(name, value)
            if reply.status != 204:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving_rest(make: Callable[[str], D]) -> Iterator[D]:
    """Start a double on a free port; stop it at the end. `make` is given the server's URL."""
    handler = type("Handler", (_Handler,), {})
    server = _Server(("127.0.0.1", 0), handler)
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

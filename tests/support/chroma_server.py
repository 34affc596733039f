"""A real Chroma server on loopback, from a package of the test environment, with its data in a folder of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from support.redis_server import free_port

_SECONDS_TO_START = 20
_RUN = "import sys, chromadb_rust_bindings; chromadb_rust_bindings.cli(['chroma', 'run', *sys.argv[1:]])"


@contextmanager
def running_chroma(data: Path | None = None, port: int | None = None) -> Iterator[str]:
    """Start a server and give its URL; fails where it cannot be started, and stops it at the end.

    Without `data` it forgets everything, and without `port` it takes a free one.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(data or temporary)
        port = port or free_port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-c", _RUN, "--host", "127.0.0.1", "--port", str(port), "--path", folder]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            deadline = time.monotonic() + _SECONDS_TO_START
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Chroma did not start: {(Path(folder) / 'log').read_text()}")
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()
            process.wait(10)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/v2/heartbeat", timeout=1).is_success
    except httpx.HTTPError:
        return False

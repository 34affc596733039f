"""What SQLite's errors mean for the owner of an index, and what to do about each."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from ragstone.errors import IndexCorruptedError, PersistenceError

__all__ = ["corrupted", "raise_translated", "translated"]

# SQLITE_ERROR is SQL that does not fit the tables: every statement here is fixed, so the tables are not ours.
_DAMAGED: Final = (
    "SQLITE_CONSTRAINT",
    "SQLITE_CORRUPT",
    "SQLITE_ERROR",
    "SQLITE_FORMAT",
    "SQLITE_MISMATCH",
    "SQLITE_NOTADB",
)


def corrupted(file: Path, what: str) -> IndexCorruptedError:
    """Return the error for damage found in `file`, with the remedy."""
    return IndexCorruptedError(
        f"{file}: {what}: restore the directory from a backup, or ingest the documents into a new one"
    )


def raise_translated(error: sqlite3.Error, file: Path, doing: str) -> NoReturn:
    """Raise Ragstone's error for SQLite's; `doing` completes "while …".

    Raises:
        IndexCorruptedError: The file is damaged or is not an index.
        PersistenceError: The disk is full, the file is locked, or it cannot be opened, read or written.
    """
    # SQLite's own failures carry a name; only text that is not UTF-8 has none, and its message quotes the text.
    name: str | None = getattr(error, "sqlite_errorname", None)
    if name is None:
        raise corrupted(file, f"damaged (undecodable text), found while {doing}") from None
    raise _explained(name, error, file, doing) from error


def _explained(name: str, error: sqlite3.Error, file: Path, doing: str) -> PersistenceError:
    if name.startswith(_DAMAGED):
        return corrupted(file, f"damaged or not an index ({error}), found while {doing}")
    if name.startswith("SQLITE_FULL"):
        return PersistenceError(
            f"{file}: the disk is full while {doing}: nothing of it was kept and the index is as before; "
            "free some space and repeat"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return PersistenceError(f"{file}: locked by another process while {doing}: wait for that to end and repeat")
    return PersistenceError(
        f"{file}: failed while {doing} ({error}): nothing of it was kept; check the permissions and the disk"
    )


@contextmanager
def translated(file: Path, doing: str) -> Generator[None]:
    """Let no error of SQLite pass, but as `raise_translated` translates it."""
    try:
        yield
    except sqlite3.Error as error:
        raise_translated(error, file, doing)

"""Making, opening and describing an index directory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ragstone.errors import IndexMismatchError, PersistenceError
from ragstone.persistence.faults import translated
from ragstone.persistence.lock import WriterLock
from ragstone.persistence.schema import FORMAT_VERSION, Stamps, connect, create_file, read_stamps, upgrade

__all__ = [
    "DATABASE",
    "LOCK",
    "IndexInfo",
    "create_if_absent",
    "describe",
    "open_database",
    "require_same_embedder",
    "upgrade_if_older",
]

DATABASE: Final = "index.db"
LOCK: Final = "writer.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """What is in an index and what it was made with.

    Attributes:
        path: The directory.
        format_version: Version of the format on disk.
        analyzer: Fingerprint of the text analysis of the Ragstone that wrote last.
        embedder: Identity of the embedding model; `None` for an index for keyword search only.
        dimensions: Length of the vectors; `None` where there are none.
        documents: How many.
        chunks: How many.
        bytes_on_disk: Of all files in the directory.
    """

    path: Path
    format_version: int
    analyzer: str
    embedder: str | None
    dimensions: int | None
    documents: int
    chunks: int
    bytes_on_disk: int


def create_if_absent(directory: Path, stamps: Stamps) -> None:
    """Make an index in a missing or empty directory; leave what is there alone.

    Raises:
        PersistenceError: The directory holds something else, or cannot be written.
    """
    if (directory / DATABASE).exists() or directory.is_file():
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        foreign = [entry.name for entry in directory.iterdir() if not entry.name.startswith((LOCK, f"{DATABASE}.new"))]
    except OSError as error:
        raise PersistenceError(
            f"{directory}: no index can be made here ({error.strerror}): name a directory"
        ) from error
    if foreign:
        raise _not_an_index(directory)
    lock = WriterLock(directory / LOCK)
    lock.acquire()
    try:
        with translated(directory / DATABASE, "making the index"):
            if not (directory / DATABASE).exists():
                create_file(directory / DATABASE, stamps)
    finally:
        lock.release()


def open_database(directory: Path) -> tuple[sqlite3.Connection, Stamps]:
    """Open the database of an index and read its stamps.

    Raises:
        PersistenceError: There is no index, or it cannot be opened; see its subclasses for damage and versions.
    """
    file = directory / DATABASE
    if not directory.is_dir():
        there = "this is a file, not an index directory" if directory.exists() else "there is no index here"
        raise PersistenceError(f"{directory}: {there}: check the path, or ingest documents into it first")
    if not file.is_file():
        raise _not_an_index(directory)
    with translated(file, "opening the index"):
        connection = connect(file)
        try:
            return connection, read_stamps(connection, file)
        except BaseException:
            connection.close()
            raise


def upgrade_if_older(directory: Path, connection: sqlite3.Connection, stamps: Stamps) -> Stamps:
    """Bring an index of an older format to this one; return its stamps.

    Raises:
        PersistenceError: Another process writes to it, or it cannot be written.
    """
    if stamps.format_version == FORMAT_VERSION:
        return stamps
    file = directory / DATABASE
    lock = WriterLock(directory / LOCK)
    lock.acquire()
    try:
        with translated(file, f"bringing the index to format {FORMAT_VERSION}"):
            current = read_stamps(connection, file)
            return current if current.format_version == FORMAT_VERSION else upgrade(connection, current)
    finally:
        lock.release()


def _not_an_index(directory: Path) -> PersistenceError:
    return PersistenceError(
        f"{directory}: not an index directory, it holds no {DATABASE}: check the path, or name a new directory"
    )


def require_same_embedder(directory: Path, found: Stamps, asked: Stamps) -> None:
    """Check that the index was made with the embedding model that it is opened with.

    Raises:
        IndexMismatchError: Another model, another length of vectors, or one of the two has no model.
    """
    same_length = None in (found.dimensions, asked.dimensions) or found.dimensions == asked.dimensions
    if found.embedder == asked.embedder and same_length:
        return
    raise IndexMismatchError(
        f"{directory}: made with {_model(found)}, opened with {_model(asked)}: "
        "open it with what it was made with, or ingest the documents into a new directory"
    )


def _model(stamps: Stamps) -> str:
    if stamps.embedder is None:
        return "no embedding model"
    length = "" if stamps.dimensions is None else f" ({stamps.dimensions} dimensions)"
    return f"the embedding model '{stamps.embedder}'{length}"


def describe(directory: Path) -> IndexInfo:
    """Return what is in an index, whatever model it was made with.

    Raises:
        PersistenceError: As for `open_database`.
    """
    connection, stamps = open_database(directory)
    with closing(connection), translated(directory / DATABASE, "counting documents"):
        counts = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
        documents, chunks = connection.execute(counts).fetchone()
        bytes_on_disk = sum(entry.stat().st_size for entry in directory.iterdir() if entry.is_file())
    return IndexInfo(
        path=directory,
        format_version=stamps.format_version,
        analyzer=stamps.analyzer,
        embedder=stamps.embedder,
        dimensions=stamps.dimensions,
        documents=documents,
        chunks=chunks,
        bytes_on_disk=bytes_on_disk,
    )

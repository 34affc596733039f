"""The tables of `index.db`, and the stamps that say what the index was made with."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from ragstone.errors import IndexMismatchError
from ragstone.persistence.faults import corrupted

__all__ = [
    "BUSY_SECONDS",
    "FORMAT_VERSION",
    "Stamps",
    "connect",
    "create_file",
    "read_stamps",
    "upgrade",
    "write_stamps",
]

FORMAT_VERSION: Final = 2
"""Raised by a change that an older Ragstone cannot read."""

BUSY_SECONDS: Final = 5.0
"""How long to wait for another process's transaction."""

_TABLES: Final = """
CREATE TABLE rag_metadata (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE documents (
    number      INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    source      TEXT,
    checksum    INTEGER NOT NULL,
    sparse_encoder TEXT
);
CREATE TABLE chunks (
    document     INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    chunk_index  INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset   INTEGER NOT NULL,
    text         TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    vector       BLOB,
    checksum     INTEGER NOT NULL,
    sparse       BLOB,
    PRIMARY KEY (document, chunk_index)
);
"""
_PARENTS_TABLE: Final = """
CREATE TABLE parents (
    document     INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    parent_index INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset   INTEGER NOT NULL,
    text         TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    checksum     INTEGER NOT NULL,
    PRIMARY KEY (document, parent_index)
);
"""
_FROM_FORMAT_1: Final = f"""
ALTER TABLE documents ADD COLUMN sparse_encoder TEXT;
ALTER TABLE chunks ADD COLUMN sparse BLOB;
{_PARENTS_TABLE}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamps:
    """What an index was made with.

    Attributes:
        analyzer: Fingerprint of the text analysis of the Ragstone that wrote last. Keyword postings are made anew from
            the stored text at every start, so another analyzer is no error.
        embedder: Identity of the embedding model, `None` for an index without vectors.
        dimensions: Length of the vectors, `None` while none was stored.
        generation: Counts the transactions.
        revision: A random name of what the index holds, another after each transaction; `None` in an index that no
            version of Ragstone which gives one has written to.
        format_version: How the tables are to be read.
    """

    analyzer: str
    embedder: str | None
    dimensions: int | None
    generation: int = 0
    revision: str | None = None
    format_version: int = FORMAT_VERSION

    def next(self, *, analyzer: str, dimensions: int | None) -> Stamps:
        """Return the stamps of the transaction that follows."""
        return replace(
            self, analyzer=analyzer, dimensions=dimensions, generation=self.generation + 1, revision=uuid4().hex
        )


def connect(file: Path) -> sqlite3.Connection:
    """Open an existing database, usable from any thread by one at a time; transactions are the caller's."""
    connection = sqlite3.connect(
        f"{file.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # NORMAL in WAL mode: a commit survives the process; a power cut may take the last commits, never half of one.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def create_file(file: Path, stamps: Stamps) -> None:
    """Create the database under another name and rename it, so that `file` is never there half made."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; {_TABLES} {_PARENTS_TABLE}")
        write_stamps(connection, stamps)
        connection.execute("COMMIT")
    finally:
        connection.close()
    draft.replace(file)


def upgrade(connection: sqlite3.Connection, stamps: Stamps) -> Stamps:
    """Bring the tables of an older format to this one, in one transaction; return the stamps from now on.

    What is stored stays as it is. The generation rises, so that an older Ragstone that has the index open writes no
    more.
    """
    upgraded = replace(stamps, format_version=FORMAT_VERSION, generation=stamps.generation + 1)
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {_FROM_FORMAT_1}")
        write_stamps(connection, upgraded)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return upgraded


def write_stamps(connection: sqlite3.Connection, stamps: Stamps) -> None:
    """Write the stamps, within the caller's transaction."""
    values = {
        "format_version": stamps.format_version,
        "analyzer": stamps.analyzer,
        "embedder_identity": stamps.embedder,
        "embedder_dimensions": stamps.dimensions,
        "generation": stamps.generation,
        "revision": stamps.revision,
    }
    present = [(key, str(value)) for key, value in values.items() if value is not None]
    connection.executemany("INSERT OR REPLACE INTO rag_metadata (key, value) VALUES (?, ?)", present)


def read_stamps(connection: sqlite3.Connection, file: Path) -> Stamps:
    """Read the stamps.

    Raises:
        IndexMismatchError: The format is a newer version's.
        IndexCorruptedError: A stamp is missing or unreadable.
    """
    values = dict[str, str](connection.execute("SELECT key, value FROM rag_metadata").fetchall())
    try:
        version = int(values["format_version"])
        if version > FORMAT_VERSION:
            raise IndexMismatchError(
                f"{file}: written by a newer Ragstone (format {version}; this one reads up to {FORMAT_VERSION}): "
                "upgrade with  pip install --upgrade ragstone"
            )
        dimensions = values.get("embedder_dimensions")
        return Stamps(
            analyzer=values["analyzer"],
            embedder=values.get("embedder_identity"),
            dimensions=None if dimensions is None else int(dimensions),
            generation=int(values["generation"]),
            revision=values.get("revision"),
            format_version=version,
        )
    except (KeyError, ValueError) as error:
        raise corrupted(file, f"a stamp is missing or unreadable ({error})") from error

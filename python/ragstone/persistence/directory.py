"""An index on disk: a directory whose `index.db` is the record of documents, their chunks, vectors and parents."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ragstone.engine.text import ANALYZER
from ragstone.errors import PersistenceError
from ragstone.models import StoredDocument
from ragstone.persistence.codec import ChunkRow, DocumentRow, decode_document, encode_document, require_fits
from ragstone.persistence.faults import corrupted, raise_translated, translated
from ragstone.persistence.files import (
    DATABASE,
    LOCK,
    IndexInfo,
    create_if_absent,
    describe,
    open_database,
    require_same_embedder,
    upgrade_if_older,
)
from ragstone.persistence.lock import WriterLock
from ragstone.persistence.schema import Stamps, read_stamps, write_stamps

__all__ = ["IndexDirectory"]

_DELETE: Final = "DELETE FROM documents WHERE document_id = ?"
_INSERT_DOCUMENT: Final = """
INSERT INTO documents (document_id, fingerprint, source, checksum, sparse_encoder) VALUES (?, ?, ?, ?, ?)
"""
_INSERT_CHUNK: Final = """
INSERT INTO chunks (document, chunk_index, start_offset, end_offset, text, metadata, vector, sparse, checksum)
VALUES (?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?)
"""
_INSERT_PARENT: Final = """
INSERT INTO parents (document, parent_index, start_offset, end_offset, text, metadata, checksum)
VALUES (?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?)
"""
_SELECT_ALL: Final = """
SELECT d.number, d.document_id, d.fingerprint, d.source, d.checksum, d.sparse_encoder,
       c.chunk_index, c.start_offset, c.end_offset, CAST(c.text AS BLOB), CAST(c.metadata AS BLOB), c.vector, c.sparse,
       c.checksum
FROM documents AS d LEFT JOIN chunks AS c ON c.document = d.number
ORDER BY d.document_id, c.chunk_index
"""
_SELECT_PARENTS: Final = """
SELECT parent_index, start_offset, end_offset, CAST(text AS BLOB), CAST(metadata AS BLOB), NULL, NULL, checksum
FROM parents WHERE document = ? ORDER BY parent_index
"""
_CHUNK: Final = 6
"""Where the columns of a chunk begin."""


class IndexDirectory:
    """The durable record of an index: a `DocumentJournal` over SQLite.

    A document is written in one transaction, so it is there whole or not at all, whatever happens to the process. A
    commit survives a crash of the process; a power cut may take the last commits, but never half of one. Methods may be
    called from any thread. Many processes may read an index at a time; the first that writes to it stays the only
    writer until it closes it.

    Open one with `IndexDirectory.open`.

    Example:
        >>> import tempfile
        >>> from ragstone.models import StoredDocument, TextChunk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with IndexDirectory.open(f"{folder}/handbook.rag", embedder_identity=None, dimensions=None) as index:
        ...         chunk = TextChunk("Leave is 30 days.", "handbook", 0, 0, 17)
        ...         index.put(StoredDocument(document_id="handbook", fingerprint="f1", source=None, chunks=(chunk,)))
        ...         [document.chunks[0].text for document in index.load()]
        ['Leave is 30 days.']
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, stamps: Stamps) -> None:
        self._path = path
        self._file = path / DATABASE
        self._connection: sqlite3.Connection | None = connection
        self._stamps = stamps
        self._revision = stamps.revision
        self._lock = WriterLock(path / LOCK)
        self._guard = threading.RLock()

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        embedder_identity: str | None,
        dimensions: int | None,
        create: bool = True,
    ) -> IndexDirectory:
        """Open an index, or make one.

        Args:
            path: The directory; made, with its parents, where there is none.
            embedder_identity: Identity of the model whose vectors the index holds; `None` for keyword search only.
            dimensions: Length of its vectors; `None` while it is not known.
            create: Make the index if it does not exist; only a missing or an empty directory becomes one.

        Raises:
            PersistenceError: It is no index directory, or cannot be read or made.
            IndexMismatchError: It was made with another embedding model or by a newer Ragstone; names both.
            IndexCorruptedError: It is damaged.
        """
        directory = Path(path)
        asked = Stamps(analyzer=ANALYZER, embedder=embedder_identity, dimensions=dimensions)
        if create:
            create_if_absent(directory, asked)
        connection, found = open_database(directory)
        try:
            require_same_embedder(directory, found, asked)
            return cls(directory, connection, upgrade_if_older(directory, connection, found))
        except PersistenceError:
            connection.close()
            raise

    @staticmethod
    def exists(path: str | PathLike[str]) -> bool:
        """Whether there is an index at a path, sound or not."""
        return (Path(path) / DATABASE).is_file()

    @staticmethod
    def inspect(path: str | PathLike[str]) -> IndexInfo:
        """Return what is in an index, whatever embedding model it was made with; nothing is changed.

        Raises:
            PersistenceError: There is no index, it cannot be read, or it is damaged.
        """
        return describe(Path(path))

    @property
    def path(self) -> Path:
        """The directory."""
        return self._path

    def revision(self) -> str | None:
        """Name what was last loaded or written here, the same in every copy; `None` where nothing was written yet."""
        return self._revision

    def info(self) -> IndexInfo:
        """Return what is in the index."""
        return describe(self._path)

    def documents(self) -> list[str]:
        """Return the ids of all documents, in order."""
        with self._reading("listing documents") as connection:
            rows = connection.execute("SELECT document_id FROM documents ORDER BY document_id").fetchall()
        return [document_id for (document_id,) in rows]

    def fingerprint(self, document_id: str) -> str | None:
        """Return the fingerprint of the stored document, `None` where there is none."""
        query = "SELECT fingerprint FROM documents WHERE document_id = ?"
        with self._reading(f"looking up document {document_id!r}") as connection:
            row = connection.execute(query, (document_id,)).fetchone()
        return None if row is None else row[0]

    def load(self) -> Iterator[StoredDocument]:
        """Yield every document in order of its id: a snapshot, unmoved by what is written meanwhile.

        Raises:
            IndexCorruptedError: The file is damaged or a checksum does not hold; names the document.
        """
        with self._reading("opening the index"):
            reader, _ = open_database(self._path)
        place = "reading the first documents"
        with closing(reader):
            try:
                reader.execute("BEGIN")
                stamps = read_stamps(reader, self._file)
                self._revision, dimensions = stamps.revision, stamps.dimensions
                for number, group in groupby(reader.execute(_SELECT_ALL), key=itemgetter(0)):
                    parents = reader.execute(_SELECT_PARENTS, (number,)).fetchall()
                    document = self._decode(list(group), parents, dimensions)
                    yield document
                    place = f"reading the documents after {document.document_id!r}"
            except sqlite3.Error as error:
                raise_translated(error, self._file, place)

    def _decode(
        self, rows: list[tuple[object, ...]], parents: list[tuple[object, ...]], dimensions: int | None
    ) -> StoredDocument:
        head = DocumentRow._make(rows[0][1:_CHUNK])
        chunks = [ChunkRow._make(row[_CHUNK:]) for row in rows if row[_CHUNK] is not None]
        try:
            return decode_document(head, chunks, [ChunkRow._make(row) for row in parents], dimensions)
        except ValueError as error:
            raise corrupted(self._file, f"document {head.document_id!r} is damaged ({error})") from error

    def put(self, document: StoredDocument) -> None:
        """Store a document in place of every trace of an earlier one with its id, in one transaction.

        Raises:
            InvalidInputError: Chunks and vectors do not fit each other or the index, or a text is no Unicode text.
            PersistenceError: It could not be written, or another process writes to the index; nothing was changed.
        """
        with self._writing(f"storing document {document.document_id!r}") as connection:
            dimensions = require_fits(document, self._stamps)
            head, chunks, parents = encode_document(document)
            connection.execute(_DELETE, (document.document_id,))
            number = connection.execute(_INSERT_DOCUMENT, head).lastrowid
            connection.executemany(_INSERT_CHUNK, ((number, *chunk) for chunk in chunks))
            connection.executemany(_INSERT_PARENT, ((number, *parent[:5], parent.checksum) for parent in parents))
            self._commit(connection, dimensions)

    def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether there was one.

        Raises:
            PersistenceError: It could not be written, or another process writes to the index; nothing was changed.
        """
        with self._writing(f"deleting document {document_id!r}") as connection:
            deleted = connection.execute(_DELETE, (document_id,)).rowcount > 0
            self._commit(connection, self._stamps.dimensions)
        return deleted

    def close(self) -> None:
        """Close the files and let others write; a second time, do nothing."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _reading(self, doing: str) -> Generator[sqlite3.Connection]:
        with self._guard, translated(self._file, doing):
            if self._connection is None:
                raise PersistenceError(f"{self._path}: the index is closed: open it again before {doing}")
            yield self._connection

    @contextmanager
    def _writing(self, doing: str) -> Generator[sqlite3.Connection]:
        """Give a transaction, which the caller commits; whatever is raised rolls it back."""
        with self._reading(doing) as connection:
            self._claim(connection)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _claim(self, connection: sqlite3.Connection) -> None:
        """Become the only writer, unless another process wrote after this index was opened and perhaps loaded."""
        if self._lock.held:
            return
        self._lock.acquire()
        if read_stamps(connection, self._file).generation != self._stamps.generation:
            self._lock.release()
            raise PersistenceError(
                f"{self._path}: changed by another process since it was opened here: open it again, then repeat"
            )

    def _commit(self, connection: sqlite3.Connection, dimensions: int | None) -> None:
        stamps = self._stamps.next(analyzer=ANALYZER, dimensions=dimensions)
        write_stamps(connection, stamps)
        connection.execute("COMMIT")
        self._stamps = stamps
        self._revision = stamps.revision

"""The vector store in PostgreSQL: dense vectors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ragstone.closing import Closing
from ragstone.concurrency import offload
from ragstone.metadata import check_filter, metadata_to_json
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.stores._columns import of_document
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_query
from ragstone.stores.pgvector.binary import Binary, send_binary, vector_value
from ragstone.stores.pgvector.connections import Connections, Pool, fetch
from ragstone.stores.pgvector.rows import Row, fits, hits, metadata_fits, rows_of
from ragstone.stores.pgvector.schema import ITERATIVE_SCAN, Version, prepare
from ragstone.stores.pgvector.table import Table, checked_name
from ragstone.validation import require_at_least, require_finite

if TYPE_CHECKING:
    from psycopg import AsyncConnection

__all__ = ["PgVectorStore"]

_TRIALS: Final = 5


class PgVectorStore(Closing):
    """A vector store in PostgreSQL with pgvector: cosine top-k over an HNSW index, exact above 2000 dimensions.

    Implements `VectorStore`, `DocumentReplaceable`, `EmbeddingReadable` and `CollectionManageable`. The table is made
    on first use; one that is there is checked, and never loses anything. From pgvector 0.8 on the index is searched
    until the page is full of chunks that match the filter, or PostgreSQL's `hnsw.max_scan_tuples` is reached (20,000
    unless set); before 0.8 a filtered page may be short.

    Args:
        server: A connection string or URL (`postgresql://user:password@host/database`), or a
            `psycopg_pool.AsyncConnectionPool`, which its owner opens and closes.
        dimensions: Length of the vectors, 1 to 16,000; fixed for the table when it is made.
        collection: The table: an ASCII identifier of at most 47 characters.
        max_connections: The most connections of the store's own pool.
        timeout: Seconds to wait for a connection.

    Raises:
        ConfigurationError: An argument cannot be.
        MissingDependencyError: The extra `pgvector` is not installed.
    """

    def __init__(
        self,
        server: str | Pool,
        *,
        dimensions: int,
        collection: str = "rag_chunks",
        max_connections: int = 10,
        timeout: float = 10.0,
    ) -> None:
        self._table = self._described(collection, dimensions)
        self._connections = Connections(server, max_connections=max_connections, timeout=timeout)
        self._version: Version = ()
        self._prepared = Once(self._prepare)

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        return self._table.dimensions

    @property
    def collection(self) -> str:
        """The table."""
        return self._table.name

    async def initialize(self) -> None:
        """Make the extension, the table and its indexes where they are missing, and check those that are there.

        Building an index over a large table takes long, and blocks its writers meanwhile.

        Raises:
            ConfigurationError: The table holds vectors of other dimensions; names both.
            StoreError: PostgreSQL could not be reached or refused; or the table has duplicate keys, and was left alone.
        """
        async with self._connections.failing("preparing a collection"):
            await self._prepared()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index), in one transaction.

        Raises:
            InvalidInputError: A chunk or a vector cannot be stored; names the chunk. Nothing was stored.
            StoreError: PostgreSQL could not be reached or refused. Nothing was stored.
        """
        rows = await offload(rows_of, tuple(chunks), self._table)
        if rows:
            await self._written("storing", lambda connection: self._upsert(connection, rows, keep_sparse=True))

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Put these chunks in the place of all that the document has, in one transaction.

        Raises:
            InvalidInputError: A chunk is of another document, or as `store`; the document is then as it was.
            StoreError: PostgreSQL could not be reached or refused; the document is then as it was.
        """
        of_document(document_id, [item.chunk for item in chunks])
        rows = await offload(rows_of, tuple(chunks), self._table)
        if not rows:
            await self.delete_by_document_id(document_id)
            return
        await self._written("replacing a document", lambda connection: self._replace(connection, document_id, rows))

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; neither a document nor a table that is not there is an error.

        Raises:
            StoreError: PostgreSQL could not be reached or refused.
        """
        from psycopg.errors import UndefinedTable

        if not fits(document_id):
            return

        async def delete() -> None:
            async with self._connections.transaction() as connection:
                await connection.execute(self._table.delete(), [document_id])

        async with self._connections.failing("deleting a document"):
            with suppress(UndefinedTable):
                await _persistently(delete)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        Raises:
            DimensionMismatchError: The query is of another length than the stored vectors.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: PostgreSQL could not be reached or refused.
        """
        query = vector_value(checked_query(embedding, self._table.dimensions))
        return await self._page(self._table.nearest, query, options, ScoreScale.SIMILARITY)

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key as it was stored, `None` where the chunk is not there.

        Raises:
            StoreError: PostgreSQL could not be reached or refused.
        """
        wanted = [key for key in keys if fits(key.document_id)]
        if not wanted:
            return [None] * len(keys)
        async with self._connections.failing("reading embeddings"), self._transaction() as connection:
            columns = [[key.document_id for key in wanted], [key.chunk_index for key in wanted]]
            rows = await fetch(connection, self._table.embeddings(), columns)
        found = {ChunkKey(name, index): np.array(vector, dtype=np.float32) for name, index, vector in rows}
        return [found.get(key) for key in keys]

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Make a table as `initialize` makes the store's own; one of these dimensions that is there is no error.

        Raises:
            ConfigurationError: The name is no ASCII identifier of at most 47 characters, or the table holds vectors of
                other dimensions.
            StoreError: As `initialize`.
        """
        table = self._described(name, dimensions)
        async with self._connections.failing("making a collection"), self._connections.transaction() as connection:
            await prepare(connection, table)

    async def delete_collection(self, name: str) -> None:
        """Drop a table; one that is not there is no error. After the store's own, the next call makes it again.

        Raises:
            ConfigurationError: The name is no ASCII identifier of at most 47 characters.
            StoreError: PostgreSQL could not be reached or refused.
        """
        from psycopg.sql import SQL, Identifier

        statement = SQL("DROP TABLE IF EXISTS {}").format(Identifier(checked_name(name)))
        async with self._connections.failing("dropping a collection"), self._connections.transaction() as connection:
            await connection.execute(statement)
        if name == self._table.name:
            self._prepared.reset()

    async def collection_exists(self, name: str) -> bool:
        """Whether there is a table of this name.

        Raises:
            ConfigurationError: The name is no ASCII identifier of at most 47 characters.
            StoreError: PostgreSQL could not be reached or refused.
        """
        query = "SELECT 1 FROM pg_class WHERE oid = to_regclass(%s) AND relkind IN ('r', 'p')"
        relation = f'"{checked_name(name)}"'
        async with self._connections.failing("finding a collection"), self._connections.transaction() as connection:
            return bool(await fetch(connection, query, [relation]))

    async def aclose(self) -> None:
        """Close the connections, if they are our own; a later request opens new ones."""
        await self._connections.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connections.place!r}, collection={self._table.name!r})"

    def _described(self, name: str, dimensions: int) -> Table:
        return Table(name, dimensions)

    async def _prepare(self) -> None:
        async with self._connections.transaction() as connection:
            self._version = await prepare(connection, self._table)

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[AsyncConnection[Any]]:
        """A connection in a transaction, the table being ready."""
        from psycopg.errors import UndefinedTable

        await self._prepared()
        try:
            async with self._connections.transaction() as connection:
                yield connection
        except UndefinedTable:
            self._prepared.reset()
            raise

    async def _written(self, doing: str, write: Callable[[AsyncConnection[Any]], Awaitable[None]]) -> None:
        """Write in a transaction, the table being ready."""

        async def once() -> None:
            async with self._transaction() as connection:
                await write(connection)

        async with self._connections.failing(doing):
            await _persistently(once)

    async def _replace(self, connection: AsyncConnection[Any], document_id: str, rows: Sequence[Row]) -> None:
        # Without it, the second of two replacements at once would not see, and not delete, what the first inserts.
        lock = f"{self._table.name} {document_id}"
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [lock])
        await self._upsert(connection, rows, keep_sparse=False)
        await connection.execute(self._table.delete_others(), [document_id, [row[1] for row in rows]])

    async def _upsert(self, connection: AsyncConnection[Any], rows: Sequence[Row], *, keep_sparse: bool) -> None:
        async with connection.cursor() as cursor:
            send_binary(cursor)
            await cursor.executemany(self._table.upsert(keep_sparse=keep_sparse), rows)

    async def _page(
        self,
        statement: Callable[..., bytes],
        query: Binary,
        options: SearchOptions,
        scale: ScoreScale,
        **further: Any,
    ) -> list[SearchResult]:
        """The best rows by a statement that may be filtered and have a floor; `further` are its own parameters."""
        top_k = require_at_least("top_k", options.top_k, 0)
        floor = require_finite("min_score", options.min_score)
        wanted = check_filter(options.metadata_filter) or {}
        if top_k == 0 or not metadata_fits(wanted):
            return []
        parameters = {**further, "query": query, "top_k": top_k, "min_score": floor, "filter": metadata_to_json(wanted)}
        async with self._connections.failing("searching"), self._transaction() as connection:
            if self._version >= ITERATIVE_SCAN:
                await connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            rows = await fetch(connection, statement(filtered=bool(wanted), floor=floor != 0), parameters)
        return hits(rows, scale)


async def _persistently(write: Callable[[], Awaitable[None]]) -> None:
    """Write; what PostgreSQL breaks off, since writers wait for each other in a circle, is tried again."""
    from psycopg.errors import DeadlockDetected

    for _ in range(_TRIALS - 1):
        with suppress(DeadlockDetected):
            return await write()
    return await write()

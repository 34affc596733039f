"""Vectors in Qdrant, dense alone or with sparse ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ragstone.closing import Closing
from ragstone.errors import InvalidInputError
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.sparse_vector import SparseVector
from ragstone.stores._columns import name_of
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_filter, checked_query, checked_vectors
from ragstone.stores.qdrant.points import chunk_of, document_filter, metadata_filter, payload_of, point_id
from ragstone.stores.qdrant.server import DENSE, SPARSE, Server, checked_name
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

__all__ = ["QdrantSparseStore", "QdrantStore"]


class QdrantStore(Closing):
    """A vector store in a collection of Qdrant: cosine top-k, filtered before the cut.

    Implements `VectorStore`, `EmbeddingReadable` and `CollectionManageable`. The collection is made on first use. One
    that exists must hold vectors of this length under cosine, or the first use fails and changes nothing.

    Chunks are sent in batches. Each is written as a whole; where one fails the error names it, and storing all of them
    again completes the work.

    Args:
        server: A URL such as `http://localhost:6333`, `":memory:"` for Qdrant's own imitation in this process, or a
            client (`qdrant_client.AsyncQdrantClient`), which its owner closes.
        collection: The collection's name.
        dimensions: Length of the vectors.
        api_key: Sent with each request to a URL; never shown.
        timeout: Whole seconds to wait for an answer; a client that was handed in keeps its own.
        batch_size: How many chunks a request carries.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `qdrant` is not installed.

    Example:
        >>> import asyncio
        >>> from ragstone.models import TextChunk
        >>> async def main() -> list[tuple[str, float]]:
        ...     async with QdrantStore(":memory:", collection="handbook", dimensions=2) as store:
        ...         chunk = TextChunk("paid leave", "handbook", 0, metadata={"year": 2026})
        ...         await store.store([EmbeddedChunk(chunk, np.array([0.6, 0.8], dtype=np.float32))])
        ...         options = SearchOptions(top_k=5, metadata_filter={"year": 2026})
        ...         hits = await store.search(np.array([0.0, 1.0], dtype=np.float32), options)
        ...         return [(hit.chunk.text, round(hit.score, 4)) for hit in hits]
        >>> asyncio.run(main())
        [('paid leave', 0.8)]
    """

    _keeps_sparse = False

    def __init__(
        self,
        server: str | AsyncQdrantClient,
        *,
        collection: str,
        dimensions: int,
        api_key: str | None = None,
        timeout: int = 10,
        batch_size: int = 256,
    ) -> None:
        self._server = Server(server, api_key=api_key, timeout=timeout)
        self._collection = checked_name("collection", collection)
        self._dimensions = require_at_least("dimensions", dimensions, 1)
        self._batch_size = require_at_least("batch_size", batch_size, 1)
        self._ready = Once(self._prepare)

    @property
    def collection(self) -> str:
        """The collection's name."""
        return self._collection

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        return self._dimensions

    async def initialize(self) -> None:
        """Make the collection, or check the one that is there.

        Raises:
            ConfigurationError: The collection that is there does not fit.
            StoreError: Qdrant could not be reached or refused.
        """
        await self._ready()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index).

        Raises:
            DimensionMismatchError: A vector is of another length; names the chunk, nothing was stored.
            InvalidVectorError: A vector holds NaN or infinity; names the chunk, nothing was stored.
            StoreError: Qdrant could not be reached or refused; names the batch.
        """
        if not chunks:
            return
        vectors = checked_vectors(chunks, self._dimensions)
        points = [self._point(item, vector) for item, vector in zip(chunks, vectors, strict=True)]
        await self._ready()
        for start in range(0, len(points), self._batch_size):
            await self._upsert(points[start : start + self._batch_size], f"{start + 1} of {len(points)}")

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        Raises:
            InvalidInputError: The query is of another length or holds NaN, or a filter value is of no known kind.
            StoreError: Qdrant could not be reached or refused.
        """
        query = checked_query(embedding, self._dimensions).tolist()
        return await self._page(query, None, options, ScoreScale.SIMILARITY)

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; a document or a collection that is not there is no error.

        Raises:
            StoreError: Qdrant could not be reached or refused.
        """
        from qdrant_client import models

        selector = models.FilterSelector(filter=document_filter(document_id))
        if await self._server.has(self._collection):
            await self._server.told(
                f"deleting a document from {self._collection!r}",
                lambda client: client.delete(self._collection, selector, wait=True),
            )

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key at unit length, `None` where the chunk is not there.

        Raises:
            StoreError: Qdrant could not be reached or refused.
        """
        await self._ready()
        ids = [point_id(key) for key in keys]
        records = await self._server.told(
            f"reading vectors of {self._collection!r}",
            lambda client: client.retrieve(self._collection, ids, with_payload=False, with_vectors=[DENSE]),
        )
        held = {str(record.id): _dense_of(record.vector) for record in records}
        return [held.get(wanted) for wanted in ids]

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Create a collection; one that exists and fits is no error.

        Raises:
            ConfigurationError: One that exists does not fit.
            StoreError: Qdrant could not be reached or refused.
        """
        length = require_at_least("dimensions", dimensions, 1)
        await self._server.create(checked_name("name", name), length, sparse=self._keeps_sparse)

    async def delete_collection(self, name: str) -> None:
        """Drop a collection; one that is not there is no error.

        Raises:
            StoreError: Qdrant could not be reached or refused.
        """
        await self._server.drop(checked_name("name", name))
        if name == self._collection:
            self._ready.reset()

    async def collection_exists(self, name: str) -> bool:
        """Whether the collection is there.

        Raises:
            StoreError: Qdrant could not be reached or refused.
        """
        return await self._server.has(checked_name("name", name))

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._server.aclose()
        self._ready.reset()

    async def _prepare(self) -> None:
        await self.create_collection(self._collection, self._dimensions)

    def _point(self, item: EmbeddedChunk, vector: Vector) -> models.PointStruct:
        from qdrant_client import models

        dense = cast("list[float]", vector.tolist())
        vectors = _with_sparse(item, dense) if self._keeps_sparse else dense
        return models.PointStruct(id=point_id(item.chunk.key), vector=vectors, payload=payload_of(item.chunk))

    async def _upsert(self, points: list[models.PointStruct], first: str) -> None:
        await self._server.told(
            f"storing a batch of {len(points)} chunks, the first being {first}, in {self._collection!r}",
            lambda client: client.upsert(self._collection, points, wait=True),
        )

    async def _page(
        self, query: Any, using: str | None, options: SearchOptions, scale: ScoreScale
    ) -> list[SearchResult]:
        wanted = metadata_filter(checked_filter(options))
        await self._ready()
        if options.top_k == 0:
            return []
        answer = await self._server.told(
            f"searching {self._collection!r}",
            lambda client: client.query_points(
                self._collection,
                query=query,
                using=using,
                query_filter=wanted,
                limit=options.top_k,
                score_threshold=options.min_score or None,
                with_payload=True,
            ),
        )
        hits = [SearchResult(chunk_of(point.payload), point.score, scale) for point in answer.points]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.key))


class QdrantSparseStore(QdrantStore):
    """A `QdrantStore` that keeps the chunks' sparse vectors too, under the name "splade", and searches them.

    Implements `SparseSearchable` beside what `QdrantStore` does. A chunk that is stored again takes the place of the
    old one as a whole: without a sparse vector of its own it has none. A collection that was made without sparse
    vectors is refused on first use.

    What it takes and raises is what `QdrantStore` does.
    """

    _keeps_sparse = True

    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks of the largest dot products that match the filter and reach `min_score`, best first.

        A chunk that shares no term with the query is no hit. Ties are ordered by key.

        Raises:
            InvalidInputError: `vector` is no `SparseVector`, or a filter value is of no known kind.
            StoreError: Qdrant could not be reached or refused.
        """
        if not isinstance(vector, SparseVector):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"the query must be a SparseVector, not a {type(vector).__name__}")
        if len(vector) == 0:
            checked_filter(options)
            return []
        return await self._page(_sparse_of(vector), SPARSE, options, ScoreScale.DOT)


def _with_sparse(item: EmbeddedChunk, dense: list[float]) -> Any:
    """A point's vectors, as Qdrant takes them."""
    if item.sparse is None:
        return dense
    if not isinstance(item.sparse, SparseVector):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"{name_of(item.chunk)} has a {type(item.sparse).__name__} as its sparse vector: use SparseVector"
        )
    return {DENSE: dense, SPARSE: _sparse_of(item.sparse)} if len(item.sparse) else dense


def _sparse_of(vector: SparseVector) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=vector.indices.tolist(), values=vector.values.tolist())


def _dense_of(vectors: Any) -> Vector:
    """The dense one of a record's vectors: alone, or by its name beside others."""
    return np.array(vectors[DENSE] if isinstance(vectors, dict) else vectors, dtype=np.float32)

"""The vector store in this process's memory: live, safe from many threads, gone when the process ends."""

from __future__ import annotations

from collections.abc import Sequence

from ragstone.concurrency import AdaptiveOffload, offload
from ragstone.engine.dense import Quantization, VectorIndex
from ragstone.engine.sparse import SparseIndex
from ragstone.errors import InvalidInputError
from ragstone.models import (
    ChunkKey,
    EmbeddedChunk,
    ScoreScale,
    SearchOptions,
    SearchResult,
    TextChunk,
    Vector,
)
from ragstone.sparse_vector import SparseVector
from ragstone.stores._columns import columns, name_of, of_document
from ragstone.stores._shelf import Shelf
from ragstone.stores._vectors import stacked

__all__ = ["InMemoryVectorStore"]

_NO_TERMS = SparseVector.from_dict({})


class InMemoryVectorStore:
    """A vector store in memory: cosine top-k, exact unless quantised, and exact dot products of sparse vectors.

    Implements `VectorStore`, `DocumentReplaceable`, `EmbeddingReadable` and `SparseSearchable`. A filter is applied
    before the cut. A chunk that is stored again takes the place of the old one as a whole: without a sparse vector of
    its own it has none, whatever the old one had.

    Its methods may be awaited from several event loops; the work is done in worker threads, but for searches that are
    over at once. A write that is cancelled is done or not done, never half done.

    Args:
        dimensions: Length of the vectors; `None` lets the first ones decide.
        quantization: `"int8"`, `"binary"` or `"f16"` for faster searches or less memory, as `VectorIndex` says;
            `None` for exact search in float32.

    Raises:
        ConfigurationError: `dimensions` is below 1, or `quantization` is none of these.

    Example:
        >>> import asyncio, numpy as np
        >>> store = InMemoryVectorStore()
        >>> chunk = TextChunk("paid leave", "handbook", 0, metadata={"year": 2026})
        >>> asyncio.run(store.store([EmbeddedChunk(chunk, np.array([0.6, 0.8], dtype=np.float32))]))
        >>> options = SearchOptions(top_k=5, metadata_filter={"year": 2026})
        >>> [hit] = asyncio.run(store.search(np.array([0.0, 1.0], dtype=np.float32), options))
        >>> hit.chunk.text, round(hit.score, 4), str(hit.score_scale)
        ('paid leave', 0.8, 'similarity')
    """

    def __init__(self, dimensions: int | None = None, *, quantization: Quantization | None = None) -> None:
        self._index = VectorIndex(dimensions, quantization=quantization)
        self._sparse = SparseIndex()
        self._shelf = Shelf()
        self._run_search = AdaptiveOffload()
        self._run_sparse_search = AdaptiveOffload()

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors, or `None` while it is not known."""
        return self._index.dimensions

    def __len__(self) -> int:
        return len(self._index)

    def chunks(self, document_id: str) -> list[TextChunk]:
        """Return a document's chunks in order of `chunk_index`; none where it is not there."""
        return self._shelf.chunks(document_id)

    def documents(self) -> list[str]:
        """Return the ids of the stored documents, in the order in which they came."""
        return self._shelf.documents()

    async def initialize(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index): all of them or none.

        Raises:
            DimensionMismatchError: A vector is of another length; names the chunk.
            InvalidVectorError: A vector holds NaN or infinity; names the chunk.
            InvalidInputError: A sparse vector is no `SparseVector`; names the chunk.
        """
        await offload(self._store, tuple(chunks))

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Put these chunks in the place of all that the document has, in one step: all or nothing.

        Raises:
            InvalidInputError: A chunk is of another document, or as `store`; the document is then as it was.
        """
        await offload(self._replace_document, document_id, tuple(chunks))

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; one that is not there is no error."""
        await offload(self._delete, document_id)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        Raises:
            DimensionMismatchError: The query is of another length than the stored vectors.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
        """
        return await self._run_search(self._search, embedding, options)

    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks of the largest dot products that match the filter and reach `min_score`, best first.

        A chunk that shares no term with the query is no hit. Ties are ordered by key.

        Raises:
            InvalidInputError: `vector` is no `SparseVector`.
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
        """
        return await self._run_sparse_search(self._sparse_search, vector, options)

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key at unit length, `None` where the chunk is not there."""
        return await offload(self._index.vectors, tuple(keys))

    def _search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        return self._shelf.page(
            lambda: self._index.search(
                embedding,
                top_k=options.top_k,
                min_score=options.min_score,
                metadata_filter=options.metadata_filter,
            ),
            ScoreScale.SIMILARITY,
        )

    def _sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        return self._shelf.page(
            lambda: self._sparse.search(
                vector,
                top_k=options.top_k,
                min_score=options.min_score,
                metadata_filter=options.metadata_filter,
            ),
            ScoreScale.DOT,
        )

    def _store(self, embedded: tuple[EmbeddedChunk, ...]) -> None:
        if not embedded:
            return
        chunks = [item.chunk for item in embedded]
        ids, places, metadata = columns(chunks)
        vectors = stacked(embedded, self._index.dimensions)
        sparse = _sparse_vectors(embedded)
        with self._shelf.changing(set(ids)):
            self._index.upsert(ids, places, vectors, metadata)
            if sparse is not None or len(self._sparse):
                self._sparse.add_many(ids, places, sparse or [_NO_TERMS] * len(ids), metadata)
            self._shelf.put(chunks)

    def _replace_document(self, document_id: str, embedded: tuple[EmbeddedChunk, ...]) -> None:
        if not embedded:
            self._delete(document_id)
            return
        chunks = of_document(document_id, [item.chunk for item in embedded])
        _, places, metadata = columns(chunks)
        vectors = stacked(embedded, self._index.dimensions)
        sparse = _sparse_vectors(embedded)
        with self._shelf.changing((document_id,)):
            self._index.replace_document(document_id, places, vectors, metadata)
            if sparse is None:
                self._sparse.remove(document_id)
            else:
                self._sparse.replace_document(document_id, places, sparse, metadata)
            self._shelf.replace(document_id, chunks)

    def _delete(self, document_id: str) -> None:
        with self._shelf.changing((document_id,)):
            self._index.remove(document_id)
            self._sparse.remove(document_id)
            self._shelf.replace(document_id, ())


def _sparse_vectors(embedded: Sequence[EmbeddedChunk]) -> list[SparseVector] | None:
    """The sparse vectors, that of a chunk without one being empty; `None` where no chunk has one."""
    for item in embedded:
        if item.sparse is not None and not isinstance(item.sparse, SparseVector):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"{name_of(item.chunk)} has a {type(item.sparse).__name__} as its sparse vector: use SparseVector"
            )
    if all(item.sparse is None for item in embedded):
        return None
    return [_NO_TERMS if item.sparse is None else item.sparse for item in embedded]

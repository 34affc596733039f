"""Everything in this process's memory: the vector store and the keyword index that need no server.

Both are exact and live, safe from many threads, and gone when the process ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ragstone.concurrency import AdaptiveOffload, offload
from ragstone.engine.dense import Quantization, VectorIndex
from ragstone.engine.lexical import Bm25Index, Bm25Term
from ragstone.errors import DimensionMismatchError, InvalidInputError
from ragstone.metadata import MetadataValue
from ragstone.models import (
    ChunkKey,
    EmbeddedChunk,
    ScoreScale,
    SearchOptions,
    SearchResult,
    TextChunk,
    Vector,
    Vectors,
)
from ragstone.stores._shelf import Shelf

__all__ = ["InMemoryBm25Index", "InMemoryVectorStore"]


class InMemoryVectorStore:
    """A vector store in memory: cosine top-k, exact unless quantised, filtered before the cut.

    Implements `VectorStore`, `DocumentReplaceable` and `EmbeddingReadable`. Its methods may be awaited from several
    event loops; the work is done in worker threads, but for searches that are over at once. A write that is cancelled
    is done or not done, never half done.

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
        self._shelf = Shelf()
        self._run_search = AdaptiveOffload()

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

    def _store(self, embedded: tuple[EmbeddedChunk, ...]) -> None:
        if not embedded:
            return
        chunks = [item.chunk for item in embedded]
        ids, places, metadata = _columns(chunks)
        vectors = _stacked(embedded, self._index.dimensions)
        with self._shelf.changing(set(ids)):
            self._index.upsert(ids, places, vectors, metadata)
            self._shelf.put(chunks)

    def _replace_document(self, document_id: str, embedded: tuple[EmbeddedChunk, ...]) -> None:
        if not embedded:
            self._delete(document_id)
            return
        chunks = _of_document(document_id, [item.chunk for item in embedded])
        _, places, metadata = _columns(chunks)
        vectors = _stacked(embedded, self._index.dimensions)
        with self._shelf.changing((document_id,)):
            self._index.replace_document(document_id, places, vectors, metadata)
            self._shelf.replace(document_id, chunks)

    def _delete(self, document_id: str) -> None:
        with self._shelf.changing((document_id,)):
            self._index.remove(document_id)
            self._shelf.replace(document_id, ())


class InMemoryBm25Index:
    """A keyword index in memory: exact, live BM25 that returns whole chunks.

    Implements `KeywordIndex`. Every method may be called from many threads at once.

    Args:
        k1: How soon repetitions of a term stop counting; at least 0.
        b: How much long chunks are discounted; 0 not at all, 1 in full.

    Raises:
        ConfigurationError: `k1` or `b` is out of range.

    Example:
        >>> index = InMemoryBm25Index()
        >>> index.add([TextChunk("the quick brown fox", "a", 0), TextChunk("a lazy dog", "b", 0)])
        >>> [hit] = index.search("brown fox", 5)
        >>> hit.chunk.document_id, str(hit.score_scale)
        ('a', 'bm25')
    """

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        self._index = Bm25Index(k1=k1, b=b)
        self._shelf = Shelf()

    @property
    def k1(self) -> float:
        """How soon repetitions of a term stop counting."""
        return self._index.k1

    @property
    def b(self) -> float:
        """How much long chunks are discounted."""
        return self._index.b

    def __len__(self) -> int:
        return len(self._index)

    def chunks(self, document_id: str) -> list[TextChunk]:
        """Return a document's chunks in order of `chunk_index`; none where it is not there."""
        return self._shelf.chunks(document_id)

    def documents(self) -> list[str]:
        """Return the ids of the indexed documents, in the order in which they came."""
        return self._shelf.documents()

    def add(self, chunks: Sequence[TextChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index), in one step."""
        ids, places, metadata = _columns(chunks)
        with self._shelf.changing(set(ids)):
            self._index.add_many(ids, places, [chunk.text for chunk in chunks], metadata)
            self._shelf.put(chunks)

    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        """Put these chunks in the place of all that the document has, in one step.

        Raises:
            InvalidInputError: A chunk is of another document.
        """
        _, places, metadata = _columns(_of_document(document_id, chunks))
        with self._shelf.changing((document_id,)):
            self._index.replace_document(document_id, places, [chunk.text for chunk in chunks], metadata)
            self._shelf.replace(document_id, chunks)

    def remove(self, document_id: str) -> int:
        """Remove a document; return how many chunks it had."""
        with self._shelf.changing((document_id,)):
            removed = self._index.remove(document_id)
            self._shelf.replace(document_id, ())
            return removed

    def search(
        self, query: str, top_k: int, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[SearchResult]:
        """Return the best chunks that match the filter, best first, only those with a positive score; ties by key.

        Raises:
            ConfigurationError: `top_k` is negative.
            MetadataError: A filter value is `None` or of no known kind.
        """
        return self._shelf.page(
            lambda: self._index.search(query, top_k=top_k, metadata_filter=metadata_filter), ScoreScale.BM25
        )

    def explain(self, query: str, key: ChunkKey) -> list[Bm25Term]:
        """Return what each term of the query adds to the chunk's score; the contributions add up to it."""
        return self._index.explain(query, key.document_id, key.chunk_index)

    def clear(self) -> None:
        """Remove everything."""
        self._shelf.clear(self._index.clear)


def _columns(chunks: Sequence[TextChunk]) -> tuple[list[str], list[int], list[Mapping[str, MetadataValue]]]:
    """The document ids, chunk indices and metadata of chunks."""
    return (
        [chunk.document_id for chunk in chunks],
        [chunk.chunk_index for chunk in chunks],
        [chunk.metadata for chunk in chunks],
    )


def _of_document(document_id: str, chunks: Sequence[TextChunk]) -> Sequence[TextChunk]:
    """The chunks, all of which must be the document's."""
    for chunk in chunks:
        if chunk.document_id != document_id:
            raise InvalidInputError(
                f"chunk {chunk.chunk_index} of document {chunk.document_id!r} cannot replace one of {document_id!r}"
            )
    return chunks


def _stacked(embedded: Sequence[EmbeddedChunk], dimensions: int | None) -> Vectors:
    """The vectors as one matrix, shape (n, dimensions); without `dimensions` the first vector decides."""
    expected = dimensions
    for item in embedded:
        shape = np.shape(item.embedding)
        if len(shape) != 1:
            raise InvalidInputError(f"{_name(item.chunk)} has an embedding of shape {shape}, not (dimensions,)")
        if expected is None:
            expected = shape[0]
        if shape[0] != expected:
            raise DimensionMismatchError(
                f"{_name(item.chunk)} has {shape[0]} dimensions instead of {expected}",
                expected=expected,
                actual=shape[0],
            )
    return np.stack([item.embedding for item in embedded])


def _name(chunk: TextChunk) -> str:
    return f"chunk {chunk.chunk_index} of document {chunk.document_id!r}"

"""What holds chunks and finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from ragstone.metadata import MetadataValue
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk, Vector
from ragstone.sparse_vector import SparseVector

__all__ = [
    "CollectionManageable",
    "DocumentReplaceable",
    "EmbeddingReadable",
    "HybridSearchable",
    "KeywordIndex",
    "NativeOnly",
    "ParentChunkStore",
    "ScoreScaleAware",
    "SparseSearchable",
    "StoreDecorator",
    "VectorStore",
]


@runtime_checkable
class VectorStore(Protocol):
    """Holds embedded chunks and finds the nearest."""

    async def initialize(self) -> None:
        """Prepare the store; the first use does it once, only success is remembered."""
        ...

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index): all of them or none.

        Raises:
            InvalidInputError: A vector has another dimension or is not finite; nothing was stored.
            StoreError: The backend failed.
        """
        ...

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first."""
        ...

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; a document that is not there is no error."""
        ...


@runtime_checkable
class DocumentReplaceable(Protocol):
    """A store that replaces all chunks of a document in one step, so that no reader sees a mixture."""

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Remove the document's chunks and store these in their place: all or nothing."""
        ...


@runtime_checkable
class EmbeddingReadable(Protocol):
    """A store that can give back the vectors it holds; spares MMR and redundancy an embedding call."""

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key, `None` where the chunk is not there."""
        ...


@runtime_checkable
class HybridSearchable(Protocol):
    """A store that fuses keyword and vector search itself, in one call."""

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the fused page; `options.min_score` is 0.0 here, since fused scores bear no threshold."""
        ...


@runtime_checkable
class SparseSearchable(Protocol):
    """A store that keeps the sparse vectors of `EmbeddedChunk.sparse` and searches them.

    Whether a chunk that is stored again without a sparse vector keeps an earlier one is each store's own to say;
    `DocumentReplaceable` leaves nothing of the earlier version.
    """

    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks of the largest dot products that match the filter and reach `min_score`, best first.

        A chunk that shares no term with the query is no hit.
        """
        ...


@runtime_checkable
class NativeOnly(Protocol):
    """A store with a capability that works only through its own hybrid search, such as semantic ranking."""

    @property
    def native_only_capability(self) -> str | None:
        """The capability's name, or `None` when it is not enabled."""
        ...


@runtime_checkable
class StoreDecorator(Protocol):
    """A store that wraps another one, and says so: lets a retriever notice a capability that the wrapper hides."""

    @property
    def inner(self) -> VectorStore:
        """The store inside."""
        ...


@runtime_checkable
class ScoreScaleAware(Protocol):
    """A store whose `search` scores are not similarities."""

    @property
    def score_scale(self) -> ScoreScale:
        """The scale of `search`'s scores."""
        ...


@runtime_checkable
class CollectionManageable(Protocol):
    """A store whose collections can be managed."""

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Create a collection; one that exists with these dimensions is no error."""
        ...

    async def delete_collection(self, name: str) -> None:
        """Drop a collection; one that is not there is no error."""
        ...

    async def collection_exists(self, name: str) -> bool:
        """Whether the collection is there."""
        ...


@runtime_checkable
class KeywordIndex(Protocol):
    """A keyword index in process: live, safe from many threads."""

    def add(self, chunks: Sequence[TextChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index)."""
        ...

    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        """Remove the document's chunks and add these in one step: no reader sees a mixture."""
        ...

    def remove(self, document_id: str) -> int:
        """Remove a document; return how many chunks it had."""
        ...

    def search(
        self, query: str, top_k: int, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[SearchResult]:
        """Return the best chunks that match the filter, best first, only those with a positive score."""
        ...

    def clear(self) -> None:
        """Remove everything."""
        ...

    def __len__(self) -> int:
        """How many chunks are indexed."""
        ...


@runtime_checkable
class ParentChunkStore(Protocol):
    """Keeps the parents of each document's chunks; safe from many threads."""

    def replace_document(self, document_id: str, parents: Sequence[TextChunk]) -> None:
        """Put these parents, in order of their `start`, in place of the document's earlier ones."""
        ...

    def parents(self, document_id: str) -> Sequence[TextChunk]:
        """Return the document's parents in order of their `start`; empty where it has none."""
        ...

    def remove(self, document_id: str) -> None:
        """Forget a document; one that is not there is no error."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

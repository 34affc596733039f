"""Any store, with retries, deadlines and a circuit breaker around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, cast

from ragstone.circuit import Circuit
from ragstone.closing import Closing
from ragstone.errors import ConfigurationError
from ragstone.extras import require
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.ports import (
    CollectionManageable,
    DocumentReplaceable,
    EmbeddingReadable,
    HybridSearchable,
    NativeOnly,
    ScoreScaleAware,
    SparseSearchable,
    VectorStore,
)
from ragstone.sparse_vector import SparseVector
from ragstone.stores._attempts import LONGEST_PAUSE, Attempts
from ragstone.stores._capabilities import with_capabilities
from ragstone.stores._once import Once
from ragstone.validation import require_at_least, require_in_range

__all__ = ["ResilientVectorStore"]

_LONGEST_TIMEOUT: Final = 3600.0


class ResilientVectorStore(Closing):
    """Makes failed calls of the store inside it again, ends those that hang, and leaves a store that is down alone.

    It has the methods of every protocol that the store inside has, sparse and hybrid search among them, and is a
    `StoreDecorator`.

    Searching, reading, storing, replacing and deleting are made again: to do them twice is to do them once. Making and
    dropping collections is not, since somebody else may have acted in between. An error in the request or in the
    configuration is raised at once, and so is cancellation. A write that was ended by its deadline may still land.

    Args:
        inner: The store.
        retries: How often a failed call is made again.
        pause: Seconds before the first retry; doubled each time up to a minute, with jitter.
        timeout: Seconds for each attempt at a search or a read.
        write_timeout: Seconds for each attempt at a write.
        initialize_timeout: Seconds for each attempt to prepare the store, which may have to build an index.
        failures: After how many failed attempts in a row the store is left alone.
        rest: For how many seconds.
        retry_on: The exceptions beside `StoreError` that tell that the store is unwell.

    Raises:
        ConfigurationError: `inner` is no store, or an option is out of range.
        MissingDependencyError: The extra `http` is not installed.

    Example:
        >>> import asyncio, numpy as np
        >>> from ragstone.ports import SparseSearchable
        >>> from ragstone.stores import InMemoryVectorStore
        >>> store = ResilientVectorStore(InMemoryVectorStore(2), timeout=0.5)
        >>> isinstance(store, SparseSearchable)
        True
        >>> asyncio.run(store.search(np.array([0.0, 1.0], dtype=np.float32), SearchOptions(top_k=5)))
        []
    """

    def __init__(
        self,
        inner: VectorStore,
        *,
        retries: int = 2,
        pause: float = 0.1,
        timeout: float = 10.0,
        write_timeout: float = 60.0,
        initialize_timeout: float = 600.0,
        failures: int = 5,
        rest: float = 30.0,
        retry_on: tuple[type[Exception], ...] = (OSError,),
    ) -> None:
        if not isinstance(inner, VectorStore):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"inner must be a vector store, not a {type(inner).__name__}")
        require("tenacity", extra="http", purpose="Making calls of a store again")
        self._inner = inner
        self._attempts = Attempts(
            backend=type(inner).__name__,
            retries=require_at_least("retries", retries, 0),
            pause=require_in_range("pause", pause, 0.0, LONGEST_PAUSE),
            retry_on=_checked_exceptions(retry_on),
            circuit=Circuit(failures=failures, rest=rest),
        )
        self._timeout = _seconds("timeout", timeout)
        self._write_timeout = _seconds("write_timeout", write_timeout)
        self._initialize_timeout = _seconds("initialize_timeout", initialize_timeout)
        self._prepared = Once(self._prepare)
        able = tuple(wrapper for protocol, wrapper in _CAPABILITIES if isinstance(inner, protocol))
        self.__class__ = cast("type[Self]", with_capabilities(type(self), able))

    @property
    def inner(self) -> VectorStore:
        """The store inside."""
        return self._inner

    async def initialize(self) -> None:
        """Prepare the store inside.

        Raises:
            StoreError: It failed each time, was not done in time, or is left alone.
        """
        self._prepared.reset()
        await self._prepared()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index).

        Raises:
            InvalidInputError: As the store inside raises it.
            StoreError: As in `initialize`.
        """
        await self._prepared()
        await self._attempts.repeated("storing", self._write_timeout, lambda: self._inner.store(chunks))

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first.

        Raises:
            InvalidInputError: As the store inside raises it.
            StoreError: As in `initialize`.
        """
        await self._prepared()
        return await self._attempts.repeated("searching", self._timeout, lambda: self._inner.search(embedding, options))

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; a document that is not there is no error.

        Raises:
            StoreError: As in `initialize`.
        """
        await self._attempts.repeated(
            "deleting", self._write_timeout, lambda: self._inner.delete_by_document_id(document_id)
        )

    async def aclose(self) -> None:
        """Close the store inside, where it can be closed."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()

    async def _prepare(self) -> None:
        await self._attempts.repeated("preparing", self._initialize_timeout, self._inner.initialize)


class _Replacing(ResilientVectorStore):
    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Put these chunks in the place of all that the document has: all or nothing."""
        inner = cast("DocumentReplaceable", self._inner)
        await self._prepared()
        await self._attempts.repeated(
            "replacing", self._write_timeout, lambda: inner.replace_document(document_id, chunks)
        )


class _Reading(ResilientVectorStore):
    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key, `None` where the chunk is not there."""
        inner = cast("EmbeddingReadable", self._inner)
        await self._prepared()
        return await self._attempts.repeated("reading", self._timeout, lambda: inner.embeddings(keys))


class _SparseSearching(ResilientVectorStore):
    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks of the largest dot products, best first."""
        inner = cast("SparseSearchable", self._inner)
        await self._prepared()
        return await self._attempts.repeated("searching", self._timeout, lambda: inner.sparse_search(vector, options))


class _HybridSearching(ResilientVectorStore):
    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the page that the store inside fused."""
        inner = cast("HybridSearchable", self._inner)
        await self._prepared()
        return await self._attempts.repeated(
            "searching", self._timeout, lambda: inner.hybrid_search(text, embedding, options)
        )


class _Scaled(ResilientVectorStore):
    @property
    def score_scale(self) -> ScoreScale:
        """The scale of `search`'s scores."""
        return cast("ScoreScaleAware", self._inner).score_scale


class _Native(ResilientVectorStore):
    @property
    def native_only_capability(self) -> str | None:
        """What works only through hybrid search, `None` where nothing does."""
        return cast("NativeOnly", self._inner).native_only_capability


class _Managing(ResilientVectorStore):
    async def create_collection(self, name: str, dimensions: int) -> None:
        """Create a collection; one that exists with these dimensions is no error."""
        inner = cast("CollectionManageable", self._inner)
        await self._attempts.once(
            "creating a collection", self._initialize_timeout, lambda: inner.create_collection(name, dimensions)
        )

    async def delete_collection(self, name: str) -> None:
        """Drop a collection; one that is not there is no error."""
        inner = cast("CollectionManageable", self._inner)
        self._prepared.reset()
        await self._attempts.once("dropping a collection", self._write_timeout, lambda: inner.delete_collection(name))

    async def collection_exists(self, name: str) -> bool:
        """Whether the collection is there."""
        inner = cast("CollectionManageable", self._inner)
        return await self._attempts.repeated(
            "looking for a collection", self._timeout, lambda: inner.collection_exists(name)
        )


_CAPABILITIES: Final[tuple[tuple[type, type[ResilientVectorStore]], ...]] = (
    (DocumentReplaceable, _Replacing),
    (EmbeddingReadable, _Reading),
    (SparseSearchable, _SparseSearching),
    (HybridSearchable, _HybridSearching),
    (ScoreScaleAware, _Scaled),
    (NativeOnly, _Native),
    (CollectionManageable, _Managing),
)


def _seconds(field: str, value: float) -> float:
    return require_in_range(field, value, 0.001, _LONGEST_TIMEOUT)


def _checked_exceptions(kinds: object) -> tuple[type[Exception], ...]:
    if isinstance(kinds, tuple):
        members = cast("tuple[object, ...]", kinds)
        if all(isinstance(kind, type) and issubclass(kind, Exception) for kind in members):
            return cast("tuple[type[Exception], ...]", members)
    raise ConfigurationError(f"retry_on must be a tuple of exception classes, not {kinds!r}")

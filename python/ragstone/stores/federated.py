"""Several stores searched as one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Self, TypeAlias, cast

from ragstone.closing import Closing
from ragstone.concurrency import together
from ragstone.engine.rank import rrf
from ragstone.errors import ConfigurationError, InvalidInputError, StoreError
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.ports import (
    CollectionManageable,
    DocumentReplaceable,
    EmbeddingReadable,
    HybridSearchable,
    NativeOnly,
    SparseSearchable,
    VectorStore,
)
from ragstone.sparse_vector import SparseVector
from ragstone.stores._capabilities import with_capabilities
from ragstone.validation import require_at_least

__all__ = ["FederatedVectorStore"]

_LOG: Final = logging.getLogger(__name__)
_SOURCE: Final = "source.store"
_Search: TypeAlias = Callable[[VectorStore], Awaitable[list[SearchResult]]]


class FederatedVectorStore(Closing):
    """Searches several stores at the same time and fuses their pages by reciprocal ranks.

    Each store is asked for `top_k` chunks and applies `min_score` to its own scores; the fused scores are sums of
    reciprocal ranks, and `score_scale` says so. Equal ones are ordered by the first store that found the chunk, then by
    its rank there. The metadata of a result name that store under `source.store`; what the store holds stays as it is.

    Writes go to the primary store alone. A store that fails is left out of a search, with a warning; a request that is
    wrong, for one of them at least, is an error at once.

    It searches sparse vectors, or fuses the hybrid searches of the stores, where every store can; it gives back vectors
    where one of them can; it replaces documents and manages collections where the primary store can.

    Args:
        stores: At least two, by name, or in a sequence, where their names are "0", "1" and so on.
        primary: The name of the store that is written to; the first one when left out.
        k: The constant of the fusion, at least 1.

    Raises:
        ConfigurationError: There are fewer than two stores, one is none, a name is empty, `primary` names none, `k` is
            below 1, or a store has something enabled that works only through its hybrid search and another store has no
            such search.

    Example:
        >>> import asyncio, numpy as np
        >>> from ragstone.models import TextChunk
        >>> from ragstone.stores import InMemoryVectorStore
        >>> async def main() -> list[tuple[str, float, object]]:
        ...     east = np.array([1, 0], dtype=np.float32)
        ...     private, shared = InMemoryVectorStore(), InMemoryVectorStore()
        ...     await private.store([EmbeddedChunk(TextChunk("mine", "a", 0), east)])
        ...     await shared.store([EmbeddedChunk(TextChunk("ours", "b", 0), east)])
        ...     store = FederatedVectorStore({"private": private, "shared": shared})
        ...     hits = await store.search(east, SearchOptions(top_k=5))
        ...     return [(hit.chunk.text, round(hit.score, 4), hit.chunk.metadata["source.store"]) for hit in hits]
        >>> asyncio.run(main())
        [('mine', 0.0164, 'private'), ('ours', 0.0164, 'shared')]
    """

    def __init__(
        self,
        stores: Mapping[str, VectorStore] | Sequence[VectorStore],
        *,
        primary: str | None = None,
        k: int = 60,
    ) -> None:
        self._stores = _named(stores)
        self._primary = self._stores[_primary(self._stores, primary)]
        self._k = require_at_least("k", k, 1)
        _check_native(self._stores)
        able = _capabilities(list(self._stores.values()), self._primary)
        self.__class__ = cast("type[Self]", with_capabilities(type(self), able))

    @property
    def stores(self) -> Mapping[str, VectorStore]:
        """The stores by name, in order."""
        return dict(self._stores)

    @property
    def primary(self) -> VectorStore:
        """The store that is written to."""
        return self._primary

    @property
    def score_scale(self) -> ScoreScale:
        """Sums of reciprocal ranks, which bear no threshold."""
        return ScoreScale.RRF

    async def initialize(self) -> None:
        """Prepare every store; one that fails is left to its first use, with a warning.

        Raises:
            StoreError: Every store failed; names them.
        """
        await self._asked(lambda store: store.initialize())

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks in the primary store; errors are that store's."""
        await self._primary.store(chunks)

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove a document's chunks from the primary store, and from no other; errors are that store's."""
        await self._primary.delete_by_document_id(document_id)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the fused page of the stores' nearest chunks.

        Raises:
            InvalidInputError: The request is wrong for a store, such as a vector of another length.
            StoreError: Every store failed; names them.
        """
        return await self._fused(options, lambda store: store.search(embedding, options))

    async def aclose(self) -> None:
        """Close every store that can be closed, whatever happens to the others."""
        closes = [
            store.aclose() for store in cast("Sequence[Any]", tuple(self._stores.values())) if hasattr(store, "aclose")
        ]
        for outcome in await asyncio.gather(*closes, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _fused(self, options: SearchOptions, search: _Search) -> list[SearchResult]:
        """Ask each store for its page, fuse them and cut."""
        pages = await self._asked(search)
        first: dict[ChunkKey, tuple[str, SearchResult]] = {}
        for name, page in pages.items():
            for hit in page:
                first.setdefault(hit.chunk.key, (name, hit))
        ranking = rrf([[hit.chunk.key for hit in page] for page in pages.values()], k=self._k)
        return [_from_store(*first[item.id], item.score) for item in ranking][: options.top_k]

    async def _asked(self, question: Callable[[VectorStore], Awaitable[Any]]) -> dict[str, Any]:
        """What each store answers, by name in their order; those that fail are left out."""

        async def ask(store: VectorStore) -> Any:
            try:
                return await question(store)
            except (InvalidInputError, ConfigurationError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever one store raises, the others answer
                return _Failure(error)

        answers = dict(zip(self._stores, await together(map(ask, self._stores.values())), strict=True))
        failures = {name: answer.error for name, answer in answers.items() if isinstance(answer, _Failure)}
        if len(failures) == len(answers):
            reasons = "; ".join(f"{name}: {_reason(error)}" for name, error in failures.items())
            raise StoreError(f"every store failed: {reasons}") from ExceptionGroup("stores", [*failures.values()])
        for name, error in failures.items():
            _LOG.warning("federated_store_failed store=%s reason=%s", name, _reason(error))
        return {name: answer for name, answer in answers.items() if name not in failures}


class _Replacing(FederatedVectorStore):
    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Put these chunks in the place of all that the document has in the primary store; errors are that store's."""
        await cast("DocumentReplaceable", self._primary).replace_document(document_id, chunks)


class _Managing(FederatedVectorStore):
    async def create_collection(self, name: str, dimensions: int) -> None:
        """Create a collection of the primary store."""
        await cast("CollectionManageable", self._primary).create_collection(name, dimensions)

    async def delete_collection(self, name: str) -> None:
        """Drop a collection of the primary store."""
        await cast("CollectionManageable", self._primary).delete_collection(name)

    async def collection_exists(self, name: str) -> bool:
        """Whether the primary store has the collection."""
        return await cast("CollectionManageable", self._primary).collection_exists(name)


class _Reading(FederatedVectorStore):
    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key from the first store that has it, `None` where none has."""

        async def read(store: object) -> list[Vector | None]:
            return await store.embeddings(keys) if isinstance(store, EmbeddingReadable) else [None] * len(keys)

        held = await self._asked(read)
        return [next((v for v in vectors if v is not None), None) for vectors in zip(*held.values(), strict=True)]


class _SparseSearching(FederatedVectorStore):
    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the fused page of the stores' sparse searches; errors as in `search`."""
        return await self._fused(options, lambda store: cast("SparseSearchable", store).sparse_search(vector, options))


class _HybridSearching(FederatedVectorStore):
    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the fused page of the stores' own hybrid searches; errors as in `search`."""
        return await self._fused(
            options, lambda store: cast("HybridSearchable", store).hybrid_search(text, embedding, options)
        )

    @property
    def native_only_capability(self) -> str | None:
        """What works in one of the stores only through its hybrid search, `None` where nothing does."""
        return next(filter(None, map(_native_only, self._stores.values())), None)


class _Failure:
    """A store's failure in place of its answer."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def _capabilities(stores: Sequence[VectorStore], primary: VectorStore) -> tuple[type[FederatedVectorStore], ...]:
    """What a federation can do beyond dense search."""
    able: list[tuple[bool, type[FederatedVectorStore]]] = [
        (isinstance(primary, DocumentReplaceable), _Replacing),
        (isinstance(primary, CollectionManageable), _Managing),
        (any(isinstance(store, EmbeddingReadable) for store in stores), _Reading),
        (all(isinstance(store, SparseSearchable) for store in stores), _SparseSearching),
        (all(isinstance(store, HybridSearchable) for store in stores), _HybridSearching),
    ]
    return tuple(capability for is_able, capability in able if is_able)


def _named(stores: Mapping[str, VectorStore] | Sequence[VectorStore]) -> dict[str, VectorStore]:
    named = dict(stores) if isinstance(stores, Mapping) else {str(n): store for n, store in enumerate(stores)}
    if len(named) < 2:  # noqa: PLR2004 - one alone is no federation
        raise ConfigurationError(f"stores must be at least 2, not {len(named)}: use a single store as it is")
    if not all(isinstance(cast("object", name), str) and name for name in named):
        raise ConfigurationError(f"stores must have names that are non-empty strings, not {list(named)!r}")
    for name, store in named.items():
        if not isinstance(store, VectorStore):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"store {name!r} must be a vector store, not a {type(store).__name__}")
    return named


def _primary(named: Mapping[str, VectorStore], primary: str | None) -> str:
    name = next(iter(named)) if primary is None else primary
    if name not in named:
        raise ConfigurationError(f"primary must be one of {', '.join(map(repr, named))}, not {name!r}")
    return name


def _native_only(store: object) -> str | None:
    return store.native_only_capability if isinstance(store, NativeOnly) else None


def _check_native(named: Mapping[str, VectorStore]) -> None:
    """A capability of hybrid search alone would be passed by in silence where there is no such search."""
    without = [name for name, store in named.items() if not isinstance(store, HybridSearchable)]
    for name, store in named.items():
        capability = _native_only(store)
        if capability is not None and without:
            raise ConfigurationError(
                f"store {name!r} has {capability} enabled, which works only through its own hybrid search, and "
                f"{without[0]!r} has none, so the federation has none: turn it off, or leave one of them out"
            )


def _from_store(name: str, hit: SearchResult, score: float) -> SearchResult:
    chunk = replace(hit.chunk, metadata={**hit.chunk.metadata, _SOURCE: name})
    return replace(hit, chunk=chunk, score=score, score_scale=ScoreScale.RRF)


def _reason(error: Exception) -> str:
    """What went wrong; a foreign error may quote what is private, so only its kind is told."""
    return str(error) if isinstance(error, StoreError) else type(error).__name__

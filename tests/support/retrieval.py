"""Stores and indexes that answer from a script, to see what the retrieval chain makes of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np

from ragstone.metadata import MetadataValue
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk, Vector
from ragstone.ports import VectorStore


def hit(
    name: str,
    score: float,
    scale: ScoreScale = ScoreScale.SIMILARITY,
    *,
    text: str | None = None,
    **metadata: MetadataValue,
) -> SearchResult:
    """A hit whose name is `document#index`, `document` alone meaning index 0."""
    document_id, _, index = name.partition("#")
    return SearchResult(
        TextChunk(text or f"text of {name}", document_id, int(index or 0), metadata=metadata), score, scale
    )


class ScriptedStore:
    """Answers every search from the same list, thresholds and cuts as asked, and remembers what it was asked."""

    def __init__(self, hits: Sequence[SearchResult] = (), *, fail: Exception | None = None, hang: bool = False) -> None:
        self.hits = list(hits)
        self.fail = fail
        self.hang = hang
        self.searches: list[SearchOptions] = []
        self.cancelled = 0

    async def initialize(self) -> None: ...

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        raise NotImplementedError

    async def delete_by_document_id(self, document_id: str) -> None:
        raise NotImplementedError

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        self.searches.append(options)
        if self.hang:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.fail is not None:
            raise self.fail
        eligible = [h for h in self.hits if options.min_score == 0.0 or h.score >= options.min_score]
        return eligible[: options.top_k]


class ScriptedHybridStore(ScriptedStore):
    """A store with a hybrid search of its own."""

    def __init__(self, hits: Sequence[SearchResult] = (), *, native_only: str | None = None) -> None:
        super().__init__(hits)
        self.hybrid_searches: list[tuple[str, SearchOptions]] = []
        self._native_only = native_only

    @property
    def native_only_capability(self) -> str | None:
        return self._native_only

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        self.hybrid_searches.append((text, options))
        return [SearchResult(h.chunk, h.score, ScoreScale.BACKEND) for h in self.hits][: options.top_k]


class PlainDecorator:
    """A wrapper that forwards only what every store has, and so hides the rest."""

    def __init__(self, inner: VectorStore) -> None:
        self.inner = inner

    async def initialize(self) -> None:
        await self.inner.initialize()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        await self.inner.store(chunks)

    async def delete_by_document_id(self, document_id: str) -> None:
        await self.inner.delete_by_document_id(document_id)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        return await self.inner.search(embedding, options)


class ScriptedKeywordIndex:
    """A keyword index that answers every search from the same list."""

    def __init__(self, hits: Sequence[SearchResult] = (), *, fail: Exception | None = None) -> None:
        self.hits = list(hits)
        self.fail = fail
        self.searches: list[tuple[str, int]] = []

    def add(self, chunks: Sequence[TextChunk]) -> None:
        raise NotImplementedError

    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        raise NotImplementedError

    def remove(self, document_id: str) -> int:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.hits)

    def search(
        self, query: str, top_k: int, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[SearchResult]:
        self.searches.append((query, top_k))
        if self.fail is not None:
            raise self.fail
        return self.hits[:top_k]


class TableEmbedder:
    """Embeds by looking texts up; counts its calls."""

    def __init__(self, table: Mapping[str, Sequence[float]], default: Sequence[float] = (1.0, 0.0)) -> None:
        self.table = {text: np.asarray(vector, dtype=np.float32) for text, vector in table.items()}
        self.default = np.asarray(default, dtype=np.float32)
        self.calls: list[tuple[str, ...]] = []

    identity = "table"

    @property
    def dimensions(self) -> int:
        return len(self.default)

    async def embed(self, texts: Sequence[str], *, input_type: str = "document") -> np.ndarray:
        self.calls.append(tuple(texts))
        return np.stack([self.table.get(text, self.default) for text in texts]).astype(np.float32)

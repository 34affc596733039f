"""A retriever over a scripted store with the parts that a test gives it; scripted guards and compressors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragstone.models import SearchResult
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, TableEmbedder


def searching(hits: Sequence[SearchResult], **parts: Any) -> Retriever:
    """A retriever whose dense arm finds these hits."""
    given = {"store": ScriptedStore(hits), "keyword_index": ScriptedKeywordIndex([]), "embedder": TableEmbedder({})}
    return Retriever(RetrievalParts(**{**given, **parts}))


def names(page: Sequence[SearchResult]) -> list[str]:
    return [result.chunk.document_id for result in page]


class ScriptedGuard:
    """Drops what `judge` has a reason for; remembers the results it saw."""

    cache_key = None

    def __init__(
        self,
        judge: Callable[[SearchResult], Any] = lambda result: None,
        *,
        name: str = "scripted",
        fail: Exception | None = None,
    ) -> None:
        self.judge = judge
        self.identity = name
        self.fail = fail
        self.seen: list[list[str]] = []

    async def check(self, query: str, results: Sequence[SearchResult]) -> Sequence[Any]:
        self.seen.append(names(results))
        if self.fail is not None:
            raise self.fail
        return [self.judge(result) for result in results]


class ScriptedCompressor:
    """Compresses each text by a function; remembers what it was asked."""

    identity = "scripted"

    def __init__(
        self,
        compress: Callable[[Sequence[str]], Sequence[str | None]] = lambda texts: [
            text.split(".")[0] for text in texts
        ],
        *,
        fail: Exception | None = None,
    ) -> None:
        self.script = compress
        self.fail = fail
        self.requests: list[tuple[str, tuple[str, ...]]] = []

    async def compress(self, query: str, texts: Sequence[str]) -> Sequence[str | None]:
        self.requests.append((query, tuple(texts)))
        if self.fail is not None:
            raise self.fail
        return self.script(texts)

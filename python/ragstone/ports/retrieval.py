"""What takes part in a retrieval beside the search itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ragstone.models import SearchResult, WebResult

__all__ = ["Compressor", "Reranker", "RetrievalGuard", "VocabularyAware", "WebSearch"]


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each text answers a query, such as a cross-encoder."""

    @property
    def identity(self) -> str:
        """Names the model and everything that changes its scores; part of cache keys and of the record."""
        ...

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return one finite score a text, in the order of `texts`; higher is better, on a scale of its own.

        `None` stands for a text that the model left without a score: it comes after those that have one.

        Raises:
            RerankError: The model failed or its answer does not fit the question.
        """
        ...


@runtime_checkable
class VocabularyAware(Protocol):
    """A model that can tell how much of a text its vocabulary does not know: a silent cause of worthless scores."""

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of the texts' tokens that are unknown to the model, in [0, 1]. Called in a worker thread."""
        ...


@runtime_checkable
class WebSearch(Protocol):
    """Searches the web."""

    @property
    def identity(self) -> str:
        """Names the service and its settings; part of cache keys and of the record."""
        ...

    async def search(self, query: str, *, max_results: int) -> list[WebResult]:
        """Return at most `max_results` pages, best first.

        Raises:
            WebSearchError: The service failed.
        """
        ...


@runtime_checkable
class RetrievalGuard(Protocol):
    """Sees the candidates before they are reranked, and may drop any. A guard that fails ends the call."""

    @property
    def identity(self) -> str:
        """Names the guard in the record."""
        ...

    @property
    def cache_key(self) -> str | None:
        """Everything that its verdicts depend on beside the candidates; `None` keeps results out of the cache.

        It is asked once a call, so that it may depend on who is asking.
        """
        ...

    async def check(self, query: str, results: Sequence[SearchResult]) -> Sequence[str | None]:
        """Return for each result the reason to drop it, or `None` to let it pass.

        The reason is shown; it should not quote what the guard holds back.
        """
        ...


@runtime_checkable
class Compressor(Protocol):
    """Reduces a text to what bears on a query."""

    @property
    def identity(self) -> str:
        """Names the strategy and its settings; part of cache keys and of the record."""
        ...

    async def compress(self, query: str, texts: Sequence[str]) -> Sequence[str | None]:
        """Return one compressed text a text, in order.

        `None` stands for one that could not be compressed and stays whole, an empty text for one in which nothing bears
        on the query.

        Raises:
            CompressionError: The model failed or its answer does not fit the question.
        """
        ...

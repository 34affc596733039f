"""Rerankers for tests: they score as the test tells them to, instantly."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ragstone.errors import RerankError
from ragstone.testing._faults import Gate, PlannedFailure

__all__ = ["FailingReranker", "HangingReranker", "RerankRequest", "Scores", "ScriptedReranker"]

Scores: TypeAlias = Sequence[float] | Callable[[str, Sequence[str]], Sequence[float]]
"""The scores of every call, or a function that is given the query and the texts."""

_WORD = re.compile(r"\w+")


class RerankRequest(NamedTuple):
    """One call of `rerank`: what was asked for."""

    query: str
    texts: tuple[str, ...]


class ScriptedReranker:
    """A reranker that scores by a script; without one, by how many of the query's words a text holds.

    Attributes:
        requests: Every call so far, in order.

    Args:
        scores: The scores of every call, of which as many are taken as there are texts; or a function that is given the
            query and the texts, whose answer goes out as it is, wrong ones too.

    Example:
        >>> import asyncio
        >>> asyncio.run(ScriptedReranker([0.2, 0.9]).rerank("q", ["a", "b"]))
        [0.2, 0.9]
    """

    def __init__(self, scores: Scores | None = None) -> None:
        self._scores = scores
        self.requests: list[RerankRequest] = []

    @property
    def identity(self) -> str:
        """Names the fake."""
        return f"ragstone.testing.{type(self).__name__}"

    @property
    def calls(self) -> int:
        """How many times `rerank` was called."""
        return len(self.requests)

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Record the call and return the script's scores."""
        self.requests.append(RerankRequest(query, tuple(texts)))
        if callable(self._scores):
            return self._scores(query, texts)
        if self._scores is not None:
            return list(self._scores[: len(texts)])
        words = set(_WORD.findall(query.lower()))
        return [float(len(words.intersection(_WORD.findall(text.lower())))) for text in texts]


class FailingReranker(ScriptedReranker):
    """A `ScriptedReranker` that fails.

    Args:
        error: What `rerank` raises; a `RerankError` by default.
        after: How many calls succeed first.
        scores: As in `ScriptedReranker`, for the calls that succeed.
    """

    def __init__(self, error: Exception | None = None, *, after: int = 0, scores: Scores | None = None) -> None:
        super().__init__(scores)
        self._failure = PlannedFailure(error or RerankError("the reranker failed, as the test told it to"), after)

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Record the call; raise the error once `after` calls have succeeded.

        Raises:
            Exception: The `error` handed to the constructor.
        """
        scores = await super().rerank(query, texts)
        self._failure.strike(self.calls)
        return scores


class HangingReranker(ScriptedReranker, Gate):
    """A `ScriptedReranker` that does not answer until `release` is set, to test cancellation and time limits.

    Attributes:
        started: Set when a call has come.
        release: Set it to let every call answer.
        cancelled: How many calls were cancelled while they waited.
    """

    def __init__(self, scores: Scores | None = None) -> None:
        super().__init__(scores)
        Gate.__init__(self)

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Record the call, wait for `release`, then answer.

        Raises:
            asyncio.CancelledError: The caller was cancelled; counted in `cancelled`.
        """
        scores = await super().rerank(query, texts)
        await self._held()
        return scores

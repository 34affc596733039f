"""What a call will cost, told before it runs: the same onion as the search, with costs in place of candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

__all__ = ["Cost", "Costed", "InnerCost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How many calls of models and services something makes at most.

    Attributes:
        llm_calls: Requests to the chat model.
        embedding_calls: Requests to the embedder, each a batch of any size.
        rerank_calls: Requests to the reranker, each a batch.
        web_searches: Requests to the web search.
    """

    llm_calls: int = 0
    embedding_calls: int = 0
    rerank_calls: int = 0
    web_searches: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Both, one after the other."""
        return Cost(
            llm_calls=self.llm_calls + other.llm_calls,
            embedding_calls=self.embedding_calls + other.embedding_calls,
            rerank_calls=self.rerank_calls + other.rerank_calls,
            web_searches=self.web_searches + other.web_searches,
        )

    def times(self, count: int) -> Cost:
        """The same, `count` times over."""
        return Cost(
            llm_calls=self.llm_calls * count,
            embedding_calls=self.embedding_calls * count,
            rerank_calls=self.rerank_calls * count,
            web_searches=self.web_searches * count,
        )


InnerCost: TypeAlias = Callable[[int], Cost]
"""What the rest of the chain costs when it is asked for that many candidates."""


@runtime_checkable
class Costed(Protocol):
    """A stage that calls models or services, or the rest of the chain otherwise than once at its own depth."""

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return what it costs at most to be asked for `depth` candidates, the rest of the chain included."""
        ...

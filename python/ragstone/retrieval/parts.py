"""The parts that a retriever works with."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.options import DeepResearchOptions, HydeOptions, MultiQueryOptions
from ragstone.ports import ChatClient, Embedder, KeywordIndex, TokenCounter, VectorStore

__all__ = ["RetrievalParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalParts:
    """Everything that retrieval may need; a technique whose part or options are `None` does not take part.

    Attributes:
        store: Where dense search happens; `None` together with no embedder makes retrieval keyword-only.
        keyword_index: The BM25 arm.
        embedder: Embeds queries, and chunks whose vectors nobody else can give.
        token_counter: Counts for the token budget; `None` counts cl100k_base.
        chat: The chat model of the techniques that ask one.
        hyde: Hypothetical answers to search with; needs `chat` and `embedder`.
        multi_query: Variants of the query to search for; needs `chat`.
        deep_research: Sub-queries until the page suffices; needs `chat`.
    """

    store: VectorStore | None = None
    keyword_index: KeywordIndex | None = None
    embedder: Embedder | None = None
    token_counter: TokenCounter | None = None
    chat: ChatClient | None = None
    hyde: HydeOptions | None = None
    multi_query: MultiQueryOptions | None = None
    deep_research: DeepResearchOptions | None = None

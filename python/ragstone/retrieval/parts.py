"""The parts that a retriever works with."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.ports import (
    ChatClient,
    Embedder,
    KeywordIndex,
    ParentChunkStore,
    SparseEmbedder,
    TokenCounter,
    VectorStore,
)

__all__ = ["RetrievalParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalParts:
    """Everything that retrieval may need; a technique whose part or options are `None` does not take part.

    Attributes:
        store: Where dense search happens; `None` together with no embedder makes retrieval keyword-only.
        keyword_index: The BM25 arm.
        embedder: Embeds queries, and chunks whose vectors nobody else can give.
        sparse_encoder: Encodes queries for the sparse arm, which runs where the store searches sparse vectors.
        parents: The larger chunks that come back in place of what was found.
        token_counter: Counts for the token budget; `None` counts cl100k_base.
        chat: The chat model of the techniques that ask one.
    """

    store: VectorStore | None = None
    keyword_index: KeywordIndex | None = None
    embedder: Embedder | None = None
    sparse_encoder: SparseEmbedder | None = None
    parents: ParentChunkStore | None = None
    token_counter: TokenCounter | None = None
    chat: ChatClient | None = None

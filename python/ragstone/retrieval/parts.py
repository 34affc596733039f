"""The parts that a retriever works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.options import CompressionOptions
from ragstone.ports import (
    ChatClient,
    Compressor,
    Embedder,
    KeywordIndex,
    Reranker,
    RetrievalGuard,
    TokenCounter,
    VectorStore,
    WebSearch,
)

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
        reranker: Orders the candidates anew.
        guards: See the candidates first and may drop any, one after the other.
        web_search: What corrective retrieval searches.
        compression: How Ragstone's own compressors reduce the page's chunks.
        compressor: The caller's own compressor, in place of those.
    """

    store: VectorStore | None = None
    keyword_index: KeywordIndex | None = None
    embedder: Embedder | None = None
    token_counter: TokenCounter | None = None
    chat: ChatClient | None = None
    reranker: Reranker | None = None
    guards: Sequence[RetrievalGuard] = ()
    web_search: WebSearch | None = None
    compression: CompressionOptions | None = None
    compressor: Compressor | None = None

"""The parts that a retriever works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragstone.clock import SystemClock
from ragstone.options import (
    CompressionOptions,
    DeepResearchOptions,
    HydeOptions,
    MultiQueryOptions,
    TagRetrievalOptions,
    TimeWeightedOptions,
)
from ragstone.ports import (
    ChatClient,
    Clock,
    Compressor,
    Embedder,
    KeywordIndex,
    ParentChunkStore,
    Reranker,
    RetrievalGuard,
    SparseEmbedder,
    TokenCounter,
    VectorStore,
    WebSearch,
)
from ragstone.retrieval.stages.result_cache import PageMemory
from ragstone.tags import TagIndex

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
        hyde: Hypothetical answers to search with; needs `chat` and `embedder`.
        multi_query: Variants of the query to search for; needs `chat`.
        deep_research: Sub-queries until the page suffices; needs `chat`.
        reranker: Orders the candidates anew.
        guards: See the candidates first and may drop any, one after the other.
        web_search: What corrective retrieval searches.
        compression: How Ragstone's own compressors reduce the page's chunks.
        compressor: The caller's own compressor, in place of those.
        caching_embedder: Stands for `embedder` where a call lets its cache take part.
        pages: Remembers whole pages.
        tag_retrieval: How many tags are added to the filter, and how near to the query they must be.
        tags: The tags of all documents.
        time_weighting: How scores decay with age.
        clock: Tells the time.
    """

    store: VectorStore | None = None
    keyword_index: KeywordIndex | None = None
    embedder: Embedder | None = None
    sparse_encoder: SparseEmbedder | None = None
    parents: ParentChunkStore | None = None
    token_counter: TokenCounter | None = None
    chat: ChatClient | None = None
    hyde: HydeOptions | None = None
    multi_query: MultiQueryOptions | None = None
    deep_research: DeepResearchOptions | None = None
    reranker: Reranker | None = None
    guards: Sequence[RetrievalGuard] = ()
    web_search: WebSearch | None = None
    compression: CompressionOptions | None = None
    compressor: Compressor | None = None
    caching_embedder: Embedder | None = None
    pages: PageMemory | None = None
    tag_retrieval: TagRetrievalOptions | None = None
    tags: TagIndex | None = None
    time_weighting: TimeWeightedOptions | None = None
    clock: Clock = field(default_factory=SystemClock)

"""Ragstone: the retrieval layer of RAG services.

Documents in, the right chunks out: `RagPipeline`. The engine alone, for those who need a part: `Bm25Index`,
`VectorIndex`, `rrf`, `mmr`, `count_tokens` and their kin.
"""

import logging

from ragstone import errors, ports, stores
from ragstone.answering import (
    Citation,
    Conversation,
    ConversationMemory,
    PersistentMemory,
    RagResponse,
    RagStreamingUpdate,
)
from ragstone.caching import CachingChat, CachingEmbedder, RedisCache
from ragstone.chat import OpenAIChat
from ragstone.diagnostics import Trace, TraceStore
from ragstone.encoders import OnnxEmbedder, OnnxSpladeEncoder, OpenAIEmbedder
from ragstone.engine.dense import VectorHit, VectorIndex
from ragstone.engine.lexical import Bm25Hit, Bm25Index, Bm25Memory, Bm25Term
from ragstone.engine.rank import (
    Fused,
    FusedRanking,
    MmrPick,
    Twin,
    lost_in_the_middle,
    mmr,
    redundancy_filter,
    relative_score_fusion,
    rrf,
)
from ragstone.engine.sparse import SparseHit, SparseIndex
from ragstone.engine.text import sentence_spans, tokenize
from ragstone.engine.tokens import (
    Budget,
    EncodingCounter,
    TiktokenCounter,
    TokenizerJsonCounter,
    count_tokens,
    count_tokens_many,
    fit_budget,
    token_spans,
)
from ragstone.engine.version import __version__
from ragstone.errors import RagError
from ragstone.factory import RagPipelineFactory
from ragstone.guards import RequiredRolesGuard
from ragstone.ingestion.chunking import MarkdownChunker, RecursiveChunker, SentenceChunker, TokenChunker
from ragstone.metadata import matches
from ragstone.models import (
    ChunkKey,
    DocumentMetadata,
    EmbeddedChunk,
    IngestionProgress,
    IngestionReport,
    IngestionResult,
    IngestionStatus,
    ScoreScale,
    SearchOptions,
    SearchResult,
    TextChunk,
)
from ragstone.options import (
    CachingOptions,
    CompressionOptions,
    DeepResearchOptions,
    EnsembleOptions,
    HydeOptions,
    IngestionOptions,
    MultiQueryOptions,
    ParentDocumentOptions,
    PersistentMemoryOptions,
    RagOptions,
    RetrievalOptions,
    TagRetrievalOptions,
    TimeWeightedOptions,
)
from ragstone.pipeline import RagPipeline
from ragstone.rerankers import CohereReranker, OnnxReranker
from ragstone.retrieval.explanation import Explanation
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.planning import RetrievalPlan
from ragstone.sparse_vector import SparseVector
from ragstone.specifications import DocumentIdSpec, HasTagSpec, MinScoreSpec
from ragstone.sync import sync
from ragstone.web_search import TavilyWebSearch

__all__ = [
    "Bm25Hit",
    "Bm25Index",
    "Bm25Memory",
    "Bm25Term",
    "Budget",
    "CachingChat",
    "CachingEmbedder",
    "CachingOptions",
    "ChunkKey",
    "Citation",
    "CohereReranker",
    "CompressionOptions",
    "Conversation",
    "ConversationMemory",
    "DeepResearchOptions",
    "DocumentIdSpec",
    "DocumentMetadata",
    "EmbeddedChunk",
    "EncodingCounter",
    "EnsembleOptions",
    "Explanation",
    "Fused",
    "FusedRanking",
    "HasTagSpec",
    "HydeOptions",
    "IngestionOptions",
    "IngestionProgress",
    "IngestionReport",
    "IngestionResult",
    "IngestionStatus",
    "MarkdownChunker",
    "MinScoreSpec",
    "MmrPick",
    "MultiQueryOptions",
    "OnnxEmbedder",
    "OnnxReranker",
    "OnnxSpladeEncoder",
    "OpenAIChat",
    "OpenAIEmbedder",
    "ParentDocumentOptions",
    "PersistentMemory",
    "PersistentMemoryOptions",
    "RagError",
    "RagOptions",
    "RagPipeline",
    "RagPipelineFactory",
    "RagResponse",
    "RagStreamingUpdate",
    "RecursiveChunker",
    "RedisCache",
    "RequiredRolesGuard",
    "RetrievalOptions",
    "RetrievalPlan",
    "ScoreScale",
    "SearchOptions",
    "SearchPage",
    "SearchResult",
    "SentenceChunker",
    "SparseHit",
    "SparseIndex",
    "SparseVector",
    "TagRetrievalOptions",
    "TavilyWebSearch",
    "TextChunk",
    "TiktokenCounter",
    "TimeWeightedOptions",
    "TokenChunker",
    "TokenizerJsonCounter",
    "Trace",
    "TraceStore",
    "Twin",
    "VectorHit",
    "VectorIndex",
    "__version__",
    "count_tokens",
    "count_tokens_many",
    "errors",
    "fit_budget",
    "lost_in_the_middle",
    "matches",
    "mmr",
    "ports",
    "redundancy_filter",
    "relative_score_fusion",
    "rrf",
    "sentence_spans",
    "stores",
    "sync",
    "token_spans",
    "tokenize",
]

# Silent unless the program configures logging.
logging.getLogger(__name__).addHandler(logging.NullHandler())

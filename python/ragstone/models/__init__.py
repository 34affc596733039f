"""The data that travels through Ragstone: documents, chunks, hits and what is known about each hit."""

from ragstone.models.chat import ChatDelta, ChatMessage, ChatReply, TokenUsage
from ragstone.models.chunks import EmbeddedChunk, TextChunk
from ragstone.models.documents import DocumentMetadata, DocumentSection, PageSpan, ParsedDocument, StoredDocument
from ragstone.models.evidence import (
    ArmEvidence,
    CompressionEvidence,
    DecayEvidence,
    Evidence,
    GradeEvidence,
    MmrEvidence,
    ParentEvidence,
    RankingEvidence,
    RerankEvidence,
    TokenEvidence,
    TwinEvidence,
    WebEvidence,
)
from ragstone.models.ingestion import IngestionProgress, IngestionReport, IngestionResult, IngestionStatus
from ragstone.models.primitives import ChunkKey, ScoreScale, Vector, Vectors
from ragstone.models.search import SearchOptions, SearchResult, WebResult

__all__ = [
    "ArmEvidence",
    "ChatDelta",
    "ChatMessage",
    "ChatReply",
    "ChunkKey",
    "CompressionEvidence",
    "DecayEvidence",
    "DocumentMetadata",
    "DocumentSection",
    "EmbeddedChunk",
    "Evidence",
    "GradeEvidence",
    "IngestionProgress",
    "IngestionReport",
    "IngestionResult",
    "IngestionStatus",
    "MmrEvidence",
    "PageSpan",
    "ParentEvidence",
    "ParsedDocument",
    "RankingEvidence",
    "RerankEvidence",
    "ScoreScale",
    "SearchOptions",
    "SearchResult",
    "StoredDocument",
    "TextChunk",
    "TokenEvidence",
    "TokenUsage",
    "TwinEvidence",
    "Vector",
    "Vectors",
    "WebEvidence",
    "WebResult",
]

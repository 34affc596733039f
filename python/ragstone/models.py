"""The data that travels through Ragstone: documents, chunks, hits and what is known about each hit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import InvalidInputError
from ragstone.metadata import Metadata, MetadataValue, check_metadata, check_tags

__all__ = [
    "ArmEvidence",
    "ChunkKey",
    "DocumentMetadata",
    "DocumentSection",
    "EmbeddedChunk",
    "Evidence",
    "IngestionProgress",
    "IngestionReport",
    "IngestionResult",
    "IngestionStatus",
    "MmrEvidence",
    "PageSpan",
    "ParsedDocument",
    "ScoreScale",
    "SearchOptions",
    "SearchResult",
    "StoredDocument",
    "TextChunk",
    "TokenEvidence",
    "TwinEvidence",
    "Vector",
    "Vectors",
]

Vector: TypeAlias = NDArray[np.float32]
"""One embedding, shape (dimensions,), float32."""

Vectors: TypeAlias = NDArray[np.float32]
"""A batch of embeddings, shape (n, dimensions), float32, C-contiguous."""


class ChunkKey(NamedTuple):
    """What identifies a chunk everywhere: its document and its place in it. Never its text."""

    document_id: str
    chunk_index: int


class ScoreScale(StrEnum):
    """What a score means; scores of different scales are never compared."""

    SIMILARITY = "similarity"
    """Cosine similarity, in [-1, 1]."""
    DOT = "dot"
    """Dot product of sparse vectors, ≥ 0."""
    BM25 = "bm25"
    """BM25 in Lucene's form, > 0."""
    RRF = "rrf"
    """A sum of reciprocal ranks, about 0.016 an arm."""
    RELATIVE = "relative"
    """A weighted sum of min-max scaled scores, in [0, 1]."""
    BACKEND = "backend"
    """A store's own fusion scale: meaningful only as an order."""
    RERANK = "rerank"
    """A reranker's own scale."""
    DECAYED = "decayed"
    """A score multiplied by a time decay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMetadata:
    """What a caller says of a document that it hands in.

    Attributes:
        document_id: The identity under which the document is stored, replaced and deleted.
        file_name: Used to tell the content type where `content_type` is not given.
        content_type: A MIME type such as `text/markdown`.
        tags: Typed values written to every chunk's metadata; reserved keys are refused.
        created_at: Written to the chunks as ISO-8601 when set; naive means UTC.
        updated_at: As `created_at`.
    """

    document_id: str
    file_name: str | None = None
    content_type: str | None = None
    tags: Mapping[str, MetadataValue | None] = field(default_factory=dict[str, "MetadataValue | None"])
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.document_id, str) or not self.document_id:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"document_id must be a non-empty string, not {self.document_id!r}")
        if any("\ud800" <= character <= "\udfff" for character in self.document_id):
            raise InvalidInputError(f"document_id {self.document_id!r} is not valid Unicode text: choose another")
        object.__setattr__(self, "tags", check_tags(self.tags))
        for name in ("created_at", "updated_at"):
            value: datetime | None = getattr(self, name)
            if value is not None and value.tzinfo is None:
                object.__setattr__(self, name, value.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSection:
    """A stretch of a document under one heading: `document.text[start:end]`.

    Attributes:
        start: First character (Unicode code points) in the document's text.
        end: One past the last.
        heading: The nearest heading, if any.
        heading_level: 1 for the outermost.
        heading_breadcrumb: The headings above and this one, `"Chapter 1 > Section 2"`.
    """

    start: int
    end: int
    heading: str | None = None
    heading_level: int | None = None
    heading_breadcrumb: str | None = None


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A page of a paginated document: page `number` (from 1) is `document.text[start:end]`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """What a parser makes of a document's bytes.

    Attributes:
        text: The whole text; every offset in Ragstone refers to it, in Unicode code points.
        sections: In order, not overlapping, each beginning with its heading; text outside of them (front matter, a
            heading with nothing under it but deeper headings) is not chunked.
        pages: For paginated sources, in order; else empty.
    """

    text: str
    sections: tuple[DocumentSection, ...]
    pages: tuple[PageSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of a document, the unit that is indexed and returned.

    Attributes:
        text: Equal to `document_text[start:end]`.
        document_id: The document it comes from.
        chunk_index: Its place in the document, from 0.
        start: First character in the document's text, in Unicode code points.
        end: One past the last.
        metadata: Typed values; validated, never changed in place.
    """

    text: str
    document_id: str
    chunk_index: int
    start: int = 0
    end: int = 0
    metadata: Metadata = field(default_factory=dict[str, MetadataValue])

    def __post_init__(self) -> None:
        # An index may come back from a store's JSON as 4.0 or from numpy as int64: the identity must stay one.
        index = int(self.chunk_index)
        if index != self.chunk_index or index < 0:
            raise InvalidInputError(f"chunk_index must be a whole number of at least 0, not {self.chunk_index!r}")
        object.__setattr__(self, "chunk_index", index)
        object.__setattr__(self, "metadata", check_metadata(self.metadata))

    @property
    def key(self) -> ChunkKey:
        """The chunk's identity."""
        return ChunkKey(self.document_id, self.chunk_index)


@dataclass(frozen=True, slots=True)
class EmbeddedChunk:
    """A chunk and its embedding, shape (dimensions,), float32."""

    chunk: TextChunk
    embedding: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document as it is committed: the unit that a journal keeps and an index is rebuilt from.

    Attributes:
        document_id: Its identity.
        fingerprint: SHA-256 (hex) of the content and of everything that shaped the chunks and vectors.
        source: The file it came from, where there is one.
        chunks: In order of `chunk_index`, at least one.
        vectors: Shape (len(chunks), dimensions), row i for chunk i; `None` where there is no embedder.
    """

    document_id: str
    fingerprint: str
    source: str | None
    chunks: tuple[TextChunk, ...]
    vectors: Vectors | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmEvidence:
    """An arm found the chunk.

    Attributes:
        arm: `dense`, `bm25`, `sparse`, or the store's name for a native hybrid search.
        rank: From 1, within the arm.
        score: The arm's own score, on `scale`.
        weight: The arm's weight in the fusion; 1 where the arm was alone.
        contribution: What the arm adds to the fused score; contributions add up to it exactly.
    """

    arm: str
    rank: int
    score: float
    scale: ScoreScale
    weight: float = 1.0
    contribution: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinEvidence:
    """The redundancy filter found a better-ranked chunk that says the same."""

    twin: ChunkKey
    similarity: float
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MmrEvidence:
    """Maximal marginal relevance weighed the chunk.

    Attributes:
        relevance: Cosine of query and chunk.
        redundancy: The largest cosine to a chunk picked before; 0 for the first.
        value: `lambda * relevance - (1 - lambda) * redundancy`.
        position: From 1, the order in which it was picked; `None` if it was not.
    """

    relevance: float
    redundancy: float
    value: float
    position: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEvidence:
    """The token budget counted the chunk: its `tokens`, the `total` before the decision, and the `budget`."""

    tokens: int
    total: int
    budget: int


Evidence: TypeAlias = ArmEvidence | TwinEvidence | MmrEvidence | TokenEvidence


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A hit: a chunk, its score, the scale of that score and what led to it.

    Attributes:
        embedding: The chunk's vector where the store returned it, shape (dimensions,).
        evidence: What the arms and stages found out about the chunk, in order.
    """

    chunk: TextChunk
    score: float
    score_scale: ScoreScale = ScoreScale.SIMILARITY
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What a retriever asks of a store or an index.

    Attributes:
        top_k: At most this many hits.
        min_score: 0.0 is no threshold; any other value, negative ones too, filters on the store's similarity scale.
        metadata_filter: Applied before the cut to `top_k`; validated.
    """

    top_k: int
    min_score: float = 0.0
    metadata_filter: Mapping[str, MetadataValue] | None = None


class IngestionStatus(StrEnum):
    """What became of a document."""

    STORED = "stored"
    UNCHANGED = "unchanged"
    """Its content, tags and settings equal what is stored, so nothing was done."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionResult:
    """What `ingest` did with one document.

    Attributes:
        chunks_stored: How many chunks this call stored; 0 when it failed or found the document unchanged.
        error: Why it failed, one line; only in the results of ingesting many.
        source: The file it came from, where there is one.
    """

    document_id: str
    chunks_stored: int
    status: IngestionStatus = IngestionStatus.STORED
    error: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionProgress:
    """How far an ingestion has come, handed to the `progress` callback after each document.

    Attributes:
        documents_done: Documents finished, failed ones included.
        documents_total: All documents, or `None` while their number is not known.
        chunks_stored: Chunks stored so far.
        result: The document just finished.
    """

    documents_done: int
    documents_total: int | None
    chunks_stored: int
    result: IngestionResult


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionReport:
    """What became of many documents.

    Attributes:
        stored: Documents stored, new and replaced ones.
        unchanged: Documents that were stored already and had not changed.
        failed: Documents of which nothing new was stored; each is in `failures`.
        skipped: Files met while listing a directory or a pattern that no configured parser reads.
        chunks_stored: Chunks of the documents that this run stored.
        failures: One result a failed document, in the order in which they failed, `error` saying why in one line.
    """

    stored: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    chunks_stored: int = 0
    failures: tuple[IngestionResult, ...] = ()

"""Documents: what a caller says of one, what a parser makes of it, and how it is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ragstone.errors import InvalidInputError
from ragstone.metadata import MetadataValue, check_tags
from ragstone.models.chunks import EmbeddedChunk, TextChunk
from ragstone.models.primitives import Vectors
from ragstone.sparse_vector import SparseVector

__all__ = [
    "DocumentMetadata",
    "DocumentSection",
    "PageSpan",
    "ParsedDocument",
    "StoredDocument",
]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document as it is committed: the unit that a journal keeps and an index is rebuilt from.

    Attributes:
        document_id: Its identity.
        fingerprint: SHA-256 (hex) of the content and of everything that shaped the chunks and vectors.
        source: The file it came from, where there is one.
        chunks: In order of `chunk_index`, at least one.
        vectors: Shape (len(chunks), dimensions), row i for chunk i; `None` where there is no embedder.
        sparse: One learned sparse vector a chunk; `None` where they were not asked for or could not be made.
        sparse_encoder: Identity of the encoder that made them; `None` without them.
        parents: The larger chunks that come back in place of these, in order of `start`, numbered from 0.
    """

    document_id: str
    fingerprint: str
    source: str | None
    chunks: tuple[TextChunk, ...]
    vectors: Vectors | None = field(default=None, compare=False, repr=False)
    sparse: tuple[SparseVector, ...] | None = field(default=None, repr=False)
    sparse_encoder: str | None = None
    parents: tuple[TextChunk, ...] = field(default=(), repr=False)

    def embedded_chunks(self) -> list[EmbeddedChunk]:
        """Return the chunks with their vectors, as a store takes them; none where there are no vectors."""
        if self.vectors is None:
            return []
        sparse = (None,) * len(self.chunks) if self.sparse is None else self.sparse
        return [EmbeddedChunk(*each) for each in zip(self.chunks, self.vectors, sparse, strict=True)]

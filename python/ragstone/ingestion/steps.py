"""The steps of ingestion, in order. Each takes what the one before gives, so that a wrong order does not type-check.

`SourceDocument` → parse → `ParsedDocument` → chunk → `ChunkedDocument` → describe → `DescribedDocument` → embed →
`EmbeddedDocument` → seal → `StoredDocument`, which is committed as one unit (see `ragstone.ingestion.commit`).

A further step, such as one that adds a sparse vector to each chunk, goes between two of these with a type of its own.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ragstone.encoders.checked import embed_checked
from ragstone.errors import EmbeddingError, EmptyDocumentError, IngestionError, InvalidInputError
from ragstone.ingestion.parsers.registry import ParserRegistry
from ragstone.metadata import MetadataValue
from ragstone.models import DocumentMetadata, ParsedDocument, StoredDocument, TextChunk, Vectors
from ragstone.ports import ChunkingStrategy, Embedder

__all__ = [
    "ChunkedDocument",
    "DescribedDocument",
    "EmbeddedDocument",
    "SourceDocument",
    "chunk",
    "describe",
    "embed",
    "naming",
    "parse",
    "seal",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """A document as it came in.

    Attributes:
        content: Its bytes, or its text where a text was handed in.
        content_type: A MIME type, parameters allowed.
        metadata: What the caller says of it.
        path: The file that it comes from, if any.
    """

    content: bytes | str
    content_type: str
    metadata: DocumentMetadata
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """Chunks with text, offsets, headings and pages; at least one."""

    chunks: tuple[TextChunk, ...]


@dataclass(frozen=True, slots=True)
class DescribedDocument:
    """Chunks that carry the document's tags and dates as well."""

    chunks: tuple[TextChunk, ...]


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """Chunks and their vectors, row i for chunk i; `None` where there is no embedder."""

    chunks: tuple[TextChunk, ...]
    vectors: Vectors | None


def parse(source: SourceDocument, registry: ParserRegistry) -> ParsedDocument:
    """Read the document's text.

    Raises:
        UnsupportedContentTypeError: No parser reads its type.
        ParseError: The content is not what the type says.
        EmptyDocumentError: There is no text in it.
    """
    document = registry.parse(source.content, source.content_type)
    if not document.text.strip():
        raise EmptyDocumentError(_empty(source.metadata.document_id))
    return document


def chunk(document: ParsedDocument, document_id: str, chunker: ChunkingStrategy) -> ChunkedDocument:
    """Cut the document.

    Raises:
        EmptyDocumentError: Nothing of the text is to be indexed, as in a document of front matter alone.
        InvalidInputError: The chunker does not number the document's chunks from 0.
    """
    chunks = tuple(chunker.chunk(document, document_id))
    if not chunks:
        raise EmptyDocumentError(_empty(document_id))
    if [piece.key for piece in chunks] != [(document_id, index) for index in range(len(chunks))]:
        raise InvalidInputError(
            f"chunker {chunker.identity} must give chunks of document '{document_id}' with chunk_index 0, 1, 2, …"
        )
    return ChunkedDocument(chunks)


def describe(document: ChunkedDocument, metadata: DocumentMetadata) -> DescribedDocument:
    """Write the document's tags to every chunk, and its dates, as ISO-8601 text, where they are set."""
    common: dict[str, MetadataValue] = {key: value for key, value in metadata.tags.items() if value is not None}
    if metadata.created_at is not None:
        common["created_at"] = metadata.created_at.isoformat()
    if metadata.updated_at is not None:
        common["updated_at"] = metadata.updated_at.isoformat()
    return DescribedDocument(
        tuple(replace(piece, metadata={**common, **piece.metadata}) for piece in document.chunks)
        if common
        else document.chunks
    )


async def embed(document: DescribedDocument, embedder: Embedder | None) -> EmbeddedDocument:
    """Embed the chunks' texts; without an embedder the document is searched by keywords alone.

    Raises:
        EmbeddingError: The embedder failed, or its answer does not fit; names the document and, where known, the chunk.
    """
    if embedder is None:
        return EmbeddedDocument(document.chunks, None)
    try:
        vectors = await embed_checked(embedder, [piece.text for piece in document.chunks])
    except EmbeddingError as error:
        where = f"document '{document.chunks[0].document_id}'"
        if error.text_index is not None:
            where = f"{where}, chunk {error.text_index}"
        raise EmbeddingError(f"{where}: {error}", text_index=error.text_index) from error
    return EmbeddedDocument(document.chunks, vectors)


def seal(document: EmbeddedDocument, source: SourceDocument, fingerprint: str) -> StoredDocument:
    """Put together what is committed."""
    return StoredDocument(
        document_id=source.metadata.document_id,
        fingerprint=fingerprint,
        source=source.path,
        chunks=document.chunks,
        vectors=document.vectors,
    )


@contextmanager
def naming(document_id: str) -> Generator[None, None, None]:
    """Let an ingestion error know which document it is about."""
    try:
        yield
    except IngestionError as error:
        error.document_id = error.document_id or document_id
        raise


def _empty(document_id: str) -> str:
    return f"document '{document_id}' holds no text to index (a scanned one needs text recognition first)"

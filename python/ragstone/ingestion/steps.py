"""The steps of ingestion, in order. Each takes what the one before gives, so that a wrong order does not type-check.

`SourceDocument` → parse → `ParsedDocument` → chunk → `ChunkedDocument` → describe → `DescribedDocument` → add_parents →
`FamilyDocument` → embed → `EmbeddedDocument` → encode → `EncodedDocument` → seal → `StoredDocument`, which is committed
as one unit (see `ragstone.ingestion.commit`).
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ragstone.encoders.checked import embed_checked, embed_sparse_checked
from ragstone.errors import EmbeddingError, EmptyDocumentError, IngestionError, InvalidInputError
from ragstone.faults import tried
from ragstone.ingestion.parsers.registry import ParserRegistry
from ragstone.metadata import MetadataValue
from ragstone.models import DocumentMetadata, ParsedDocument, StoredDocument, TextChunk, Vectors
from ragstone.ports import ChunkingStrategy, Embedder, SparseEmbedder
from ragstone.sparse_vector import SparseVector

__all__ = [
    "ChunkedDocument",
    "DescribedDocument",
    "EmbeddedDocument",
    "EncodedDocument",
    "FamilyDocument",
    "SourceDocument",
    "add_parents",
    "chunk",
    "describe",
    "embed",
    "encode",
    "naming",
    "parse",
    "seal",
]

_LOG = logging.getLogger(__name__)


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
class FamilyDocument:
    """Chunks, and the parents that they lie in; none where they were not asked for."""

    chunks: tuple[TextChunk, ...]
    parents: tuple[TextChunk, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """A family, and its chunks' vectors, row i for chunk i; `None` where there is no embedder."""

    family: FamilyDocument
    vectors: Vectors | None


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """An embedded document, and its chunks' sparse vectors; `None` without an encoder, or where it failed.

    Attributes:
        warnings: Why it failed, one line.
    """

    embedded: EmbeddedDocument
    sparse: tuple[SparseVector, ...] | None = None
    sparse_encoder: str | None = None
    warnings: tuple[str, ...] = ()


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
    return DescribedDocument(_described(document.chunks, metadata))


def add_parents(
    document: DescribedDocument, parsed: ParsedDocument, metadata: DocumentMetadata, chunker: ChunkingStrategy | None
) -> FamilyDocument:
    """Cut the document a second time, into parents; `chunker=None` asks for none.

    Parents have their sections' headings and the document's tags and dates, as its chunks have.
    """
    if chunker is None:
        return FamilyDocument(document.chunks)
    parents = chunk(parsed, metadata.document_id, chunker).chunks
    return FamilyDocument(document.chunks, _described(parents, metadata))


async def embed(document: FamilyDocument, embedder: Embedder | None) -> EmbeddedDocument:
    """Embed the chunks' texts; without an embedder the document is searched by keywords alone.

    Raises:
        EmbeddingError: The embedder failed, or its answer does not fit; names the document and, where known, the chunk.
    """
    if embedder is None:
        return EmbeddedDocument(document, None)
    try:
        vectors = await embed_checked(embedder, [piece.text for piece in document.chunks])
    except EmbeddingError as error:
        where = f"document '{document.chunks[0].document_id}'"
        if error.text_index is not None:
            where = f"{where}, chunk {error.text_index}"
        raise EmbeddingError(f"{where}: {error}", text_index=error.text_index) from error
    return EmbeddedDocument(document, vectors)


async def encode(document: EmbeddedDocument, encoder: SparseEmbedder | None) -> EncodedDocument:
    """Encode the chunks' texts as sparse vectors; where that fails the document goes on without them.

    Raises:
        ConfigurationError: The encoder is not set up as it should be, which no document is to blame for.
    """
    if encoder is None:
        return EncodedDocument(document)
    chunks = document.family.chunks
    vectors = await tried(embed_sparse_checked(encoder, [piece.text for piece in chunks]))
    if isinstance(vectors, Exception):
        _LOG.warning(
            "sparse_ingestion_failed: document %r is stored without sparse vectors: %s", chunks[0].document_id, vectors
        )
        return EncodedDocument(document, warnings=(f"stored without sparse vectors: {vectors}",))
    return EncodedDocument(document, tuple(vectors), encoder.identity)


def seal(document: EncodedDocument, source: SourceDocument, fingerprint: str) -> StoredDocument:
    """Put together what is committed."""
    embedded = document.embedded
    return StoredDocument(
        document_id=source.metadata.document_id,
        fingerprint=fingerprint,
        source=source.path,
        chunks=embedded.family.chunks,
        vectors=embedded.vectors,
        sparse=document.sparse,
        sparse_encoder=document.sparse_encoder,
        parents=embedded.family.parents,
    )


@contextmanager
def naming(document_id: str) -> Generator[None, None, None]:
    """Let an ingestion error know which document it is about."""
    try:
        yield
    except IngestionError as error:
        error.document_id = error.document_id or document_id
        raise


def _described(chunks: Sequence[TextChunk], metadata: DocumentMetadata) -> tuple[TextChunk, ...]:
    common: dict[str, MetadataValue] = {key: value for key, value in metadata.tags.items() if value is not None}
    if metadata.created_at is not None:
        common["created_at"] = metadata.created_at.isoformat()
    if metadata.updated_at is not None:
        common["updated_at"] = metadata.updated_at.isoformat()
    return tuple(replace(piece, metadata={**common, **piece.metadata}) if common else piece for piece in chunks)


def _empty(document_id: str) -> str:
    return f"document '{document_id}' holds no text to index (a scanned one needs text recognition first)"

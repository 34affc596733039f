"""What the stores in memory share: chunks as the columns that an index takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragstone.errors import InvalidInputError
from ragstone.metadata import MetadataValue
from ragstone.models import TextChunk

__all__ = ["columns", "name_of", "of_document"]


def columns(chunks: Sequence[TextChunk]) -> tuple[list[str], list[int], list[Mapping[str, MetadataValue]]]:
    """The document ids, chunk indices and metadata of chunks."""
    return (
        [chunk.document_id for chunk in chunks],
        [chunk.chunk_index for chunk in chunks],
        [chunk.metadata for chunk in chunks],
    )


def of_document(document_id: str, chunks: Sequence[TextChunk]) -> Sequence[TextChunk]:
    """The chunks, all of which must be the document's."""
    for chunk in chunks:
        if chunk.document_id != document_id:
            raise InvalidInputError(
                f"chunk {chunk.chunk_index} of document {chunk.document_id!r} cannot replace one of {document_id!r}"
            )
    return chunks


def name_of(chunk: TextChunk) -> str:
    """What to call a chunk in an error."""
    return f"chunk {chunk.chunk_index} of document {chunk.document_id!r}"

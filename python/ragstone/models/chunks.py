"""Chunks: the unit that is indexed and returned."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragstone.errors import InvalidInputError
from ragstone.metadata import Metadata, MetadataValue, check_metadata
from ragstone.models.primitives import ChunkKey, Vector
from ragstone.sparse_vector import SparseVector

__all__ = [
    "EmbeddedChunk",
    "TextChunk",
]


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
    """A chunk, its embedding, shape (dimensions,), float32, and its learned sparse vector where it has one.

    A store that does not search sparse vectors ignores `sparse`.
    """

    chunk: TextChunk
    embedding: Vector
    sparse: SparseVector | None = None

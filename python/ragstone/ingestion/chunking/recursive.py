"""The default chunker: running text, cut at the strongest break that is near enough."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.ingestion.chunking.cutting import CharacterRuler, cut, require_overlap
from ragstone.ingestion.chunking.spans import assemble
from ragstone.models import ParsedDocument, TextChunk

__all__ = ["RecursiveChunker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveChunker:
    """Cuts each section at paragraphs, else lines, else sentences, else words, else characters.

    A break is taken where it lies in the second half of what fits, so that chunks are neither torn nor tiny. The cap is
    hard: also a word of a million letters is cut.

    Attributes:
        max_size: The most Unicode code points of a chunk, at least 1.
        overlap: Up to how many code points a chunk repeats from the end of the one before, from a word's beginning
            where there is one; at least 0, below `max_size`.

    Raises:
        ConfigurationError: A size is out of range.

    Example:
        >>> from ragstone.models import DocumentSection, ParsedDocument
        >>> text = "First point. Second point. Third point."
        >>> document = ParsedDocument(text=text, sections=(DocumentSection(start=0, end=len(text)),))
        >>> [chunk.text for chunk in RecursiveChunker(max_size=30, overlap=0).chunk(document, "notes")]
        ['First point. Second point.', 'Third point.']
    """

    max_size: int = 512
    overlap: int = 50

    def __post_init__(self) -> None:
        require_overlap("max_size", self.max_size, self.overlap)

    @property
    def identity(self) -> str:
        """Names the chunker and its settings."""
        return f"recursive(max_size={self.max_size},overlap={self.overlap})"

    def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
        """Cut; for every chunk `document.text[chunk.start:chunk.end] == chunk.text`."""
        ruler = CharacterRuler(self.max_size, self.overlap)
        return assemble(document, document_id, lambda section: cut(document.text, section.start, section.end, ruler))

"""A chunker that keeps sentences whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ragstone.engine.text import sentence_spans
from ragstone.ingestion.chunking.cutting import CharacterRuler, cut
from ragstone.ingestion.chunking.packing import pack
from ragstone.ingestion.chunking.spans import Span, assemble
from ragstone.models import DocumentSection, ParsedDocument, TextChunk
from ragstone.validation import require_at_least

__all__ = ["SentenceChunker"]

_LINE_END: Final = re.compile(r"\r?\n[ \t]*(?=\S)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceChunker:
    """Fills chunks with whole sentences (Unicode Standard Annex #29), and repeats the last ones in the next chunk.

    Attributes:
        max_size: The most Unicode code points of a chunk, at least 1. A sentence that is longer is cut as
            `RecursiveChunker` would.
        overlap_sentences: Up to how many sentences a chunk repeats from the end of the one before, at least 0; fewer
            where they would not leave room for the next sentence.

    Raises:
        ConfigurationError: A size is out of range.

    Example:
        >>> from ragstone.models import DocumentSection, ParsedDocument
        >>> text = "One. Two is longer. Three."
        >>> document = ParsedDocument(text=text, sections=(DocumentSection(start=0, end=len(text)),))
        >>> [chunk.text for chunk in SentenceChunker(max_size=22, overlap_sentences=1).chunk(document, "notes")]
        ['One. Two is longer.', 'Two is longer. Three.']
    """

    max_size: int = 512
    overlap_sentences: int = 1

    def __post_init__(self) -> None:
        require_at_least("max_size", self.max_size, 1)
        require_at_least("overlap_sentences", self.overlap_sentences, 0)

    @property
    def identity(self) -> str:
        """Names the chunker and its settings."""
        return f"sentence(max_size={self.max_size},overlap_sentences={self.overlap_sentences})"

    def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
        """Cut; for every chunk `document.text[chunk.start:chunk.end] == chunk.text`."""

        def resume(_first: int, last: int) -> int:
            return last + 1 - self.overlap_sentences

        def spans(section: DocumentSection) -> Iterator[Span]:
            return pack(list(self._sentences(document.text, section)), self.max_size, resume)

        return assemble(document, document_id, spans)

    def _sentences(self, text: str, section: DocumentSection) -> Iterator[Span]:
        ruler = CharacterRuler(self.max_size, 0)
        for start, end in sentence_spans(_unwrapped(text[section.start : section.end])):
            yield from cut(text, section.start + start, section.start + end, ruler)


def _unwrapped(text: str) -> str:
    """Put spaces for the line ends inside of sentences, which the Annex would end there; every offset stays.

    A line that begins with a lower-case letter goes on with the sentence of the line before.
    """

    def space(match: re.Match[str]) -> str:
        goes_on = text[match.end() : match.end() + 1].islower()
        return " " * len(match[0]) if goes_on else match[0]

    return _LINE_END.sub(space, text)

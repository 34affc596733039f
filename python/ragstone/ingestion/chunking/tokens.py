"""A chunker that measures in a model's tokens."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.engine.tokens import count_tokens, token_spans
from ragstone.errors import ConfigurationError
from ragstone.ingestion.chunking.cutting import cut, require_overlap
from ragstone.ingestion.chunking.spans import Span, assemble
from ragstone.models import DocumentSection, ParsedDocument, TextChunk

__all__ = ["TokenChunker"]

_MIN_TOKENS = 4  # one character can take as many: a token of a byte-level vocabulary may be a single byte of it


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenChunker:
    """Cuts each section to a number of tokens, at the same breaks as `RecursiveChunker`.

    The cap holds for the chunk's text counted on its own, which is what a model will be given.

    Attributes:
        max_tokens: The most tokens of a chunk, at least 4 (a single character can take as many).
        overlap: Up to how many tokens a chunk repeats from the end of the one before; at least 0, below `max_tokens`.
        encoding: The vocabulary, such as `cl100k_base` or `o200k_base`.

    Raises:
        ConfigurationError: A size is out of range, or the encoding is not known.

    Example:
        >>> from ragstone.models import DocumentSection, ParsedDocument
        >>> text = "First point. Second point. Third point."
        >>> document = ParsedDocument(text=text, sections=(DocumentSection(start=0, end=len(text)),))
        >>> [chunk.text for chunk in TokenChunker(max_tokens=6, overlap=0).chunk(document, "notes")]
        ['First point. Second point.', 'Third point.']
    """

    max_tokens: int = 256
    overlap: int = 32
    encoding: str = "cl100k_base"

    def __post_init__(self) -> None:
        require_overlap("max_tokens", self.max_tokens, self.overlap)
        if self.max_tokens < _MIN_TOKENS:
            raise ConfigurationError(f"max_tokens must be at least {_MIN_TOKENS}, not {self.max_tokens}")
        count_tokens("", encoding=self.encoding)

    @property
    def identity(self) -> str:
        """Names the chunker and its settings."""
        return f"tokens(max_tokens={self.max_tokens},overlap={self.overlap},encoding={self.encoding})"

    def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
        """Cut; for every chunk `document.text[chunk.start:chunk.end] == chunk.text`."""

        def spans(section: DocumentSection) -> Iterator[Span]:
            return cut(document.text, section.start, section.end, _TokenRuler(self, document.text, section))

        return assemble(document, document_id, spans)


class _TokenRuler:
    """Measures the spans of one section in tokens.

    The tokens of the section tell where a chunk may end. Cut out, a text can take a few tokens more than it took in its
    place, so what they tell is counted again and taken back as far as needed.
    """

    def __init__(self, chunker: TokenChunker, text: str, section: DocumentSection) -> None:
        self._chunker = chunker
        self._text = text
        spans = token_spans(text[section.start : section.end], encoding=chunker.encoding)
        self._starts = [section.start + start for start, _ in spans]
        self._ends = [section.start + end for _, end in spans]

    def reach(self, start: int) -> int:
        cap = self._chunker.max_tokens
        first = bisect_right(self._ends, start)
        width = min(cap, len(self._ends) - first)
        while (count := self._count(start, end := self._ends[first + width - 1])) > cap and width > 1:
            width = max(1, width * cap // count)
        while count > cap:
            end = start + max(1, (end - start) * cap // count)
            count = self._count(start, end)
        return end

    def fits(self, start: int, end: int) -> bool:
        return self._count(start, end) <= self._chunker.max_tokens

    def back(self, end: int) -> int:
        last = bisect_left(self._ends, end)
        return self._starts[max(0, last + 1 - self._chunker.overlap)] if self._chunker.overlap else end

    def _count(self, start: int, end: int) -> int:
        return count_tokens(self._text[start:end].rstrip(), encoding=self._chunker.encoding)

"""Which sources an answer cites: a pure reading of its `[Source N]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ragstone.models import SearchResult, TextChunk

__all__ = ["Citation", "read_citations"]

# Bare numbers such as [1] are no citations: they occur in code, and in texts as marks of their own notes.
_NUMBERS: Final = r"\d{1,4}(?:\s*[-–]\s*\d{1,4})?"
_LABEL: Final = re.compile(
    rf"\[\s*sources?\s+({_NUMBERS}(?:(?:\s*[,;&]\s*|\s+)(?:and\s+)?(?:sources?\s+)?{_NUMBERS})*)\s*\]", re.IGNORECASE
)
_RANGE: Final = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place where an answer cites a source.

    Attributes:
        source: The number that the answer gives, from 1.
        result: The source itself.
        start: Where the label, such as `[Source 1]`, begins in the answer, in Unicode code points.
        end: One past its last character.
    """

    source: int
    result: SearchResult
    start: int
    end: int

    @property
    def chunk(self) -> TextChunk:
        """The chunk that is cited."""
        return self.result.chunk

    @property
    def document_id(self) -> str:
        """The document that is cited."""
        return self.chunk.document_id

    @property
    def document_span(self) -> tuple[int, int]:
        """Where the cited chunk lies in the original text of its document: first character, and one past the last."""
        return self.chunk.start, self.chunk.end


def read_citations(answer: str, sources: Sequence[SearchResult]) -> tuple[tuple[Citation, ...], tuple[int, ...]]:
    """Find what an answer cites: `[Source 1]`, also `[Source 1, 2]`, `[Sources 1 and 3]` or `[Source 1-3]`.

    Returns:
        The citations in the order of the answer, a label of several numbers giving one for each; and the numbers,
        ascending, that are cited and that no source has.

    Example:
        >>> read_citations("It is so [Source 7].", [])
        ((), (7,))
    """
    found: list[Citation] = []
    unknown: set[int] = set()
    for label in _LABEL.finditer(answer):
        for number in dict.fromkeys(_numbers(label.group(1))):
            if 1 <= number <= len(sources):
                found.append(Citation(source=number, result=sources[number - 1], start=label.start(), end=label.end()))
            else:
                unknown.add(number)
    return tuple(found), tuple(sorted(unknown))


def _numbers(text: str) -> Iterator[int]:
    for item in _RANGE.finditer(text):
        first, last = int(item[1]), int(item[2] or item[1])
        yield from range(first, last + 1) if first <= last else (first, last)

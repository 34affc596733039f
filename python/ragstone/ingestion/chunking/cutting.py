"""Cutting running text to size: at the strongest break that is near enough, with an overlap, under a hard cap."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from ragstone.engine.text import sentence_spans
from ragstone.errors import ConfigurationError
from ragstone.ingestion.chunking.spans import Span, next_visible, strip
from ragstone.validation import require_at_least

__all__ = ["CharacterRuler", "Ruler", "cut", "require_overlap"]

_LINE_END: Final = r"(?:\r\n|\r(?!\n)|[\n\v\f\x85\u2028\u2029])"
_LINE: Final = re.compile(_LINE_END)
_PARAGRAPH: Final = re.compile(rf"{_LINE_END}[^\S\r\n\v\f\x85\u2028\u2029]*{_LINE_END}|\u2029")
_WORD_START: Final = re.compile(r"(?<=\s)\S")
_UP_TO_LAST_SPACE: Final = re.compile(r"(?s:.*)\s")


class Ruler(Protocol):
    """Measures chunks, in characters or in tokens."""

    def reach(self, start: int) -> int:
        """Return the furthest end of a chunk that begins at `start`: beyond it by one character at least."""
        ...

    def fits(self, start: int, end: int) -> bool:
        """Whether this span, which ends before `reach(start)`, keeps to the cap."""
        ...

    def back(self, end: int) -> int:
        """Return where the overlap begins that the chunk after `end` takes over from the one before."""
        ...


@dataclass(frozen=True, slots=True)
class CharacterRuler:
    """Measures in Unicode code points."""

    max_size: int
    overlap: int

    def reach(self, start: int) -> int:
        """Return the furthest end of a chunk that begins at `start`."""
        return start + self.max_size

    def fits(self, start: int, end: int) -> bool:
        """Whether the span keeps to the cap."""
        return end - start <= self.max_size

    def back(self, end: int) -> int:
        """Return where the overlap before `end` begins."""
        return end - self.overlap


def require_overlap(size_name: str, size: int, overlap: int) -> None:
    """Check a chunk size (at least 1) and an overlap (at least 0, below the size).

    Raises:
        ConfigurationError: One of them is out of range: an overlap as large as the chunk would never advance.
    """
    require_at_least(size_name, size, 1)
    require_at_least("overlap", overlap, 0)
    if overlap >= size:
        raise ConfigurationError(f"overlap must be below {size_name}={size}, not {overlap}: a chunk could not advance")


def cut(text: str, start: int, end: int, ruler: Ruler) -> Iterator[Span]:
    """Yield the chunks of `text[start:end]`, in order.

    Each ends at the last paragraph break in the second half of what fits, else at the last line break there, else at
    the last sentence end there, else at the last white space, else where the cap falls. The next one begins with up to
    the ruler's overlap of the text before, from the first word that begins there. The overlap is left out where it
    would begin inside of a word that ends before the cut, or would have the next word cut that fits without it.

    No chunk breaks the cap or has white space at its ends; starts and ends strictly increase; every visible character
    is in a chunk. The time is linear in the text for an overlap that is a fixed part of the cap.
    """
    whole = strip(text, start, end)
    if whole is None:
        return
    breaks = _Breaks(text, *whole)
    fresh: int | None = whole[0]
    repeat = whole[0]
    while fresh is not None:
        begin, stop = _next(breaks, ruler, repeat, fresh)
        yield begin, stop
        fresh = next_visible(text, stop, whole[1])
        repeat = _overlap(text, max(ruler.back(stop), begin + 1), stop, fresh)


def _next(breaks: _Breaks, ruler: Ruler, repeat: int, fresh: int) -> Span:
    """Return the chunk from `repeat`, if there is room for it, and beyond `fresh`, the first character not had yet."""
    follows_space = breaks.text[fresh - 1 : fresh].isspace()
    reach = ruler.reach(repeat)
    place = breaks.best(repeat, fresh, reach)
    if repeat < fresh and (reach <= fresh or (place is None and follows_space)):
        repeat, reach = fresh, ruler.reach(fresh)
        place = breaks.best(fresh, fresh, reach)
    stop = _rstripped(breaks.text, repeat, reach if place is None else place)
    return repeat, stop if ruler.fits(repeat, stop) else _rstripped(breaks.text, repeat, reach)


def _overlap(text: str, earliest: int, stop: int, fresh: int | None) -> int:
    """Return where the chunk after `stop` begins to repeat; `fresh` where it repeats nothing."""
    if fresh is None or earliest >= stop:
        return stop if fresh is None else fresh
    word = _WORD_START.search(text, earliest, stop)
    if word is not None:
        return word.start()
    return earliest if fresh == stop else fresh


def _rstripped(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


class _Breaks:
    """The places at which a stretch of text may be cut, strongest kind first; each kind is looked for when needed."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self._start = start
        self._end = end

    @cached_property
    def _paragraphs(self) -> Sequence[int]:
        return [match.end() for match in _PARAGRAPH.finditer(self.text, self._start, self._end)]

    @cached_property
    def _lines(self) -> Sequence[int]:
        return [match.end() for match in _LINE.finditer(self.text, self._start, self._end)]

    @cached_property
    def _sentences(self) -> Sequence[int]:
        return [self._start + stop for _, stop in sentence_spans(self.text[self._start : self._end])]

    def best(self, begin: int, fresh: int, reach: int) -> int | None:
        """Return the best place to cut in (fresh, reach], the end if it is within reach; `None` where there is none.

        White space behind `reach` does not count, since a chunk is stripped of it.
        """
        if reach >= self._end:
            return self._end
        limit = next_visible(self.text, reach, self._end) or reach
        middle = max(fresh, (begin + reach) // 2)
        for kind in ("_paragraphs", "_lines", "_sentences"):
            places: Sequence[int] = getattr(self, kind)
            found = bisect_right(places, limit) - 1
            if found >= 0 and places[found] > middle:
                return places[found]
        if limit > reach > fresh:
            return reach
        space = _UP_TO_LAST_SPACE.match(self.text, fresh + 1, reach)
        return None if space is None else space.end()

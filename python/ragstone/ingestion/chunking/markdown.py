"""A chunker that keeps the blocks of Markdown whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from ragstone.ingestion.chunking.cutting import CharacterRuler, cut, require_overlap
from ragstone.ingestion.chunking.packing import pack
from ragstone.ingestion.chunking.spans import Span, assemble, strip
from ragstone.ingestion.markdown_blocks import blocks, line_starts
from ragstone.models import DocumentSection, ParsedDocument, TextChunk

__all__ = ["MarkdownChunker"]

_BY_LINES: Final = frozenset({"fence", "code_block", "table_open", "html_block"})
_BY_ITEMS: Final = frozenset({"bullet_list_open", "ordered_list_open"})


class _Block(NamedTuple):
    """A block and where it may be cut if it is too long: at lines or items, or anywhere (`None`) as running text."""

    start: int
    end: int
    joints: Sequence[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownChunker:
    r"""Fills chunks with whole blocks of a section: paragraphs, lists, tables, fenced code.

    A fence, table or list that fits is never divided. One that does not is cut at its lines, rows or items; a paragraph
    that does not fit is cut as `RecursiveChunker` would. A heading stays with what follows it where both fit.

    Attributes:
        max_size: The most Unicode code points of a chunk, at least 1.
        overlap: Up to how many code points a chunk repeats from the end of the one before: whole blocks between blocks,
            words inside of a long paragraph; at least 0, below `max_size`.

    Raises:
        ConfigurationError: A size is out of range.

    Example:
        >>> from ragstone.models import DocumentSection, ParsedDocument
        >>> text = "Build it:\n\n```sh\nmake\n\nmake test\n```\n\nThen run it."
        >>> document = ParsedDocument(text=text, sections=(DocumentSection(start=0, end=len(text)),))
        >>> [chunk.text for chunk in MarkdownChunker(max_size=30, overlap=0).chunk(document, "readme")]
        ['Build it:', '```sh\nmake\n\nmake test\n```', 'Then run it.']
    """

    max_size: int = 512
    overlap: int = 50

    def __post_init__(self) -> None:
        require_overlap("max_size", self.max_size, self.overlap)

    @property
    def identity(self) -> str:
        """Names the chunker and its settings."""
        return f"markdown(max_size={self.max_size},overlap={self.overlap})"

    def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
        """Cut; for every chunk `document.text[chunk.start:chunk.end] == chunk.text`."""

        def spans(section: DocumentSection) -> Iterator[Span]:
            pieces = list(self._pieces(document.text, section))
            return pack(pieces, self.max_size, lambda first, last: self._resume(pieces, first, last))

        return assemble(document, document_id, spans)

    def _resume(self, pieces: Sequence[Span], first: int, last: int) -> int:
        """Return the first of the chunk's last pieces that together are no longer than the overlap."""
        following = last + 1
        while following - 1 > first and pieces[last][1] - pieces[following - 1][0] <= self.overlap:
            following -= 1
        return following

    def _pieces(self, text: str, section: DocumentSection) -> Iterator[Span]:
        heading: int | None = None
        for block, is_heading in _blocks_of(text, section):
            start = block.start if heading is None else heading
            if is_heading:
                heading = start
                continue
            if heading is not None and self._stands_alone(text, heading, block):
                yield from self._fit(text, _Block(heading, block.start, None))
                start = block.start
            heading = None
            yield from self._fit(text, block._replace(start=start))
        if heading is not None:
            yield from self._fit(text, _Block(heading, section.end, None))

    def _stands_alone(self, text: str, heading: int, block: _Block) -> bool:
        """Whether a block is to be kept whole, and fits only without the heading above it."""
        kept_whole = block.joints is not None and self._fits(text, block.start, block.end)
        return kept_whole and not self._fits(text, heading, block.end)

    def _fits(self, text: str, start: int, end: int) -> bool:
        span = strip(text, start, end)
        return span is None or span[1] - span[0] <= self.max_size

    def _fit(self, text: str, block: _Block) -> Iterator[Span]:
        """Yield the block whole if it fits, else in pieces that do."""
        span = strip(text, block.start, block.end)
        if span is None:
            return
        if span[1] - span[0] <= self.max_size:
            yield span
        elif block.joints is None:
            yield from cut(text, *span, CharacterRuler(self.max_size, self.overlap))
        else:
            bounds = [block.start, *(joint for joint in block.joints if joint > block.start), block.end]
            for start, end in pairwise(bounds):
                yield from self._fit(text, _Block(start, end, None))


def _blocks_of(text: str, section: DocumentSection) -> Iterator[tuple[_Block, bool]]:
    """Yield the blocks of a section and whether each is a heading; together they cover it without a gap."""
    lines = line_starts(text, section.start, section.end)
    found = [
        (lines[opening.map[0]], opening, tokens)
        for opening, tokens in blocks(text[section.start : section.end])
        if opening.map is not None
    ]
    bounds = [section.start, *(start for start, _, _ in found[1:]), section.end]
    if not found:
        yield _Block(section.start, section.end, None), False
    for (_, opening, tokens), start, end in zip(found, bounds, bounds[1:], strict=False):
        joints: Sequence[int] | None = None
        if opening.type in _BY_LINES and opening.map is not None:
            joints = lines[opening.map[0] : opening.map[1]]
        elif opening.type in _BY_ITEMS:
            joints = [
                lines[t.map[0]] for t in tokens if t.type == "list_item_open" and t.level == 1 and t.map is not None
            ]
        yield _Block(start, end, joints), opening.type == "heading_open"

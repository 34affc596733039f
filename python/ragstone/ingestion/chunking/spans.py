"""Spans of a text, and the chunks of a document made from them. Offsets are carried along, never searched for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ragstone.metadata import MetadataValue
from ragstone.models import DocumentSection, ParsedDocument, TextChunk

__all__ = ["Span", "assemble", "next_visible", "strip"]

Span: TypeAlias = tuple[int, int]
"""Start and end, one past the last, in Unicode code points of the document's text."""

_VISIBLE: Final = re.compile(r"\S")


def next_visible(text: str, start: int, end: int) -> int | None:
    """Return the position of the first character of `text[start:end]` that is not white space, if there is one."""
    match = _VISIBLE.search(text, start, end)
    return None if match is None else match.start()


def strip(text: str, start: int, end: int) -> Span | None:
    """Return the span without white space at either end, or `None` where nothing is left."""
    first = next_visible(text, start, end)
    return None if first is None else (first, first + len(text[first:end].rstrip()))


def assemble(
    document: ParsedDocument, document_id: str, cut: Callable[[DocumentSection], Iterable[Span]]
) -> list[TextChunk]:
    """Make the chunks of a document, section by section, with the metadata of headings and pages.

    Args:
        document: What the parser made.
        document_id: Written to every chunk.
        cut: Gives the spans of one section, in order, without white space at their ends.

    Returns:
        The chunks, `chunk_index` counting from 0 through the document.
    """
    pages = _PageIndex(document)
    chunks: list[TextChunk] = []
    for section in document.sections:
        headings = _heading_metadata(section)
        chunks.extend(
            TextChunk(
                text=document.text[start:end],
                document_id=document_id,
                chunk_index=index,
                start=start,
                end=end,
                metadata={**headings, **pages.metadata(start, end)},
            )
            for index, (start, end) in enumerate(cut(section), start=len(chunks))
        )
    return chunks


def _heading_metadata(section: DocumentSection) -> dict[str, MetadataValue]:
    metadata: dict[str, MetadataValue] = {}
    if section.heading is not None:
        metadata["heading"] = section.heading
    if section.heading_level is not None:
        metadata["heading_level"] = str(section.heading_level)
    if section.heading_breadcrumb is not None:
        metadata["heading_breadcrumb"] = section.heading_breadcrumb
    return metadata


class _PageIndex:
    """Tells which pages a span lies on."""

    def __init__(self, document: ParsedDocument) -> None:
        self._starts = [page.start for page in document.pages]
        self._numbers = [page.number for page in document.pages]

    def metadata(self, start: int, end: int) -> dict[str, MetadataValue]:
        if not self._starts:
            return {}
        return {"page": self._number(start), "page_end": self._number(end - 1)}

    def _number(self, position: int) -> int:
        return self._numbers[max(0, bisect_right(self._starts, position) - 1)]

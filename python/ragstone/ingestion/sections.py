"""From headings to sections: who stands under whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ragstone.models import DocumentSection

__all__ = ["Heading", "sections_of"]

_SEPARATOR: Final = " > "


class Heading(NamedTuple):
    """A heading of a document: `text[start:end]` is its line or lines, `level` 1 the outermost."""

    start: int
    end: int
    level: int
    title: str


def sections_of(text: str, headings: Sequence[Heading], *, start: int = 0) -> tuple[DocumentSection, ...]:
    """Divide `text[start:]` at its headings.

    A section begins with its heading and ends before the next one, whatever its level; its breadcrumb names the
    headings it stands under, each of a smaller level than the one after it. What comes before the first heading is a
    section without one. A heading with nothing under it but deeper headings is no section of its own: it lives on in
    their breadcrumbs.

    Args:
        text: The document's text.
        headings: In order.
        start: Where the text to divide begins.

    Returns:
        The sections, in order.
    """
    sections: list[DocumentSection] = []
    first = headings[0].start if headings else len(text)
    if text[start:first].strip():
        sections.append(DocumentSection(start=start, end=first))
    path: list[Heading] = []
    for position, heading in enumerate(headings):
        following = headings[position + 1] if position + 1 < len(headings) else None
        end = len(text) if following is None else following.start
        path = [*(above for above in path if above.level < heading.level), heading]
        if following is not None and following.level > heading.level and not text[heading.end : end].strip():
            continue
        sections.append(
            DocumentSection(
                start=heading.start,
                end=end,
                heading=heading.title,
                heading_level=heading.level,
                heading_breadcrumb=_SEPARATOR.join(above.title for above in path),
            )
        )
    return tuple(sections)

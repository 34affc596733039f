"""Markdown: CommonMark with tables, and front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ragstone.ingestion.markdown_blocks import blocks, heading_title, line_starts
from ragstone.ingestion.parsers.decoding import check_text, decode, require_encoding
from ragstone.ingestion.sections import Heading, sections_of
from ragstone.models import ParsedDocument

__all__ = ["MarkdownParser"]

_NEWLINE: Final = r"(?:\r\n?|\n)"
_FRONT_MATTER: Final = re.compile(
    rf"---[ \t]*{_NEWLINE}"
    rf"(?=(?:[ \t]*(?:\#[^\r\n]*)?{_NEWLINE})*(?:[\w\"'][^\r\n:]*:(?:[ \t\r\n])|---|\.\.\.))"
    rf"(?:(?!(?:---|\.\.\.)[ \t]*(?:[\r\n]|\Z))[^\r\n]*{_NEWLINE})*"
    rf"(?:---|\.\.\.)[ \t]*(?:{_NEWLINE}|\Z)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownParser:
    r"""Reads Markdown: its headings, `#` and underlined ones, divide it into sections with breadcrumbs.

    The text stays as it is written, marks included, and offsets refer to it. A `#` inside of a fence is code; a heading
    inside of a list or a quotation is part of that. Front matter, a YAML block at the very top, is in no section.

    Attributes:
        encoding: How the bytes are decoded where no byte order mark says otherwise.

    Raises:
        ConfigurationError: Python does not know the encoding.

    Example:
        >>> document = MarkdownParser().parse(b"# Leave\n\n## Parents\n\n16 weeks.\n")
        >>> [section.heading_breadcrumb for section in document.sections]
        ['Leave > Parents']
    """

    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        require_encoding(self.encoding)

    @property
    def identity(self) -> str:
        """Names the parser and its settings."""
        return f"markdown(encoding={self.encoding})"

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads."""
        return ("text/markdown", "text/x-markdown")

    def can_parse(self, content_type: str) -> bool:
        """Whether it reads this MIME type."""
        return content_type in self.content_types

    def parse(self, content: bytes) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The bytes are not text in this encoding; names the offset.
        """
        return self.parse_text(decode(content, self.encoding))

    def parse_text(self, text: str) -> ParsedDocument:
        """Parse text that is decoded already; offsets refer to it.

        Raises:
            ParseError: It holds a NUL character or half of a surrogate pair.
        """
        front_matter = _FRONT_MATTER.match(check_text(text))
        start = 0 if front_matter is None else front_matter.end()
        return ParsedDocument(text=text, sections=sections_of(text, list(_headings(text, start)), start=start))


def _headings(text: str, start: int) -> Iterator[Heading]:
    lines = line_starts(text, start, len(text))
    for opening, tokens in blocks(text[start:]):
        if opening.type == "heading_open" and opening.map is not None:
            first, end = opening.map
            title = heading_title(tokens[1].content)
            if title:
                yield Heading(lines[first], lines[end], int(opening.tag[1:]), title)

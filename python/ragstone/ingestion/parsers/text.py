"""Plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.ingestion.parsers.decoding import check_text, decode, require_encoding
from ragstone.models import DocumentSection, ParsedDocument

__all__ = ["TextParser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextParser:
    r"""Reads plain text as one section.

    Attributes:
        encoding: How the bytes are decoded where no byte order mark (UTF-8, UTF-16, UTF-32) says otherwise.

    Raises:
        ConfigurationError: Python does not know the encoding.

    Example:
        >>> TextParser(encoding="latin-1").parse(b"caf\xe9").text
        'café'
    """

    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        require_encoding(self.encoding)

    @property
    def identity(self) -> str:
        """Names the parser and its settings."""
        return f"text(encoding={self.encoding})"

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads."""
        return ("text/plain",)

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
        return ParsedDocument(text=check_text(text), sections=(DocumentSection(start=0, end=len(text)),))

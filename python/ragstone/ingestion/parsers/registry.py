"""Choosing the parser of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.errors import ParseError, UnsupportedContentTypeError
from ragstone.ingestion.parsers.content_types import content_type_of, parse_content_type
from ragstone.ingestion.parsers.decoding import damaged, decode, require_encoding
from ragstone.ingestion.parsers.docx import DocxParser
from ragstone.ingestion.parsers.html import HtmlParser
from ragstone.ingestion.parsers.markdown import MarkdownParser
from ragstone.ingestion.parsers.pdf import PdfParser
from ragstone.ingestion.parsers.text import TextParser
from ragstone.models import ParsedDocument
from ragstone.ports import DocumentParser, TextDocumentParser

__all__ = ["ParserRegistry", "default_parsers"]


def default_parsers() -> tuple[DocumentParser, ...]:
    """Return the parsers that a pipeline has unless told otherwise: text, Markdown, HTML, PDF and DOCX.

    Those for HTML, PDF and DOCX need extras, and say so when such a document comes. To add one of your own, or to put
    one in place of one of these, name it first: `(MyParser(), *default_parsers())`.
    """
    return (TextParser(), MarkdownParser(), HtmlParser(), PdfParser(), DocxParser())


@dataclass(frozen=True, slots=True)
class ParserRegistry:
    """Several parsers: the first that can read a content type reads it."""

    parsers: Sequence[DocumentParser]

    def supports(self, file_name: str) -> bool:
        """Whether a file of this name would be read."""
        content_type = content_type_of(file_name)
        return content_type is not None and any(parser.can_parse(content_type) for parser in self.parsers)

    def find(self, content_type: str) -> DocumentParser:
        """Return the parser of a content type, which may carry parameters such as a charset.

        Raises:
            UnsupportedContentTypeError: None of them reads it; lists the types that are read.
        """
        mime_type, _ = parse_content_type(content_type)
        for parser in self.parsers:
            if parser.can_parse(mime_type):
                return parser
        raise UnsupportedContentTypeError(f"no parser reads the content type {content_type!r}: {self._known()}")

    def content_type(self, declared: str | None, file_name: str | None) -> str:
        """Return the content type that is declared, else the one that the file name stands for.

        Raises:
            UnsupportedContentTypeError: Neither tells it.
        """
        if declared is not None:
            return declared
        if file_name is None:
            raise UnsupportedContentTypeError(
                f"neither content_type nor file_name tells what the bytes are: {self._known()}"
            )
        found = content_type_of(file_name)
        if found is None:
            raise UnsupportedContentTypeError(f"the file name {file_name!r} does not tell its type: {self._known()}")
        return found

    def parse(self, content: bytes | str, content_type: str) -> ParsedDocument:
        """Parse bytes, or text that is decoded already.

        Raises:
            UnsupportedContentTypeError: No parser reads the type, or the one that does reads bytes only.
            ParseError: The parser cannot make sense of the content.
            MissingDependencyError: The parser needs a package that is not installed.
        """
        parser = self.find(content_type)
        _, charset = parse_content_type(content_type)
        with damaged(f"document of type {content_type}"):
            if isinstance(parser, TextDocumentParser):
                if isinstance(content, bytes) and charset is None:
                    return parser.parse(content)
                return parser.parse_text(
                    content if isinstance(content, str) else _decode_declared(content, str(charset))
                )
            if isinstance(content, bytes):
                return parser.parse(content)
        raise UnsupportedContentTypeError(f"the content type {content_type!r} is read from bytes only, not from text")

    def _known(self) -> str:
        types = sorted({content_type for parser in self.parsers for content_type in parser.content_types})
        return f"give one of {', '.join(types)}, or add a parser"


def _decode_declared(content: bytes, charset: str) -> str:
    try:
        return decode(content, require_encoding(charset))
    except ValueError as error:
        raise ParseError(
            f"the content type declares the charset {charset!r}, which is not known: convert to UTF-8"
        ) from error

"""Parsers: each makes text, sections and pages of the bytes of one kind of document."""

from ragstone.ingestion.parsers.docx import DocxParser
from ragstone.ingestion.parsers.html import HtmlParser
from ragstone.ingestion.parsers.markdown import MarkdownParser
from ragstone.ingestion.parsers.pdf import PdfParser
from ragstone.ingestion.parsers.registry import ParserRegistry, default_parsers
from ragstone.ingestion.parsers.text import TextParser

__all__ = [
    "DocxParser",
    "HtmlParser",
    "MarkdownParser",
    "ParserRegistry",
    "PdfParser",
    "TextParser",
    "default_parsers",
]

"""Ingestion: from documents to chunks that can be found, one whole document at a time."""

from ragstone.ingestion.chunking import MarkdownChunker, RecursiveChunker, SentenceChunker, TokenChunker
from ragstone.ingestion.ingestor import Ingestor
from ragstone.ingestion.parsers import (
    DocxParser,
    HtmlParser,
    MarkdownParser,
    ParserRegistry,
    PdfParser,
    TextParser,
    default_parsers,
)

__all__ = [
    "DocxParser",
    "HtmlParser",
    "Ingestor",
    "MarkdownChunker",
    "MarkdownParser",
    "ParserRegistry",
    "PdfParser",
    "RecursiveChunker",
    "SentenceChunker",
    "TextParser",
    "TokenChunker",
    "default_parsers",
]

"""Chunkers: each cuts a parsed document, section by section, into chunks with exact offsets."""

from ragstone.ingestion.chunking.markdown import MarkdownChunker
from ragstone.ingestion.chunking.recursive import RecursiveChunker
from ragstone.ingestion.chunking.sentence import SentenceChunker
from ragstone.ingestion.chunking.tokens import TokenChunker

__all__ = ["MarkdownChunker", "RecursiveChunker", "SentenceChunker", "TokenChunker"]

"""Answering: retrieve, assemble the messages, ask a chat model; and conversations over it."""

from ragstone.answering.citations import Citation, read_citations
from ragstone.answering.prompt import DEFAULT_SYSTEM_PROMPT, assemble_messages, format_sources
from ragstone.answering.response import RagResponse, RagStreamingUpdate

__all__ = [
    "DEFAULT_SYSTEM_PROMPT",
    "Citation",
    "RagResponse",
    "RagStreamingUpdate",
    "assemble_messages",
    "format_sources",
    "read_citations",
]

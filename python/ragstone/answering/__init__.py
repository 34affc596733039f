"""Answering: retrieve, assemble the messages, ask a chat model; and conversations over it."""

from ragstone.answering.citations import Citation, read_citations
from ragstone.answering.conversation import Conversation
from ragstone.answering.history import ConversationMemory, fit_history
from ragstone.answering.memory import PersistentMemory, RememberedTurn
from ragstone.answering.prompt import DEFAULT_SYSTEM_PROMPT, assemble_messages, format_sources
from ragstone.answering.response import RagResponse, RagStreamingUpdate

__all__ = [
    "DEFAULT_SYSTEM_PROMPT",
    "Citation",
    "Conversation",
    "ConversationMemory",
    "PersistentMemory",
    "RagResponse",
    "RagStreamingUpdate",
    "RememberedTurn",
    "assemble_messages",
    "fit_history",
    "format_sources",
    "read_citations",
]

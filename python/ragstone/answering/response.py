"""What asking answers: the response, and the pieces of one that is streamed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ragstone.answering.citations import Citation
from ragstone.models import ChatMessage, SearchResult, TokenUsage
from ragstone.retrieval.page import SearchPage

__all__ = ["RagResponse", "RagStreamingUpdate"]


@dataclass(frozen=True, kw_only=True)
class RagResponse:
    """An answer, what it rests on, and the record of how it came about.

    Attributes:
        answer: What the model said.
        citations: The places where the answer cites a source.
        page: The page that was retrieved for it, with the record of the retrieval.
        messages: What the model was asked.
        model: The model that answered, as its service names it.
        finish_reason: Why the answer ended, as the service says it: `stop`, `length`, …
        usage: Tokens, where the service counts them.
        seconds: Wall time of the model's answer.
        warnings: What did not go as asked, one line each, in retrieval and in the answer.
    """

    answer: str
    citations: tuple[Citation, ...] = ()
    page: SearchPage
    messages: tuple[ChatMessage, ...] = field(default=(), repr=False)
    model: str | None = None
    finish_reason: str | None = None
    usage: TokenUsage | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[SearchResult, ...]:
        """What the model was given, in the order of the numbers: complete text and score, compressed text beside it."""
        return self.page.results

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, strings and numbers, ready for JSON."""
        usage = self.usage
        return {
            "answer": self.answer,
            "citations": [_citation(each) for each in self.citations],
            "model": self.model,
            "finish_reason": self.finish_reason,
            "usage": None
            if usage is None
            else {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens},
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "messages": [dict(message) for message in self.messages],
            "page": self.page.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RagStreamingUpdate:
    """A piece of a streamed answer; exactly one of the fields is set.

    Attributes:
        text_delta: More of the answer.
        sources: What the model is given; comes once, first.
        response: The whole, with its citations and tokens; comes once, last.
    """

    text_delta: str | None = None
    sources: tuple[SearchResult, ...] | None = None
    response: RagResponse | None = None


def _citation(citation: Citation) -> dict[str, Any]:
    start, end = citation.document_span
    return {
        "source": citation.source,
        "start": citation.start,
        "end": citation.end,
        "document_id": citation.document_id,
        "chunk_index": citation.chunk.chunk_index,
        "document_start": start,
        "document_end": end,
    }

"""A small corpus, and a chat model that tells the techniques' questions apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ragstone as rs
from ragstone.stores import InMemoryBm25Index
from ragstone.testing import HashEmbedder, ScriptedChat

TEXTS = {
    "leave": "New parents take sixteen weeks of paid leave.",
    "sick": "Call in before nine when you are ill.",
    "laptop": "A lost laptop is reported to the help desk.",
    "travel": "Travel expenses are refunded within thirty days.",
    "lunch": "Lunch is served at noon in the canteen.",
    "tower": "The tower is ninety metres high.",
}
HYDE = "HYPOTHESIS {query}"
MULTI_QUERY = "VARIANTS {count} {query}"
SUFFICIENT = "VERDICT {query}\n{sources}"
SECRET = "zanzibar-quokka"
"""A word for queries that must not be found in a log."""

Answer = str | Exception | Callable[[str], str | Exception]


def asked(prompt: str) -> str:
    """The technique that put this question."""
    starts = {
        "HYPOTHESIS": "hyde",
        "VARIANTS": "multi_query",
        "VERDICT": "verdict",
        "Classify": "adaptive",
        "Does": "crag",
        "Give": "abstract",
        "Context:": "answer",
    }
    return next(name for start, name in starts.items() if prompt.startswith(start))


def chat_of(**answers: Answer) -> ScriptedChat:
    """A chat model with an answer, or a function of the prompt, for each of `hyde`, `multi_query`, `verdict`, …"""
    return ScriptedChat(reply_of(answers))


def reply_of(answers: Mapping[str, Answer]) -> Callable[[object], str | Exception]:
    def reply(messages) -> str | Exception:
        prompt = messages[-1]["content"]
        answer = answers[asked(prompt)]
        return answer(prompt) if callable(answer) else answer

    return reply


def prompts(chat: ScriptedChat, technique: str | None = None) -> list[str]:
    """What the chat model was asked, by one technique or all."""
    every = [request.messages[-1]["content"] for request in chat.requests]
    return [prompt for prompt in every if technique is None or asked(prompt) == technique]


class FailsOn(InMemoryBm25Index):
    """A keyword index that fails on one query."""

    def __init__(self, query: str, error: Exception) -> None:
        super().__init__()
        self._query, self._error = query, error

    def search(self, query, top_k, metadata_filter=None):
        if query == self._query:
            raise self._error
        return super().search(query, top_k, metadata_filter)


async def pipeline(**parts) -> rs.RagPipeline:
    """A pipeline that holds the corpus; the embedder's calls so far are forgotten."""
    embedder = parts.setdefault("embedder", HashEmbedder(512))
    rag = rs.RagPipeline(**parts)
    for name, text in TEXTS.items():
        await rag.ingest_text(text, rs.DocumentMetadata(document_id=name, tags={"size": len(text)}))
    if isinstance(embedder, HashEmbedder):
        embedder.requests.clear()
    return rag


def names(page) -> list[str]:
    return [hit.chunk.document_id for hit in page]

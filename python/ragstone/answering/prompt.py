"""What a chat model is asked: pure functions from a query, sources and history to messages.

The order of the messages is a contract: system messages that lead the history, the system prompt, the rest of the
history, then the question.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from ragstone.models import ChatMessage

__all__ = ["DEFAULT_SYSTEM_PROMPT", "assemble_messages", "format_sources", "leading_system_messages"]

DEFAULT_SYSTEM_PROMPT: Final = (
    "You answer questions from the numbered sources that come with them, and from nothing else. "
    "Where the sources do not hold the answer, say so instead of guessing. "
    "After each statement name the sources that it rests on, such as [Source 1]."
)

_SEPARATOR: Final = "\n\n---\n\n"
_TOOL: Final = "search_documents"
# Some services take only ids of nine letters and digits. The id is always the same so that equal prompts are equal.
_TOOL_CALL_ID: Final = "retrieval"


def assemble_messages(
    query: str,
    sources: Sequence[str],
    *,
    system_prompt: str | None = None,
    history: Sequence[ChatMessage] = (),
    as_tool_result: bool = False,
) -> tuple[ChatMessage, ...]:
    r"""Return the messages that ask `query` of `sources`.

    Args:
        query: The question, word for word.
        sources: The texts, in the order of their numbers.
        system_prompt: Takes the place of `DEFAULT_SYSTEM_PROMPT`; an empty one too.
        history: Earlier messages; they are not changed.
        as_tool_result: Send the query alone, then a call of a tool and its result, which holds the sources.

    Example:
        >>> print(assemble_messages("how long?", ["16 weeks"])[-1]["content"])
        Context:
        [Source 1]
        16 weeks
        <BLANKLINE>
        Question: how long?
    """
    leading = leading_system_messages(history)
    system = {"role": "system", "content": DEFAULT_SYSTEM_PROMPT if system_prompt is None else system_prompt}
    question = _by_tool(query, sources) if as_tool_result else _by_user(query, sources)
    return (*map(dict, leading), system, *map(dict, history[len(leading) :]), *question)


def format_sources(texts: Sequence[str]) -> str:
    """Join texts, each headed by its number: what an answer cites as `[Source 1]`."""
    return _SEPARATOR.join(f"[Source {number}]\n{text}" for number, text in enumerate(texts, start=1))


def leading_system_messages(history: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the system messages that a history begins with: the host's own, which nothing goes before."""
    return list(takewhile(lambda message: message["role"] in ("system", "developer"), history))


def _by_user(query: str, sources: Sequence[str]) -> list[ChatMessage]:
    return [{"role": "user", "content": f"Context:\n{format_sources(sources)}\n\nQuestion: {query}"}]


def _by_tool(query: str, sources: Sequence[str]) -> list[ChatMessage]:
    function = {"name": _TOOL, "arguments": json.dumps({"query": query}, ensure_ascii=False)}
    call = {"id": _TOOL_CALL_ID, "type": "function", "function": function}
    return [
        {"role": "user", "content": query},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": _TOOL_CALL_ID, "content": format_sources(sources)},
    ]

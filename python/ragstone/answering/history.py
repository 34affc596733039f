"""Earlier messages cut to a budget of tokens, and the turns of one conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ragstone.answering.prompt import leading_system_messages
from ragstone.engine.tokens import EncodingCounter
from ragstone.models import ChatMessage
from ragstone.ports import TokenCounter
from ragstone.validation import require_at_least

__all__ = ["ConversationMemory", "fit_history"]

_CL100K: Final = EncodingCounter()


def fit_history(
    messages: Sequence[ChatMessage], max_tokens: int, *, token_counter: TokenCounter | None = None
) -> tuple[ChatMessage, ...]:
    """Return the newest turns that fit a budget, whole, behind the system messages that lead.

    A turn is a user's message and all that follows until the next. Leading system messages always stay, and count. What
    services add around each message does not count.

    Args:
        messages: The history, oldest first.
        max_tokens: The budget.
        token_counter: Counts; cl100k_base when left out.

    Example:
        >>> talk = [{"role": "user", "content": "hello " * 50}, {"role": "user", "content": "and now?"}]
        >>> fit_history(talk, 10)
        ({'role': 'user', 'content': 'and now?'},)
    """
    leading = leading_system_messages(messages)
    rest = messages[len(leading) :]
    counts = (token_counter or _CL100K).count([_text(message) for message in messages])
    left = max_tokens - sum(counts[: len(leading)])
    start = len(rest)
    for first, end in reversed(_turns(rest)):
        left -= sum(counts[len(leading) + first : len(leading) + end])
        if left < 0:
            break
        start = first
    return (*leading, *rest[start:])


class ConversationMemory:
    """The turns of one conversation, the newest that fit a budget of tokens.

    Args:
        max_tokens: The budget, at least 1.
        token_counter: Counts; cl100k_base when left out, the same as for `max_context_tokens`.

    Raises:
        ConfigurationError: `max_tokens` is below 1.

    Example:
        >>> memory = ConversationMemory(max_tokens=100)
        >>> memory.add("How long is leave?", "16 weeks.")
        >>> [message["role"] for message in memory.messages]
        ['user', 'assistant']
    """

    def __init__(self, max_tokens: int = 2000, *, token_counter: TokenCounter | None = None) -> None:
        self.max_tokens = require_at_least("max_tokens", max_tokens, 1)
        self.token_counter = token_counter
        self._messages: tuple[ChatMessage, ...] = ()

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The turns that are kept, oldest first."""
        return self._messages

    def add(self, question: str, answer: str) -> None:
        """Keep a turn, and let go of the oldest that do not fit any more."""
        turn = ({"role": "user", "content": question}, {"role": "assistant", "content": answer})
        self._messages = fit_history((*self._messages, *turn), self.max_tokens, token_counter=self.token_counter)

    def clear(self) -> None:
        """Forget all turns."""
        self._messages = ()


def _turns(messages: Sequence[ChatMessage]) -> list[tuple[int, int]]:
    """The first message of each turn, and one past its last."""
    starts = [place for place, message in enumerate(messages) if place == 0 or message["role"] == "user"]
    return list(pairwise([*starts, len(messages)]))


def _text(message: ChatMessage) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(dict(message), ensure_ascii=False)

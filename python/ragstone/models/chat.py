"""Talking to a chat model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "ChatDelta",
    "ChatMessage",
    "ChatReply",
    "TokenUsage",
]


ChatMessage: TypeAlias = Mapping[str, Any]
"""A chat message as chat completions APIs take it: `{"role": …, "content": …}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """What a model counted: tokens of the prompt and of the answer."""

    prompt_tokens: int
    completion_tokens: int

    @property
    def total_tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A model's whole answer.

    Attributes:
        text: What it said.
        model: The model that answered, as the service names it; `None` where it does not.
        finish_reason: Why it ended, as the service says it: `stop`, `length`, …
        usage: Tokens, where the service counts them.
    """

    text: str
    model: str | None = None
    finish_reason: str | None = None
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDelta:
    """A piece of a streamed answer; the last ones may carry no text but the reason it ended and the tokens."""

    text: str = ""
    model: str | None = None
    finish_reason: str | None = None
    usage: TokenUsage | None = None

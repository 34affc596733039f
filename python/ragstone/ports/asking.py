"""What an answer is asked of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, runtime_checkable

from ragstone.models import ChatDelta, ChatMessage, ChatReply

__all__ = ["ChatClient", "PromptObserver"]


@runtime_checkable
class ChatClient(Protocol):
    """Talks to a chat model."""

    @property
    def identity(self) -> str:
        """Names the service, the model and its settings; part of cache keys and of the record."""
        ...

    async def complete(self, messages: Sequence[ChatMessage], *, temperature: float | None = None) -> ChatReply:
        """Return the model's answer. `temperature` `None` is the model's own.

        Raises:
            ChatError: The model failed or gave no answer.
        """
        ...

    def stream(self, messages: Sequence[ChatMessage], *, temperature: float | None = None) -> AsyncIterator[ChatDelta]:
        """Yield the answer piece by piece. Closing an asynchronous generator early ends the request.

        Raises:
            ChatError: The model failed.
        """
        ...


@runtime_checkable
class PromptObserver(Protocol):
    """Sees what a chat model is asked, just before it is asked. What it raises is logged and changes nothing."""

    def on_prompt(self, messages: Sequence[ChatMessage]) -> None:
        """Take note of the messages; they must not be changed. Called on the event loop: it must be quick."""
        ...

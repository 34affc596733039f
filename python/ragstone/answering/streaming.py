"""Reading a model's stream: its pieces put together, and its end made sure of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from ragstone.models import ChatDelta, ChatReply, TokenUsage

__all__ = ["StreamedReply", "closing"]


class StreamedReply:
    """A reply that comes in pieces."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._model: str | None = None
        self._finish_reason: str | None = None
        self._usage: TokenUsage | None = None

    def add(self, delta: ChatDelta) -> None:
        """Take the next piece."""
        if delta.text:
            self._texts.append(delta.text)
        self._model = delta.model or self._model
        self._finish_reason = delta.finish_reason or self._finish_reason
        self._usage = delta.usage or self._usage

    @property
    def reply(self) -> ChatReply:
        """What came so far."""
        return ChatReply(
            text="".join(self._texts), model=self._model, finish_reason=self._finish_reason, usage=self._usage
        )


@asynccontextmanager
async def closing(deltas: AsyncIterator[ChatDelta]) -> AsyncGenerator[AsyncIterator[ChatDelta], None]:
    """Close a model's stream at the end of the block, however it ends, if it can be closed."""
    try:
        yield deltas
    finally:
        close = getattr(deltas, "aclose", None)
        if close is not None:
            await close()

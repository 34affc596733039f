"""Chat models for tests: they say what the test tells them to, instantly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, TypeAlias

from ragstone.errors import ChatError
from ragstone.models import ChatDelta, ChatMessage, ChatReply, TokenUsage
from ragstone.testing._faults import Gate, PlannedFailure
from ragstone.validation import require_at_least

__all__ = ["ChatRequest", "FailingChat", "HangingChat", "Reply", "ScriptedChat"]

Reply: TypeAlias = str | ChatReply | Exception
"""What a scripted model does when it is asked: it says a text, gives a whole reply, or raises."""


class ChatRequest(NamedTuple):
    """One call of `complete` or `stream`: what was asked for."""

    messages: tuple[ChatMessage, ...]
    temperature: float | None


class ScriptedChat:
    """A chat model that answers by a script, whole or in pieces.

    A text becomes a reply of the model `scripted` that ended by itself, its usage counted in words.

    Attributes:
        requests: Every call so far, in order; the messages are copies.
        open_streams: How many streams have begun and not ended; 0 once each was read to its end or closed.

    Args:
        replies: One reply a call, in order, after which a call is a `ChatError`; a function that is given the messages;
            or one text, which answers every call.
        chunk_size: Characters in a piece of a stream.

    Raises:
        ConfigurationError: `chunk_size` is below 1.

    Example:
        >>> import asyncio
        >>> chat = ScriptedChat(["yes", "no"])
        >>> asyncio.run(chat.complete([{"role": "user", "content": "is it?"}])).text
        'yes'
        >>> chat.requests[0].messages[0]["content"]
        'is it?'
    """

    def __init__(
        self, replies: str | Sequence[Reply] | Callable[[Sequence[ChatMessage]], Reply] = "", *, chunk_size: int = 4
    ) -> None:
        self._script = replies if isinstance(replies, str) or callable(replies) else tuple(replies)
        self._chunk_size = require_at_least("chunk_size", chunk_size, 1)
        self.requests: list[ChatRequest] = []
        self.open_streams = 0
        self._said = ""

    @property
    def identity(self) -> str:
        """Names the fake."""
        return f"ragstone.testing.{type(self).__name__}"

    @property
    def calls(self) -> int:
        """How many times the model was asked, whole or streamed."""
        return len(self.requests)

    async def complete(self, messages: Sequence[ChatMessage], *, temperature: float | None = None) -> ChatReply:
        """Record the call and return the script's next reply.

        Raises:
            Exception: The script says so; a `ChatError` where it is at its end.
        """
        self._record(messages, temperature)
        await self._pause()
        return self._answer(messages)

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float | None = None
    ) -> AsyncIterator[ChatDelta]:
        """Record the call and yield the script's next reply in pieces; the last carries no text but the rest.

        Raises:
            Exception: As `complete`.
        """
        self.open_streams += 1
        try:
            self._record(messages, temperature)
            if self._said:
                yield ChatDelta(text=self._said)
            await self._pause()
            reply = self._answer(messages)
            for start in range(0, len(reply.text), self._chunk_size):
                yield ChatDelta(text=reply.text[start : start + self._chunk_size])
            yield ChatDelta(model=reply.model, finish_reason=reply.finish_reason, usage=reply.usage)
        finally:
            self.open_streams -= 1

    async def _pause(self) -> None:
        """What happens between a call and its answer: nothing."""

    def _record(self, messages: Sequence[ChatMessage], temperature: float | None) -> None:
        self.requests.append(ChatRequest(tuple(dict(message) for message in messages), temperature))

    def _answer(self, messages: Sequence[ChatMessage]) -> ChatReply:
        reply = self._next(messages)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ChatReply):
            return reply
        words = sum(len(str(message.get("content") or "").split()) for message in messages)
        usage = TokenUsage(prompt_tokens=words, completion_tokens=len(reply.split()))
        return ChatReply(text=reply, model="scripted", finish_reason="stop", usage=usage)

    def _next(self, messages: Sequence[ChatMessage]) -> Reply:
        if isinstance(self._script, str):
            return self._script
        if callable(self._script):
            return self._script(messages)
        if self.calls > len(self._script):
            raise ChatError(f"the script holds {len(self._script)} replies, and this is call {self.calls}")
        return self._script[self.calls - 1]


class FailingChat(ScriptedChat):
    """A `ScriptedChat` that fails.

    Args:
        error: What it raises; a `ChatError` by default.
        after: How many calls succeed first.
        said: What each stream yields first, as one piece, so that one that fails breaks in the middle.
        replies: As in `ScriptedChat`, for the calls that succeed.
    """

    def __init__(
        self,
        error: Exception | None = None,
        *,
        after: int = 0,
        said: str = "",
        replies: str | Sequence[Reply] | Callable[[Sequence[ChatMessage]], Reply] = "",
    ) -> None:
        super().__init__(replies)
        self._failure = PlannedFailure(error or ChatError("the chat model failed, as the test told it to"), after)
        self._said = said

    def _next(self, messages: Sequence[ChatMessage]) -> Reply:
        return self._failure.error if self._failure.is_due(self.calls) else super()._next(messages)


class HangingChat(ScriptedChat, Gate):
    """A `ScriptedChat` that does not answer until `release` is set, to test cancellation and time limits.

    Attributes:
        started: Set when a call has come and waits.
        release: Set it to let every call answer.
        cancelled: How many calls were cancelled while they waited.

    Args:
        replies: As in `ScriptedChat`.
        said: What each stream yields first, as one piece, so that it hangs in the middle.
    """

    def __init__(
        self, replies: str | Sequence[Reply] | Callable[[Sequence[ChatMessage]], Reply] = "", *, said: str = ""
    ) -> None:
        super().__init__(replies)
        self._said = said
        Gate.__init__(self)

    async def _pause(self) -> None:
        await self._held()

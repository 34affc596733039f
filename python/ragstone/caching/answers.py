"""Answers remembered by the exact messages: a chat client around another."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, nullcontext
from typing import Any, Final

from ragstone.caching.keys import Undescribable, key_of
from ragstone.caching.levels import TwoLevelCache
from ragstone.models import ChatDelta, ChatMessage, ChatReply
from ragstone.ports import CacheBackend, ChatClient, Clock

__all__ = ["CachingChat"]

_WHOLE: Final = (None, "stop")
"""The ends of an answer that the model itself finished."""


class CachingChat:
    """A chat client that asks another only for what it does not remember.

    An answer is remembered by the client's identity, every message and the temperature, if the model finished it. It is
    replayed as one piece where it is streamed, and without `usage`, since it took no tokens. Leave out where answers
    are meant to differ, as hypotheses and variants are.

    Args:
        chat: The client to ask.
        ttl: Seconds that an answer is remembered.
        max_entries: How many are kept in process.
        clock: Tells the time; the system's when left out.
        backend: A cache beyond the process.
    """

    def __init__(
        self,
        chat: ChatClient,
        *,
        ttl: float,
        max_entries: int = 4096,
        clock: Clock | None = None,
        backend: CacheBackend | None = None,
    ) -> None:
        self._chat = chat
        self._cache = TwoLevelCache(_ReplyCodec(), ttl=ttl, max_entries=max_entries, clock=clock, backend=backend)

    @property
    def identity(self) -> str:
        """That of the client inside."""
        return self._chat.identity

    async def complete(self, messages: Sequence[ChatMessage], *, temperature: float | None = None) -> ChatReply:
        """Return the remembered answer, or the model's.

        Raises:
            ChatError: The model failed or gave no answer; nothing is remembered.
        """
        key = self._key(messages, temperature)
        held = None if key is None else await self._cache.get(key)
        if held is not None:
            return held
        reply = await self._chat.complete(messages, temperature=temperature)
        await self._keep(key, reply)
        return reply

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float | None = None
    ) -> AsyncGenerator[ChatDelta, None]:
        """Yield the remembered answer in one piece, or the model's piece by piece.

        Raises:
            ChatError: The model failed; nothing is remembered, nor is an answer that its reader broke off.
        """
        key = self._key(messages, temperature)
        held = None if key is None else await self._cache.get(key)
        if held is not None:
            yield ChatDelta(text=held.text, model=held.model, finish_reason=held.finish_reason)
            return
        pieces: list[ChatDelta] = []
        deltas: Any = self._chat.stream(messages, temperature=temperature)
        async with aclosing(deltas) if hasattr(deltas, "aclose") else nullcontext():
            async for delta in deltas:
                pieces.append(delta)
                yield delta
        await self._keep(key, _whole(pieces))

    def _key(self, messages: Sequence[ChatMessage], temperature: float | None) -> str | None:
        try:
            return key_of("answer", self._chat.identity, list(messages), temperature)
        except Undescribable:
            return None

    async def _keep(self, key: str | None, reply: ChatReply) -> None:
        if key is not None and reply.text and reply.finish_reason in _WHOLE:
            await self._cache.set(key, ChatReply(text=reply.text, model=reply.model, finish_reason=reply.finish_reason))


def _whole(pieces: Sequence[ChatDelta]) -> ChatReply:
    """The answer that these pieces are."""
    models = [piece.model for piece in pieces if piece.model is not None]
    ends = [piece.finish_reason for piece in pieces if piece.finish_reason is not None]
    return ChatReply(
        text="".join(piece.text for piece in pieces),
        model=models[-1] if models else None,
        finish_reason=ends[-1] if ends else None,
    )


class _ReplyCodec:
    """Answers as JSON."""

    def encode(self, value: ChatReply) -> bytes:
        return json.dumps([value.text, value.model, value.finish_reason]).encode("ascii")

    def decode(self, content: bytes) -> ChatReply:
        text, model, finish_reason = json.loads(content)
        if not (isinstance(text, str) and isinstance(model, str | None) and isinstance(finish_reason, str | None)):
            raise ValueError("not a reply")  # noqa: TRY004  what the codec's protocol names
        return ChatReply(text=text, model=model, finish_reason=finish_reason)

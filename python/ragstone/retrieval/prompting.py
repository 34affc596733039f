"""One question to the chat model, as the techniques put it."""

from __future__ import annotations

import asyncio
from typing import Final

from ragstone.errors import ChatError
from ragstone.faults import tried
from ragstone.ports import ChatClient

__all__ = ["ask", "turns"]

_AT_ONCE: Final = 4


def turns() -> asyncio.Semaphore:
    """Return what lets one stage of one call put four questions at a time."""
    return asyncio.Semaphore(_AT_ONCE)


async def ask(chat: ChatClient, prompt: str, *, temperature: float | None = None) -> str | Exception:
    """Return what the model says to a prompt, or why it says nothing; an empty answer is a `ChatError`.

    Raises:
        ConfigurationError: The set-up is at fault.
        InvalidInputError: The call is at fault.
    """
    reply = await tried(chat.complete([{"role": "user", "content": prompt}], temperature=temperature))
    if isinstance(reply, Exception):
        return reply
    return reply.text.strip() or ChatError("the model's answer is empty")

"""What is done with a step that fails: whether it may go on, and how it says so."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar

from ragstone.concurrency import together
from ragstone.errors import ConfigurationError, InvalidInputError, RagError

__all__ = ["SETUP_FAULTS", "described", "tried"]

T = TypeVar("T")

SETUP_FAULTS: Final = (ConfigurationError, InvalidInputError)
"""Faults of the call or the set-up: nothing may paper over them."""


async def tried(step: Awaitable[T]) -> T | Exception:
    """Return what a step gives, or what it failed with.

    Raises:
        ConfigurationError: As the step raised it.
        InvalidInputError: As the step raised it.
        asyncio.CancelledError: The caller was cancelled, even where the step made another error of it.
    """
    try:
        # In a task of its own, so that the caller learns of its cancellation whatever the step makes of it.
        (outcome,) = await together([step])
    except SETUP_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001  a step may fail in any way
        return error
    return outcome


def described(error: Exception) -> str:
    """Say what went wrong in a line without private text: an error that is not Ragstone's might quote some."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, RagError) else name

"""Keeping the event loop free: work of more than about a millisecond runs in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["offload"]

P = ParamSpec("P")
R = TypeVar("R")


async def offload(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a blocking function in a worker thread and return its result.

    The thread sees the caller's context variables. It pays off where the function releases the interpreter lock, as the
    Rust engine does, or waits for a disk.

    A caller that is cancelled gets `asyncio.CancelledError` at once. Work that had not begun never begins; a call that
    runs already cannot be stopped and finishes on its own, its result dropped. So hand over only functions that take
    effect as a whole or not at all, such as one call of an index: a cancelled write is then complete or absent, never
    half done. It may still land after what the caller does next; where the order matters, shield the await instead.

    Args:
        function: What to call.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Raises:
        Exception: Whatever `function` raises.

    Example:
        >>> import asyncio
        >>> asyncio.run(offload(sum, [1, 2, 3]))
        6
    """
    return await asyncio.to_thread(function, *args, **kwargs)

"""Preparing a backend on first use: once, by one caller, and remembered only when it succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["Once"]


class Once:
    """Runs a preparation before first use. Callers that come meanwhile wait; a failure is tried again by the next.

    Example:
        >>> import asyncio
        >>> async def main() -> list[str]:
        ...     done: list[str] = []
        ...
        ...     async def prepare() -> None:
        ...         done.append("prepared")
        ...
        ...     once = Once(prepare)
        ...     await asyncio.gather(once(), once())
        ...     return done
        >>> asyncio.run(main())
        ['prepared']
    """

    __slots__ = ("_done", "_lock", "_prepare")

    def __init__(self, prepare: Callable[[], Awaitable[None]]) -> None:
        self._prepare = prepare
        self._lock = asyncio.Lock()
        self._done = False

    async def __call__(self) -> None:
        """Prepare, unless that was done.

        Raises:
            Exception: Whatever the preparation raises.
        """
        if self._done:
            return
        async with self._lock:
            if not self._done:
                await self._prepare()
                self._done = True

    def reset(self) -> None:
        """Forget that it was done, for what was prepared is gone."""
        self._done = False

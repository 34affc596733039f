"""How fakes fail and hang, all in the same way."""

from __future__ import annotations

import asyncio

from ragstone.validation import require_at_least

__all__ = ["Gate", "PlannedFailure"]


class PlannedFailure:
    """Lets a number of calls succeed, and fails the others."""

    __slots__ = ("after", "error")

    def __init__(self, error: Exception, after: int) -> None:
        self.error = error
        self.after = require_at_least("after", after, 0)

    def is_due(self, calls: int) -> bool:
        """Whether the call with this number, from 1, is to fail."""
        return calls > self.after

    def strike(self, calls: int) -> None:
        """Fail the call with this number, if it is to fail.

        Raises:
            Exception: The planned error.
        """
        if self.is_due(calls):
            raise self.error


class Gate:
    """Holds calls back until it is released: what every fake that hangs is as well.

    Attributes:
        started: Set when a call has come and waits.
        release: Set it to let every call answer.
        cancelled: How many calls were cancelled while they waited.
    """

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = 0

    async def _held(self) -> None:
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

"""Collaborators that answer, fail or hang as a switch says, whatever they are."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ragstone.errors import RagError

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds after which a test that should have gone on has failed."""


class Switch:
    """What becomes of the calls of a collaborator.

    Attributes:
        mode: `answer`; `error`, in which they fail; `hang`, in which they wait until they are cancelled; `stubborn`, in
            which they wait as well, and make an error of their own of the cancellation, as careless clients do.
        error: What they fail with.
        calls: How many there were.
        cancelled: How many were cancelled while they waited.
        started: Set when a call waits.
        released: Lets blocking calls end that wait.
    """

    def __init__(self) -> None:
        self.mode = "answer"
        self.error: Exception = RagError("as the test told it to")
        self.started = asyncio.Event()
        self.released = threading.Event()
        self._loop = asyncio.get_running_loop()
        self.forget()

    def forget(self) -> None:
        """Count from here."""
        self.calls = self.cancelled = 0

    async def passed(self) -> None:
        self.calls += 1
        if self.mode == "answer":
            return
        self.started.set()
        if self.mode != "error":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                if self.mode == "hang":
                    raise
        raise self.error

    def passed_blocking(self) -> None:
        """As `passed`, in a worker thread; nothing can cancel what blocks."""
        self.calls += 1
        if self.mode == "answer":
            return
        self._loop.call_soon_threadsafe(self.started.set)
        if self.mode != "error":
            self.released.wait(PATIENCE)
        raise self.error


def switched(part: T, switch: Switch, *methods: str, when: Callable[..., bool] = lambda *_, **__: True) -> T:
    """Put the switch before these methods of a part, for the calls whose arguments are such."""
    for name in methods:
        setattr(part, name, _behind(switch, getattr(part, name), when))
    return part


def _behind(switch: Switch, method: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        async def asked(*args: Any, **kwargs: Any) -> Any:
            if when(*args, **kwargs):
                await switch.passed()
            return await method(*args, **kwargs)

        return asked

    def called(*args: Any, **kwargs: Any) -> Any:
        if when(*args, **kwargs):
            switch.passed_blocking()
        return method(*args, **kwargs)

    return called

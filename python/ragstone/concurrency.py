"""Keeping the event loop free, and doing several things at the same time without leaving any behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, ParamSpec, TypeVar

__all__ = ["AdaptiveOffload", "offload", "together"]

_QUICK: Final = 0.0005
"""Seconds. A change of threads and back costs a fifth of it or more."""

_CAUTION: Final = 8 * _QUICK
_FORGETTING: Final = 0.95

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


async def together(steps: Iterable[Awaitable[R]]) -> list[R]:
    """Wait for all steps at the same time and return their results in order, leaving nothing behind.

    The first one that fails cancels the others, and its error is raised as it is, in no group.

    Raises:
        Exception: Whatever a step raises.
        asyncio.CancelledError: The caller was cancelled; so was every step.

    Example:
        >>> import asyncio
        >>> asyncio.run(together([asyncio.sleep(0, "a"), asyncio.sleep(0, "b")]))
        ['a', 'b']
    """
    tasks = [asyncio.create_task(_awaited(step)) for step in steps]
    pending: set[asyncio.Task[R]] = set(tasks)
    cancellation: asyncio.CancelledError | None = None
    aborted = False
    while pending:
        try:
            await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError as error:
            cancellation = error
        pending = {task for task in pending if not task.done()}
        if not aborted and (cancellation is not None or _failures(tasks)):
            aborted = True
            for task in pending:
                task.cancel()
    failures = _failures(tasks)
    if cancellation is not None:
        raise cancellation
    if failures:
        raise failures[0]
    return [task.result() for task in tasks]


async def _awaited(step: Awaitable[R]) -> R:
    return await step


def _failures(tasks: Iterable[asyncio.Task[R]]) -> list[BaseException]:
    errors = [task.exception() for task in tasks if task.done() and not task.cancelled()]
    return [error for error in errors if error is not None]


class AdaptiveOffload:
    """Runs calls of one kind in a worker thread, or at once in the caller's where all the recent ones were quick.

    What counts is the longest of the calls so far, less 5 % for every call since. So it takes some forty quick calls in
    a row to stay on the caller's thread, and a single long one to leave it again.

    Example:
        >>> import asyncio
        >>> run = AdaptiveOffload()
        >>> asyncio.run(run(sum, [1, 2, 3]))
        6
    """

    __slots__ = ("_longest",)

    def __init__(self) -> None:
        self._longest = _CAUTION

    async def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function and return its result; what holds for `offload` holds where it is offloaded."""
        if self._longest < _QUICK:
            return self._timed(function, *args, **kwargs)
        return await offload(self._timed, function, *args, **kwargs)

    def _timed(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self._longest = max(time.perf_counter() - started, self._longest * _FORGETTING)

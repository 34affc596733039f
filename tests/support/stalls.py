"""How long work holds up the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


async def longest_stall(work: Callable[[], Awaitable[object]], *, limit: float, rounds: int = 5) -> float:
    """Run `work` beside a ticker; return the ticker's longest delay in seconds.

    A round over the limit is repeated: what work does to the loop it does every time, while what the rest of a busy
    machine does to it comes and goes.
    """
    worst = await _round(work)
    while worst >= limit and (rounds := rounds - 1):
        worst = await _round(work)
    return worst


async def _round(work: Callable[[], Awaitable[object]]) -> float:
    task = asyncio.ensure_future(work())
    worst = 0.0
    while not task.done():
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        worst = max(worst, time.perf_counter() - before - 0.001)
    await task
    return worst

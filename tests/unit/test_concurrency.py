"""Work that is moved off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from ragstone.concurrency import AdaptiveOffload, offload

CALLER = contextvars.ContextVar("CALLER", default="nobody")


async def test_results_errors_arguments_and_context_come_through():
    def work(number: int, *, word: str) -> tuple[str, str, bool]:
        return word * number, CALLER.get(), threading.current_thread() is threading.main_thread()

    CALLER.set("test")
    assert await offload(work, 2, word="ab") == ("abab", "test", False)
    with pytest.raises(ZeroDivisionError):
        await offload(divmod, 1, 0)


@pytest.mark.row("L4")
async def test_a_cancelled_caller_does_not_wait_and_the_work_ends_whole():
    started, proceed, finished = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        assert proceed.wait(30)
        finished.set()

    task = asyncio.create_task(offload(work))
    await asyncio.to_thread(started.wait)
    before = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - before < 10
    assert not finished.is_set()
    proceed.set()
    assert await asyncio.to_thread(finished.wait, 30)


@pytest.mark.row("L4")
async def test_only_calls_that_stay_quick_run_on_the_callers_thread():
    run = AdaptiveOffload()

    def on_main(seconds: float = 0.0) -> bool:
        time.sleep(seconds)
        return threading.current_thread() is threading.main_thread()

    assert not await run(on_main)
    for _ in range(2_000):
        if await run(on_main):
            break
    assert await run(on_main, 0.02)  # nobody knew that this one would take long
    assert not await run(on_main, 0.02)
    assert not await run(on_main)
    with pytest.raises(ZeroDivisionError):
        await run(divmod, 1, 0)

"""Work that is moved off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from ragstone.concurrency import AdaptiveOffload, offload, together

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


async def hang(log: list[str], name: str) -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0)  # a step may have something to tidy up
        log.append(name)
        raise
    return name


async def fail(error: BaseException) -> str:
    await asyncio.sleep(0)
    raise error


async def test_steps_run_at_the_same_time_and_answer_in_order():
    met = asyncio.Barrier(2)

    async def meet(name: str) -> str:
        await met.wait()
        return name

    assert await asyncio.wait_for(together([meet("a"), meet("b")]), 5) == ["a", "b"]
    assert await together([]) == []


@pytest.mark.row("L4")
async def test_the_first_failure_cancels_the_others_and_is_raised_as_it_is():
    log: list[str] = []
    with pytest.raises(OSError, match="first") as caught:
        await together([hang(log, "a"), fail(OSError("first")), hang(log, "b")])
    assert type(caught.value) is OSError
    assert sorted(log) == ["a", "b"]
    with pytest.raises(OSError, match="one"):
        await together([fail(OSError("one")), fail(OSError("two"))])
    with pytest.raises(asyncio.CancelledError):
        await together([fail(asyncio.CancelledError())])


@pytest.mark.row("L4")
async def test_a_cancelled_caller_waits_until_every_step_has_ended():
    log: list[str] = []
    task = asyncio.create_task(together([hang(log, "a"), hang(log, "b")]))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # a second time, while the steps tidy up
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(log) == ["a", "b"]


@pytest.mark.row("L4")
@pytest.mark.parametrize("error", [OSError("closed"), None])
async def test_a_step_that_makes_something_else_of_its_cancellation_does_not_hide_it(error):
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if error is not None:
                raise error from None
        return "late"

    task = asyncio.create_task(together([stubborn(), hang([], "b")]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.row("L4")
async def test_a_failure_and_a_cancellation_at_the_same_time_are_a_cancellation():
    async def fail_now() -> None:
        raise OSError("first")

    task = asyncio.create_task(together([fail_now()]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

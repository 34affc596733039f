"""What a call has found out already."""

from __future__ import annotations

import asyncio

import pytest

from ragstone.retrieval.memo import Memo


async def test_a_value_is_worked_out_once_also_by_several_at_the_same_time():
    memo, worked = Memo[str, int](), []

    async def work():
        worked.append(1)
        await asyncio.sleep(0)
        return 7

    assert await asyncio.gather(*(memo.get("a", work) for _ in range(5))) == [7] * 5
    assert await memo.get("a", work) == 7
    assert len(worked) == 1
    assert await memo.get("b", work) == 7
    assert len(worked) == 2


async def test_neither_a_failure_nor_a_cancellation_is_remembered():
    memo = Memo[str, int]()
    started = asyncio.Event()

    async def hang():
        started.set()
        await asyncio.Event().wait()
        return 1

    async def fail():
        raise OSError("away")

    async def work():
        return 7

    hanging = asyncio.create_task(memo.get("a", hang))
    await started.wait()
    waiting = asyncio.create_task(memo.get("a", work))
    await asyncio.sleep(0)
    hanging.cancel()
    assert await waiting == 7
    with pytest.raises(OSError, match="away"):
        await memo.get("b", fail)
    assert await memo.get("b", work) == 7

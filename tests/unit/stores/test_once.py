"""Preparing on first use."""

from __future__ import annotations

import asyncio

import pytest

from ragstone.stores._once import Once


class Preparation:
    def __init__(self, *, failures: int = 0) -> None:
        self.runs = 0
        self.failures = failures

    async def __call__(self) -> None:
        self.runs += 1
        await asyncio.sleep(0.01)
        if self.runs <= self.failures:
            raise OSError("no connection")


@pytest.mark.row("K0")
async def test_many_first_uses_at_once_prepare_once():
    prepare = Preparation()
    once = Once(prepare)
    await asyncio.gather(*(once() for _ in range(20)))
    await once()
    assert prepare.runs == 1


@pytest.mark.row("K0")
async def test_only_success_is_remembered():
    prepare = Preparation(failures=1)
    once = Once(prepare)
    with pytest.raises(OSError, match="no connection"):
        await once()
    await once()
    await once()
    assert prepare.runs == 2


@pytest.mark.row("K0")
async def test_a_cancelled_preparation_is_done_by_the_next():
    prepare = Preparation()
    once = Once(prepare)
    first = asyncio.create_task(once())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    assert first.cancelled()
    await once()
    assert prepare.runs == 2


@pytest.mark.row("K0")
async def test_a_reset_prepares_again():
    prepare = Preparation()
    once = Once(prepare)
    await once()
    once.reset()
    await once()
    assert prepare.runs == 2

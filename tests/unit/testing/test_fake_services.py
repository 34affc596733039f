"""The rerankers, web searches and the clock for tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from ragstone.errors import InvalidInputError, RerankError, WebSearchError
from ragstone.models import WebResult
from ragstone.ports import Clock, Reranker, WebSearch
from ragstone.testing import (
    FailingReranker,
    FailingWebSearch,
    HangingReranker,
    HangingWebSearch,
    ScriptedReranker,
    ScriptedWebSearch,
    SettableClock,
)

PAGES = [WebResult(url=f"https://example.org/{n}", title=f"page {n}", text=f"text {n}") for n in range(3)]


async def rerank(reranker):
    return list(await reranker.rerank("paid leave", ["brown fox", "paid leave", "paid car"]))


async def search(web):
    return await web.search("paid leave", max_results=2)


def test_each_satisfies_its_port():
    assert all(isinstance(made, Reranker) for made in (ScriptedReranker(), FailingReranker(), HangingReranker()))
    assert all(isinstance(made, WebSearch) for made in (ScriptedWebSearch(), FailingWebSearch(), HangingWebSearch()))
    assert isinstance(SettableClock(), Clock)
    assert ScriptedReranker().identity != FailingReranker().identity


async def test_a_reranker_scores_by_script_by_function_or_by_shared_words():
    assert await rerank(ScriptedReranker()) == [0.0, 2.0, 1.0]
    assert await rerank(ScriptedReranker([3.0, 2.0, 1.0, 0.0])) == [3.0, 2.0, 1.0]
    scripted = ScriptedReranker(lambda query, texts: [float(len(texts))])
    assert await rerank(scripted) == [3.0]
    assert scripted.requests == [("paid leave", ("brown fox", "paid leave", "paid car"))]


async def test_a_web_search_finds_what_it_is_told_to():
    web = ScriptedWebSearch(PAGES)
    assert await search(web) == PAGES[:2]
    assert web.requests == [("paid leave", 2)]


@pytest.mark.parametrize(
    ("call", "make", "error"),
    [(rerank, FailingReranker, RerankError), (search, FailingWebSearch, WebSearchError)],
    ids=["reranker", "web search"],
)
async def test_failing_after_some_calls(call, make, error):
    failing = make(after=1)
    await call(failing)
    with pytest.raises(error):
        await call(failing)
    with pytest.raises(OSError, match="unplugged"):
        await call(make(OSError("unplugged")))
    assert failing.calls == 2


@pytest.mark.parametrize(
    ("call", "make"), [(rerank, HangingReranker), (search, HangingWebSearch)], ids=["reranker", "web search"]
)
async def test_hanging_until_released_or_cancelled(call, make):
    hanging = make()
    cancelled = asyncio.create_task(call(hanging))
    await hanging.started.wait()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert hanging.cancelled == 1
    waiting = asyncio.create_task(call(hanging))
    hanging.release.set()
    assert isinstance(await waiting, list)


def test_a_clock_stands_until_it_is_moved():
    clock = SettableClock(datetime(2026, 5, 1, 12, 0))  # noqa: DTZ001  a naive instant is UTC
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 5, 1, 12, 0, tzinfo=UTC), 0.0)
    clock.advance(30.0, hours=1)
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 5, 1, 13, 0, 30, tzinfo=UTC), 3630.0)
    clock.set(datetime(2020, 1, 1, tzinfo=UTC))
    assert (clock.now().year, clock.monotonic()) == (2020, 3630.0)
    with pytest.raises(InvalidInputError, match="-1 seconds"):
        clock.advance(-1)

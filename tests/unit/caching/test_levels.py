"""Two levels: what comes from where, how long it lives, and a backend that fails."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ragstone.caching import TwoLevelCache
from ragstone.testing import SettableClock
from support.backends import DictBackend, FailingBackend, HangingBackend


class Text:
    """Texts as UTF-8."""

    def encode(self, value):
        return value.encode()

    def decode(self, content):
        return content.decode()


def cache(backend, clock=None, ttl=10.0):
    return TwoLevelCache(Text(), ttl=ttl, clock=clock or SettableClock(), backend=backend)


@pytest.mark.row("G8")
async def test_what_one_process_found_another_has():
    backend = DictBackend()
    await cache(backend).set("k", "v")
    other = cache(backend)
    assert await other.get("k") == "v"
    assert await other.get("k") == "v"
    assert backend.gets == 1
    assert await other.get("unknown") is None


@pytest.mark.row("G8")
async def test_a_value_from_the_backend_lives_no_longer_than_it_would_have():
    backend, clock = DictBackend(), SettableClock()
    await cache(backend, clock).set("k", "v")
    clock.advance(6)
    other = cache(backend, clock)
    assert await other.get("k") == "v"
    clock.advance(3.9)
    assert await other.get("k") == "v"
    clock.advance(0.2)
    assert await other.get("k") is None


@pytest.mark.row("G8")
async def test_a_clock_that_runs_ahead_gives_no_longer_life():
    backend, ahead, clock = DictBackend(), SettableClock(), SettableClock()
    ahead.advance(3600)
    await cache(backend, ahead).set("k", "v")
    other = cache(backend, clock)
    assert await other.get("k") == "v"
    backend.entries.clear()
    clock.advance(10.1)
    assert await other.get("k") is None


@pytest.mark.row("G8")
@pytest.mark.parametrize("content", [b"", b"rsc", b"other\x00\x00\x00\x00\x00\x00\x00\x00v", b"\x80\x04\x95pickle"])
async def test_what_another_version_wrote_is_a_miss(content):
    backend = DictBackend()
    backend.entries["k"] = content
    assert await cache(backend).get("k") is None


@pytest.mark.row("G8")
async def test_a_damaged_value_is_a_miss_and_is_logged(caplog):
    backend = DictBackend()
    await cache(backend).set("k", "v")
    backend.entries["k"] = backend.entries["k"][:-1] + b"\xff"
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        assert await cache(backend).get("k") is None
    assert [r.message for r in caplog.records] == ["cache_entry_unreadable: UnicodeDecodeError"]


@pytest.mark.row("G8")
@pytest.mark.parametrize("error", [None, OSError("no route"), RuntimeError("a bug")])
async def test_without_its_backend_a_cache_goes_on_and_says_so_once_in_a_while(caplog, error):
    backend, clock = FailingBackend(error), SettableClock()
    kept = cache(backend, clock, ttl=1000)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        for key in "abc":
            assert await kept.get(key) is None
            await kept.set(key, key)
            assert await kept.get(key) == key
    assert [r.message.partition(":")[0] for r in caplog.records] == ["cache_backend_failed"]
    assert backend.gets == 1
    backend.error = None
    clock.advance(9.9)
    await kept.set("d", "d")
    assert backend.entries == {}
    clock.advance(0.2)
    await kept.set("e", "e")
    assert set(backend.entries) == {"e"}


@pytest.mark.row("G8")
@pytest.mark.row("L4")
async def test_cancelling_reaches_the_backend_and_leaves_no_task():
    backend, before = HangingBackend(), asyncio.all_tasks()
    task = asyncio.create_task(cache(backend).get_many(["a", "b"]))
    await backend.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert backend.cancelled == 2
    assert asyncio.all_tasks() == before

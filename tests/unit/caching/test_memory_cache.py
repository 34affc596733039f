"""The cache in process: lifetimes, and which entry goes first."""

from __future__ import annotations

import threading

import pytest

from ragstone.caching import MemoryCache
from ragstone.errors import ConfigurationError
from ragstone.options import CachingOptions
from ragstone.testing import SettableClock


@pytest.mark.row("G8")
@pytest.mark.case("S-054")
def test_an_entry_lives_as_long_as_it_was_told():
    clock = SettableClock()
    cache = MemoryCache[str](clock=clock)
    cache.set("k", "v", ttl=10)
    clock.advance(9.9)
    assert cache.get("k") == "v"
    clock.advance(0.2)
    assert cache.get("k") is None
    assert len(cache) == 0


@pytest.mark.row("G8")
@pytest.mark.case("S-054")
@pytest.mark.parametrize("field", ["embedding_ttl", "result_ttl", "answer_ttl"])
@pytest.mark.parametrize("ttl", [0, 0.0, -1, float("nan"), float("inf"), True])
def test_a_lifetime_of_nothing_is_refused(field, ttl):
    with pytest.raises(ValueError, match=field):
        CachingOptions(**{field: ttl})


@pytest.mark.row("G8")
def test_the_longest_unused_entry_goes_first():
    cache = MemoryCache[int](2)
    cache.set("a", 1, ttl=60)
    cache.set("b", 2, ttl=60)
    assert cache.get("a") == 1
    cache.set("c", 3, ttl=60)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    cache.set("a", 4, ttl=60)
    cache.set("d", 5, ttl=60)
    assert [cache.get(key) for key in "acd"] == [4, None, 5]
    cache.clear()
    assert cache.get("a") is None
    with pytest.raises(ConfigurationError, match="max_entries"):
        MemoryCache[int](0)


def test_many_threads_may_use_it():
    cache = MemoryCache[int](8)
    errors: list[Exception] = []

    def work(seed):
        try:
            for number in range(2000):
                key = str((number * seed) % 16)
                cache.set(key, number, ttl=60)
                cache.get(key)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(cache) == 8

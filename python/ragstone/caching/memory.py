"""The cache in process: the longest unused entry goes first, and every entry has its time."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

from ragstone.clock import SystemClock
from ragstone.ports import Clock
from ragstone.validation import require_at_least

__all__ = ["MemoryCache"]

V = TypeVar("V")


class MemoryCache(Generic[V]):
    """At most `max_entries` values under keys, each for a time; safe from many threads.

    What is handed in is what is handed out, not a copy: keep only what nobody changes.

    Args:
        max_entries: How many entries are kept; the longest unused goes first.
        clock: Tells the time by which entries expire, which never runs backwards.

    Raises:
        ConfigurationError: `max_entries` is below 1.

    Example:
        >>> cache = MemoryCache[str](2)
        >>> cache.set("a", "1", ttl=60)
        >>> cache.get("a"), cache.get("b")
        ('1', None)
    """

    def __init__(self, max_entries: int = 4096, *, clock: Clock | None = None) -> None:
        self._max_entries = require_at_least("max_entries", max_entries, 1)
        self._clock = SystemClock() if clock is None else clock
        self._entries: OrderedDict[str, tuple[float, V]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """How many entries are kept, those included whose time is over and that nobody asked for since."""
        return len(self._entries)

    def get(self, key: str) -> V | None:
        """Return what is kept; `None` where nothing is, or its time is over."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            expires, value = entry
            if self._clock.monotonic() >= expires:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return value

    def set(self, key: str, value: V, *, ttl: float) -> None:
        """Keep a value for `ttl` seconds."""
        with self._lock:
            self._entries[key] = self._clock.monotonic() + ttl, value
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

"""Two levels: the process's own memory, and behind it a backend that many processes may share."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Generic, Protocol, TypeVar

from ragstone.caching.memory import MemoryCache
from ragstone.clock import SystemClock
from ragstone.concurrency import offload
from ragstone.errors import CacheError
from ragstone.ports import CacheBackend, Clock

__all__ = ["Codec", "TwoLevelCache"]

_log = logging.getLogger(__name__)

_AT_ONCE: Final = 8
"""Requests to the backend at a time."""

_REST: Final = 10.0
"""Seconds that a backend which failed is left alone."""

_HEAD: Final = struct.Struct("<4sd")
_FORMAT: Final = b"rsc\x01"

V = TypeVar("V")
T = TypeVar("T")


class Codec(Protocol[V]):
    """Turns values into bytes and back; called in a worker thread."""

    def encode(self, value: V) -> bytes:
        """Return the value as bytes."""
        ...

    def decode(self, content: bytes) -> V:
        """Return the value of these bytes.

        Raises:
            ValueError: They are not what `encode` gives.
        """
        ...


class TwoLevelCache(Generic[V]):
    """Values under keys for a time, in memory and in a backend.

    A backend that fails, or holds what cannot be read, is a miss: it is logged, and the backend is left alone for ten
    seconds. A value that comes from the backend is kept in memory for the rest of its time and no longer.

    Args:
        codec: Turns values into what the backend keeps.
        ttl: How long a value is kept, in seconds.
        max_entries: How many are kept in memory.
        clock: Tells the time.
        backend: The level that processes share; `None` keeps everything in memory.
    """

    def __init__(
        self,
        codec: Codec[V],
        *,
        ttl: float,
        max_entries: int = 4096,
        clock: Clock | None = None,
        backend: CacheBackend | None = None,
    ) -> None:
        self._codec = codec
        self._ttl = ttl
        self._clock: Clock = SystemClock() if clock is None else clock
        self._memory = MemoryCache[V](max_entries, clock=self._clock)
        self._backend = backend
        self._resting_until = float("-inf")

    async def get(self, key: str) -> V | None:
        """Return the value, `None` where there is none."""
        return (await self.get_many((key,))).get(key)

    async def get_many(self, keys: Iterable[str]) -> dict[str, V]:
        """Return the values that there are, by key."""
        found: dict[str, V] = {}
        missing: list[str] = []
        for key in keys:
            value = self._memory.get(key)
            if value is None:
                missing.append(key)
            else:
                found[key] = value
        if missing and self._backend is not None:
            await _each(missing, lambda key: self._fetch(key, found))
        return found

    async def set(self, key: str, value: V) -> None:
        """Keep a value that nobody changes any more."""
        await self.set_many({key: value})

    async def set_many(self, values: Mapping[str, V]) -> None:
        """Keep values that nobody changes any more."""
        for key, value in values.items():
            self._memory.set(key, value, ttl=self._ttl)
        if self._backend is not None:
            await _each(values, lambda key: self._send(key, values[key]))

    async def _fetch(self, key: str, found: dict[str, V]) -> None:
        backend = self._awake()
        content = None if backend is None else await self._asking(backend.get(key))
        if content is None or len(content) < _HEAD.size:
            return
        form, written = _HEAD.unpack_from(content)
        left = self._ttl - max(0.0, self._clock.now().timestamp() - written)
        if form != _FORMAT or not left > 0.0:
            return
        try:
            value = await offload(self._codec.decode, content[_HEAD.size :])
        except ValueError as error:
            _log.warning("cache_entry_unreadable: %s", type(error).__name__)
            return
        self._memory.set(key, value, ttl=min(left, self._ttl))
        found[key] = value

    async def _send(self, key: str, value: V) -> None:
        backend = self._awake()
        if backend is not None:
            await self._asking(self._put(backend, key, value))

    async def _put(self, backend: CacheBackend, key: str, value: V) -> None:
        content = await offload(self._codec.encode, value)
        head = _HEAD.pack(_FORMAT, self._clock.now().timestamp())
        await backend.set(key, head + content, ttl=self._ttl)

    def _awake(self) -> CacheBackend | None:
        return self._backend if self._clock.monotonic() >= self._resting_until else None

    async def _asking(self, work: Awaitable[T]) -> T | None:
        try:
            return await work
        except Exception as error:  # noqa: BLE001  a cache that fails is a cache that has nothing
            if self._clock.monotonic() >= self._resting_until:
                self._resting_until = self._clock.monotonic() + _REST
                what = error if isinstance(error, CacheError) else type(error).__name__
                _log.warning("cache_backend_failed: %s; it is left alone for %g s", what, _REST)
            return None


async def _each(keys: Iterable[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Do it for every key, some at a time."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(key: str) -> None:
        async with limit:
            await work(key)

    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(one(key))

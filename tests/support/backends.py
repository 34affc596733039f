"""Cache backends that are watched, or fail."""

from __future__ import annotations

import asyncio

from ragstone.errors import CacheError


class DictBackend:
    """A backend in a dictionary that forgets nothing."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.gets = 0

    async def get(self, key: str) -> bytes | None:
        self.gets += 1
        return self.entries.get(key)

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        self.entries[key] = value


class FailingBackend(DictBackend):
    """A backend that cannot be reached until it is told that it can."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error: Exception | None = error or CacheError("no connection")

    async def get(self, key: str) -> bytes | None:
        found = await super().get(key)
        if self.error is not None:
            raise self.error
        return found

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        if self.error is not None:
            raise self.error
        await super().set(key, value, ttl=ttl)


class HangingBackend(DictBackend):
    """A backend that never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.started = asyncio.Event()
        self.cancelled = 0

    async def get(self, key: str) -> bytes | None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return None

"""What remembers, and what tells the time."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol, runtime_checkable

__all__ = ["CacheBackend", "Clock"]


@runtime_checkable
class CacheBackend(Protocol):
    """A cache beyond the process, such as Redis: bytes under a key, for a time."""

    async def get(self, key: str) -> bytes | None:
        """Return what is stored, `None` where nothing is or it has expired.

        Raises:
            CacheError: The backend could not be reached; the caller goes on without it.
        """
        ...

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Store for `ttl` seconds.

        Raises:
            CacheError: The backend could not be reached.
        """
        ...


@runtime_checkable
class Clock(Protocol):
    """Tells the time; a test hands in one that it moves itself."""

    def now(self) -> datetime:
        """Return the present instant, with its time zone."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards, for lifetimes."""
        ...

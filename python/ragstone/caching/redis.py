"""The shared level in Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ragstone.closing import Closing
from ragstone.errors import CacheError
from ragstone.redis_client import RedisClient
from ragstone.validation import require_in_range

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisCache"]

_LONGEST_TIMEOUT: Final = 60.0


class RedisCache(Closing):
    """A `CacheBackend` in Redis, or any server that speaks its protocol.

    Args:
        server: A URL such as `redis://user:password@host:6379/0`, or a client (`redis.asyncio.Redis`, not decoding
            responses), which its owner closes.
        prefix: Put before every key, so that others may use the same database.
        timeout: Seconds to wait for the server; a cache that is slow is no use.

    Raises:
        ConfigurationError: `server` is neither a URL for Redis nor a client, or `timeout` is out of range.
        MissingDependencyError: The extra `redis` is not installed.
    """

    def __init__(self, server: str | Redis, *, prefix: str = "ragstone:", timeout: float = 1.0) -> None:
        self._client = RedisClient(
            server, timeout=require_in_range("timeout", timeout, 0.001, _LONGEST_TIMEOUT), purpose="Caching in Redis"
        )
        self._prefix = prefix

    async def get(self, key: str) -> bytes | None:
        """Return what is stored, `None` where nothing is or it has expired.

        Raises:
            CacheError: Redis could not be reached or refused.
        """
        from redis.exceptions import RedisError

        try:
            content: Any = await self._client.run(lambda client: client.get(self._prefix + key))
        except (RedisError, OSError, TimeoutError) as error:
            raise self._failure("reading", error) from error
        return None if content is None else bytes(content)

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Store for `ttl` seconds, rounded up to a millisecond.

        Raises:
            CacheError: Redis could not be reached or refused.
        """
        from redis.exceptions import RedisError

        try:
            milliseconds = max(1, round(ttl * 1000))
            await self._client.run(lambda client: client.set(self._prefix + key, value, px=milliseconds))
        except (RedisError, OSError, TimeoutError) as error:
            raise self._failure("writing", error) from error

    async def aclose(self) -> None:
        """Close the connections, if they are our own; a later request opens new ones."""
        await self._client.aclose()

    def __repr__(self) -> str:
        return f"RedisCache({self._client.place!r}, prefix={self._prefix!r})"

    def _failure(self, doing: str, error: Exception) -> CacheError:
        return CacheError(
            f"{doing} the cache at {self._client.place} failed with {type(error).__name__}: is Redis running?"
        )

"""The shared level in Redis."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from ragstone.errors import CacheError, ConfigurationError
from ragstone.extras import require
from ragstone.validation import require_in_range

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisCache"]

_LONGEST_TIMEOUT: Final = 60.0
_SCHEMES: Final = ("redis", "rediss", "unix")


class RedisCache:
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
        require("redis", extra="redis", purpose="Caching in Redis")
        self._timeout = require_in_range("timeout", timeout, 0.001, _LONGEST_TIMEOUT)
        self._prefix = prefix
        self._url = _checked(server) if isinstance(server, str) else None
        self._given: Redis | None = None if isinstance(server, str) else server
        self._own: tuple[asyncio.AbstractEventLoop, Redis] | None = None

    async def get(self, key: str) -> bytes | None:
        """Return what is stored, `None` where nothing is or it has expired.

        Raises:
            CacheError: Redis could not be reached or refused.
        """
        from redis.exceptions import RedisError

        try:
            content: Any = await self._client().get(self._prefix + key)
        except (RedisError, OSError, TimeoutError) as error:
            raise self._failure("reading", error) from error
        if isinstance(content, str):
            raise CacheError("the Redis client decodes responses: make it with decode_responses=False")
        return None if content is None else bytes(content)

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Store for `ttl` seconds, rounded up to a millisecond.

        Raises:
            CacheError: Redis could not be reached or refused.
        """
        from redis.exceptions import RedisError

        try:
            await self._client().set(self._prefix + key, value, px=max(1, round(ttl * 1000)))
        except (RedisError, OSError, TimeoutError) as error:
            raise self._failure("writing", error) from error

    async def aclose(self) -> None:
        """Close the connections, if they are our own; a later request opens new ones."""
        own, self._own = self._own, None
        if own is not None:
            await own[1].aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"RedisCache({self._place!r}, prefix={self._prefix!r})"

    @property
    def _place(self) -> str:
        """The server without user and password."""
        if self._url is None:
            return "a client"
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def _client(self) -> Redis:
        """The client of the running event loop: connections belong to the loop that opened them."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._own[0] is not loop:
            self._own = loop, self._connected()
        return self._own[1]

    def _connected(self) -> Redis:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        # One retry, for a pooled connection that the server has closed; more would only be slower than no cache.
        return Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  it takes anything by keyword
            str(self._url),
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            retry=Retry(NoBackoff(), 1),
            decode_responses=False,
        )

    def _failure(self, doing: str, error: Exception) -> CacheError:
        return CacheError(f"{doing} the cache at {self._place} failed with {type(error).__name__}: is Redis running?")


def _checked(url: str) -> str:
    if urlsplit(url).scheme not in _SCHEMES:
        raise ConfigurationError("server must be a URL that begins with redis://, rediss:// or unix://")
    return url

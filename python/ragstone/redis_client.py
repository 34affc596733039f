"""The client of a Redis server, by its URL or of the user's making."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from ragstone.errors import ConfigurationError
from ragstone.extras import require

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisClient"]

T = TypeVar("T")

_SCHEMES: Final = ("redis", "rediss", "unix")


class RedisClient:
    """Runs work with a client of the running event loop, since connections belong to the loop that opened them.

    Args:
        server: A URL such as `redis://user:password@host:6379/0`, or a client (`redis.asyncio.Redis`, not decoding
            responses), which its owner closes.
        timeout: Seconds to wait for a connection, and for each answer; a client that was handed in has its own.
        purpose: What Redis is needed for, as the subject of a sentence.

    Raises:
        ConfigurationError: `server` is neither a URL for Redis nor a client that leaves responses as bytes.
        MissingDependencyError: The extra `redis` is not installed.
    """

    __slots__ = ("_given", "_own", "_timeout", "_url")

    def __init__(self, server: str | Redis, *, timeout: float, purpose: str) -> None:
        require("redis", extra="redis", purpose=purpose)
        self._timeout = timeout
        self._url = _checked(server) if isinstance(server, str) else None
        self._given: Redis | None = None if isinstance(server, str) else _in_bytes(server)
        self._own: tuple[asyncio.AbstractEventLoop, Redis] | None = None

    @property
    def place(self) -> str:
        """The server without user and password."""
        if self._url is None:
            return "a client"
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    async def run(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        """Await `work(client)`.

        Raises:
            RedisError, OSError: Whatever the client raises.
        """
        task = asyncio.current_task()
        asked_before = 0 if task is None else task.cancelling()
        outcome = await work(self._client())
        # The client waits by asyncio.wait_for, which in Python 3.11 loses a cancellation that comes with the answer.
        if task is not None and task.cancelling() > asked_before:
            raise asyncio.CancelledError
        return outcome

    async def aclose(self) -> None:
        """Close the connections, if they are our own; a later call opens new ones."""
        own, self._own = self._own, None
        if own is not None:
            await own[1].aclose()

    def _client(self) -> Redis:
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

        # One retry, for a pooled connection that the server has closed.
        return Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  it takes anything by keyword
            str(self._url),
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            retry=Retry(NoBackoff(), 1),
            decode_responses=False,
        )


def _checked(url: str) -> str:
    if urlsplit(url).scheme not in _SCHEMES:
        raise ConfigurationError("server must be a URL that begins with redis://, rediss:// or unix://")
    return url


def _in_bytes(client: Redis) -> Redis:
    if cast("Any", client).get_encoder().decode_responses:
        raise ConfigurationError("server must be a client that was made with decode_responses=False")
    return client

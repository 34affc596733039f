"""Connections to PostgreSQL: a pool that is opened on first use, and what its failures mean."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ragstone.errors import ConfigurationError, StoreError
from ragstone.extras import require
from ragstone.stores._once import Once
from ragstone.stores.pgvector.binary import send_binary
from ragstone.validation import require_at_least, require_in_range

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Error
    from psycopg.abc import Params
    from psycopg.abc import QueryNoTemplate as Query
    from psycopg_pool import AsyncConnectionPool

__all__ = ["Connections", "Pool", "fetch"]

Pool: TypeAlias = "AsyncConnectionPool[AsyncConnection[Any]]"

_LONGEST_TIMEOUT: Final = 600.0
_SECRETS: Final = frozenset({"password", "passfile", "sslpassword", "sslkey"})
_MEANING: Final[Mapping[str, str]] = {
    "40P01": "another writer changed the same chunks in another order: try again",
    "42501": "the user lacks a right: grant it, or have somebody else prepare the table and the extension",
    "42704": "the type is unknown: the extension pgvector was dropped, or is not in the search path",
    "42P01": "the table was dropped behind the store's back: the next call makes it again",
    "42P10": "the table has no unique index on exactly (document_id, chunk_index): make one",
    "53300": "the server has no connection left: raise its max_connections, or lower the store's",
}


async def fetch(connection: AsyncConnection[Any], query: Query, parameters: Params = ()) -> list[tuple[Any, ...]]:
    """Run a query and return its rows as tuples, whatever the connection is set to."""
    from psycopg.rows import tuple_row

    async with connection.cursor(row_factory=tuple_row) as cursor:
        send_binary(cursor)
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


class Connections:
    """The connections of a store: its own pool, one an event loop, or one that it was given.

    Args:
        server: A connection string or URL, or a pool, which its owner opens and closes.
        max_connections: The most that its own pool opens.
        timeout: Seconds to wait for a connection.

    Raises:
        ConfigurationError: An argument is none of this.
        MissingDependencyError: The extra `pgvector` is not installed.
    """

    def __init__(self, server: str | Pool, *, max_connections: int, timeout: float) -> None:
        for package in ("psycopg", "psycopg_pool"):
            require(package, extra="pgvector", purpose="Storing in PostgreSQL")
        self._max_connections = require_at_least("max_connections", max_connections, 1)
        self._timeout = require_in_range("timeout", timeout, 0.001, _LONGEST_TIMEOUT)
        self._settings = _parsed(server) if isinstance(server, str) else {}
        self._server = server
        self._own: tuple[asyncio.AbstractEventLoop, Pool, Once] | None = None

    @property
    def place(self) -> str:
        """The server and the database, without secrets."""
        if not isinstance(self._server, str):
            return "a pool"
        host = self._settings.get("host", "localhost")
        return f"{host}:{self._settings.get('port', 5432)}/{self._settings.get('dbname', '')}"

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncConnection[Any]]:
        """A connection in a transaction, given back whatever happens."""
        pool = await self._pool()
        async with pool.connection(timeout=self._timeout) as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def failing(self, doing: str) -> AsyncGenerator[None]:
        """Turn failures of PostgreSQL into `StoreError`, and leave no lost connections in the pool."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            if isinstance(error, psycopg.OperationalError):
                await self._drop_lost()
            # What PostgreSQL adds as a detail may hold the row that it refused.
            raise self._failure(doing, error) from None if error.diag.message_detail else error
        except OSError as error:
            raise StoreError(f"{doing} in PostgreSQL at {self.place} failed: {type(error).__name__}") from error

    async def aclose(self) -> None:
        """Close the pool if it is our own; a later request opens another."""
        own, self._own = self._own, None
        if own is not None:
            await own[1].close()

    async def _pool(self) -> Pool:
        """The pool of the running event loop: connections belong to the loop that opened them."""
        if not isinstance(self._server, str):
            return self._server
        loop = asyncio.get_running_loop()
        if self._own is None or self._own[0] is not loop:
            pool = self._made(self._server)
            self._own = loop, pool, Once(partial(self._open, pool))
        _, pool, opened = self._own
        await opened()
        return pool

    def _made(self, conninfo: str) -> Pool:
        from psycopg_pool import AsyncConnectionPool

        # Left to itself, a pool waits ever longer between trials after an outage, up to minutes.
        return AsyncConnectionPool(
            conninfo,
            min_size=0,
            max_size=self._max_connections,
            timeout=self._timeout,
            reconnect_timeout=self._timeout,
            open=False,
            name="ragstone",
        )

    async def _open(self, pool: Pool) -> None:
        """Open the pool after a trial, for a pool that cannot connect only says so when its time is out."""
        from psycopg import AsyncConnection

        trial = await AsyncConnection.connect(str(self._server), connect_timeout=math.ceil(self._timeout))
        await trial.close()
        await pool.open()

    async def _drop_lost(self) -> None:
        """Discard connections that the server has closed."""
        pool = self._server if not isinstance(self._server, str) else self._own and self._own[1]
        if pool and not pool.closed:
            await pool.check()

    def _failure(self, doing: str, error: Error) -> StoreError:
        from psycopg_pool import PoolTimeout

        head = f"{doing} in PostgreSQL at {self.place} failed"
        if isinstance(error, PoolTimeout):
            return StoreError(
                f"{head}: no connection within {self._timeout:g} s: is PostgreSQL running, and are "
                f"{self._max_connections} connections enough?"
            )
        if error.sqlstate is None:
            return StoreError(f"{head}: {' '.join(str(error).split())}: is PostgreSQL running?")
        meaning = _MEANING.get(error.sqlstate)
        # Errors of data (class 22) may quote it.
        said = None if error.sqlstate.startswith("22") else error.diag.message_primary
        told = ": ".join(part for part in (type(error).__name__, said, meaning) if part)
        return StoreError(f"{head} with {told} ({error.sqlstate})")


def _parsed(conninfo: str) -> dict[str, Any]:
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        settings = conninfo_to_dict(conninfo)
    except ProgrammingError:
        settings = {}
    if not settings:
        raise ConfigurationError(
            "server must be a URL such as postgresql://user@host/database, or a connection string such as "
            "'host=… dbname=…'"
        ) from None
    return {name: value for name, value in settings.items() if name not in _SECRETS}

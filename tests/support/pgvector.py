"""PostgreSQL as tests look at it: a collection of their own, and what was sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool


class Sent(NamedTuple):
    statement: str
    parameters: Any
    in_transaction: bool
    connection: int


class RecordingCursor(psycopg.AsyncCursor):
    """Remembers every statement; reorders the rows of a search where it is told how."""

    sent: ClassVar[list[Sent]] = []
    order: ClassVar[list[int] | None] = None

    async def execute(self, query, params=None, **options):
        text = (
            query.decode() if isinstance(query, bytes) else query if isinstance(query, str) else query.as_string(self)
        )
        inside = self.connection.info.transaction_status == TransactionStatus.INTRANS
        self.sent.append(Sent(text, params, inside, id(self.connection)))
        return await super().execute(query, params, **options)

    async def fetchall(self):
        rows = await super().fetchall()
        if self.order is None or not self.sent[-1].statement.startswith("SELECT document_id"):
            return rows
        return [rows[place] for place in self.order]


def recording_pool(url: str, max_size: int = 4) -> AsyncConnectionPool:
    """A pool whose cursors remember what they sent, from now on."""
    RecordingCursor.sent.clear()
    RecordingCursor.order = None
    kwargs = {"cursor_factory": RecordingCursor}
    return AsyncConnectionPool(url, kwargs=kwargs, open=False, min_size=0, max_size=max_size)


def new_name() -> str:
    """The name of a collection that is not there yet."""
    return f"test_{uuid4().hex}"


async def ask(url: str, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Run a statement past the store and return its rows."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(query, parameters)
        return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def pretended_version(url: str, version: str) -> AsyncGenerator[None]:
    """While it lasts, the server says that this version of pgvector is installed."""
    await ask(url, "CREATE EXTENSION IF NOT EXISTS vector")
    [(installed,)] = await ask(url, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    update = "UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'"
    await ask(url, update, version)
    try:
        yield
    finally:
        await ask(url, update, installed)

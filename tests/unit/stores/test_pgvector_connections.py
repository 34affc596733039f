"""Connections of the store in PostgreSQL: given back, lost, refused."""

from __future__ import annotations

import asyncio
import signal
import sys

import numpy as np
import pytest
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from ragstone.errors import DimensionMismatchError, MissingDependencyError, StoreError
from ragstone.models import ChunkKey, EmbeddedChunk, SearchOptions, TextChunk
from ragstone.stores import PgVectorStore
from support.pgvector import ask, new_name, recording_pool
from support.postgres_server import running_postgres
from support.redis_server import free_port

pytestmark = pytest.mark.row("K2")

ONE = np.array([1, 0], dtype=np.float32)
PAGE = SearchOptions(top_k=5)


def embedded(document_id, count):
    return [EmbeddedChunk(TextChunk(f"a secret text {n}", document_id, n), ONE) for n in range(count)]


def in_use(pool):
    stats = pool.get_stats()
    return stats["pool_size"] - stats["pool_available"]


async def working_on(url, pattern):
    """Wait until the server runs such a statement."""
    while not await ask(url, "SELECT 1 FROM pg_stat_activity WHERE query LIKE %s", pattern):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


@pytest.mark.case("S-067")
async def test_every_search_gives_its_connection_back(postgres_url):
    async with recording_pool(postgres_url, 2) as pool:
        store = PgVectorStore(pool, dimensions=2, collection=new_name())
        for _ in range(10):
            assert await store.search(ONE, PAGE) == []
            assert in_use(pool) == 0
        for _ in range(10):
            with pytest.raises(DimensionMismatchError):
                await store.search(np.ones(3, dtype=np.float32), PAGE)
            assert in_use(pool) == 0
        await store.store(embedded("a", 1))
        assert len(await store.search(ONE, PAGE)) == 1
        assert in_use(pool) == 0
        await store.delete_collection(store.collection)


@pytest.mark.case("S-067")
async def test_a_search_that_the_server_refuses_gives_its_connection_back(postgres_url):
    async with recording_pool(postgres_url, 2) as pool:
        store = PgVectorStore(pool, dimensions=2, collection=new_name())
        await store.store(embedded("a", 1))
        await ask(postgres_url, f"ALTER TABLE {store.collection} RENAME COLUMN text TO body")
        for _ in range(10):
            with pytest.raises(StoreError, match="UndefinedColumn"):
                await store.search(ONE, PAGE)
            assert in_use(pool) == 0
        await ask(postgres_url, f"ALTER TABLE {store.collection} RENAME COLUMN body TO text")
        assert len(await store.search(ONE, PAGE)) == 1
        await store.delete_collection(store.collection)


async def test_a_cancelled_call_gives_its_connection_back(postgres_url):
    async with recording_pool(postgres_url, 2) as pool:
        store = PgVectorStore(pool, dimensions=2, collection=new_name())
        await store.store(embedded("a", 1))
        async with pool.connection() as blocker:
            await blocker.execute(f"LOCK TABLE {store.collection} IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(store.search(ONE, PAGE), 0.2)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(store.store(embedded("b", 3)), 0.2)
            assert in_use(pool) == 1
        assert [hit.chunk.document_id for hit in await store.search(ONE, PAGE)] == ["a"]
        assert in_use(pool) == 0
        await store.delete_collection(store.collection)


async def test_a_pool_of_the_users_is_left_open(postgres_url):
    async with recording_pool(postgres_url) as pool:
        async with PgVectorStore(pool, dimensions=2, collection=new_name()) as store:
            await store.store(embedded("a", 1))
        assert not pool.closed
        await store.delete_collection(store.collection)


async def test_a_pool_of_the_users_may_be_set_up_in_its_own_way(postgres_url):
    settings = {"row_factory": dict_row, "autocommit": True, "prepare_threshold": None}
    async with AsyncConnectionPool(postgres_url, kwargs=settings, open=False, min_size=1) as pool:
        store = PgVectorStore(pool, dimensions=2, collection=new_name())
        await store.store(embedded("a", 2))
        await store.replace_document("a", embedded("a", 1))
        assert len(await store.search(ONE, PAGE)) == 1
        assert await store.embeddings([ChunkKey("a", 0)]) == [pytest.approx(ONE)]
        assert await store.collection_exists(store.collection)
        await store.delete_collection(store.collection)


def test_a_store_serves_one_event_loop_after_the_other(postgres_url):
    store = PgVectorStore(postgres_url, dimensions=2, collection=new_name())

    async def use():
        await store.store(embedded("a", 1))
        found = await store.search(ONE, PAGE)
        await store.aclose()
        return len(found)

    assert [asyncio.run(use()) for _ in range(2)] == [1, 1]


async def test_a_server_that_is_not_there_is_told_at_once_without_secrets():
    url = f"postgresql://user:hunter2@127.0.0.1:{free_port()}/db"
    async with PgVectorStore(url, dimensions=2) as store:
        for work in (store.initialize, lambda: store.store(embedded("a", 1)), lambda: store.search(ONE, PAGE)):
            with pytest.raises(StoreError, match=r"PostgreSQL at 127.0.0.1:\d+/db .*is PostgreSQL running") as failure:
                await asyncio.wait_for(work(), 5)
            assert "hunter2" not in str(failure.value) + repr(store)
            assert "secret" not in str(failure.value)


async def test_a_wrong_password_is_told_without_it(postgres_url):
    async with PgVectorStore(postgres_url.replace("open-sesame", "hunter2"), dimensions=2) as store:
        with pytest.raises(StoreError, match="password authentication failed") as failure:
            await store.initialize()
        assert "hunter2" not in str(failure.value)


async def test_a_pool_without_a_free_connection_is_told(postgres_url):
    async with PgVectorStore(
        postgres_url, dimensions=2, collection=new_name(), max_connections=1, timeout=0.3
    ) as store:
        await store.store(embedded("a", 1))
        async with store._connections.transaction():
            with pytest.raises(StoreError, match=r"no connection within 0\.3 s.*1 connections enough"):
                await store.search(ONE, PAGE)
        await store.delete_collection(store.collection)


async def test_refused_rows_do_not_stand_in_the_error(postgres_url):
    async with PgVectorStore(postgres_url, dimensions=2, collection=new_name()) as store:
        await store.initialize()
        await ask(postgres_url, f"ALTER TABLE {store.collection} ADD CHECK (length(text) < 5)")
        with pytest.raises(StoreError, match="CheckViolation") as failure:
            await store.store(embedded("a", 1))
        assert "secret" not in str(failure.value)
        assert failure.value.__cause__ is None
        await store.delete_collection(store.collection)


async def test_a_server_that_dies_in_the_middle_loses_and_doubles_nothing():
    with running_postgres() as server:
        async with PgVectorStore(server.url, dimensions=2, timeout=4) as store:
            await store.store(embedded("before", 3))
            writing = asyncio.create_task(store.store(embedded("during", 20_000)))
            await working_on(server.url, "INSERT INTO%")
            server.stop(signal.SIGQUIT)
            with pytest.raises(StoreError, match="storing in PostgreSQL at"):
                await writing
            with pytest.raises(StoreError, match="searching in PostgreSQL at"):
                await store.search(ONE, PAGE)
            server.start()
            everything = SearchOptions(top_k=50_000)
            assert len(await store.search(ONE, everything)) == 3
            await store.store(embedded("during", 100))
            assert len(await store.search(ONE, everything)) == 103


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
def test_a_missing_package_is_told_with_the_command(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"'{package}'.*pip install 'ragstone\[pgvector\]'"):
        PgVectorStore("postgresql://localhost/db", dimensions=2)

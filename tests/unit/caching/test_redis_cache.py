"""Redis: the real one, one that is not there, and one that refuses."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from redis.asyncio import Redis

from ragstone import RagPipeline
from ragstone.caching import RedisCache
from ragstone.errors import CacheError, ConfigurationError
from ragstone.models import DocumentMetadata
from ragstone.options import CachingOptions
from ragstone.ports import CacheBackend
from ragstone.testing import HashEmbedder
from support.redis_server import free_port


@pytest.fixture
async def redis(redis_url):
    async with Redis.from_url(redis_url) as client:
        await client.flushall()
        yield client


@pytest.mark.row("G8")
async def test_bytes_come_back_for_a_time_under_our_prefix(redis, redis_url):
    async with RedisCache(redis_url) as cache:
        assert isinstance(cache, CacheBackend)
        assert await cache.get("k") is None
        await cache.set("k", b"\x00\xff", ttl=30)
        assert await cache.get("k") == b"\x00\xff"
        assert await redis.keys() == [b"ragstone:k"]
        assert 29_000 < await redis.pttl("ragstone:k") <= 30_000
        await cache.set("k", b"short", ttl=0.05)
        await asyncio.sleep(0.1)
        assert await cache.get("k") is None
        await cache.set("k", b"v", ttl=0.0001)
        async with RedisCache(redis_url, prefix="other:") as other:
            assert await other.get("k") is None


@pytest.mark.row("G8")
async def test_a_client_of_the_users_is_used_and_left_open(redis):
    cache = RedisCache(redis)
    await cache.set("k", b"v", ttl=30)
    await cache.aclose()
    assert await cache.get("k") == b"v"
    assert await redis.ping()


@pytest.mark.row("G8")
async def test_a_client_that_decodes_is_refused(redis_url):
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        with pytest.raises(ConfigurationError, match="decode_responses=False"):
            RedisCache(client)


@pytest.mark.row("G8")
async def test_a_server_that_is_not_there_is_an_error_without_secrets():
    url = f"redis://user:hunter2@127.0.0.1:{free_port()}/0"
    async with RedisCache(url, timeout=0.5) as cache:
        started = time.monotonic()
        for work in (cache.get("k"), cache.set("k", b"v", ttl=1)):
            with pytest.raises(CacheError, match="is Redis running") as failure:
                await work
            assert "hunter2" not in str(failure.value) + repr(cache)
        assert time.monotonic() - started < 5


@pytest.mark.row("G8")
@pytest.mark.parametrize("server", ["localhost:6379", "http://localhost", ""])
def test_what_is_no_address_of_redis_is_refused(server):
    with pytest.raises(ConfigurationError, match="redis://"):
        RedisCache(server)
    with pytest.raises(ConfigurationError, match="timeout"):
        RedisCache("redis://localhost", timeout=0)


def test_a_cache_serves_one_event_loop_after_the_other(redis_url):
    cache = RedisCache(redis_url)

    async def use():
        await cache.set("k", b"v", ttl=30)
        found = await cache.get("k")
        await cache.aclose()
        return found

    assert [asyncio.run(use()) for _ in range(2)] == [b"v", b"v"]


@pytest.mark.row("G8")
async def test_two_processes_over_one_index_share_pages_until_it_changes(redis, redis_url, tmp_path):
    def opened(cache):
        return RagPipeline(
            embedder=HashEmbedder(), path=tmp_path / "i.rag", caching=CachingOptions(), cache_backend=cache
        )

    async with RedisCache(redis_url) as cache:
        async with opened(cache) as writer:
            await writer.ingest_text("paid leave", DocumentMetadata(document_id="a", tags={"year": 2024}))
            first = await writer.retrieve("paid leave")
            assert first.notes["cache"] == "miss"
        async with opened(cache) as reader:
            page = await reader.retrieve("paid leave")
            assert page.notes["cache"] == "hit"
            assert (page.results, page.arms, page.path, page.exhausted) == (
                first.results,
                first.arms,
                first.path,
                first.exhausted,
            )
            assert page[0].chunk.metadata == {"year": 2024}
            await reader.ingest_text("paid leave too", DocumentMetadata(document_id="b"))
            assert (await reader.retrieve("paid leave")).notes["cache"] == "miss"
        async with RagPipeline(
            embedder=HashEmbedder(), path=tmp_path / "j.rag", caching=CachingOptions(), cache_backend=cache
        ) as other:
            await other.ingest_text("paid leave elsewhere", DocumentMetadata(document_id="z"))
            page = await other.retrieve("paid leave")
            assert (page.notes["cache"], page[0].chunk.document_id) == ("miss", "z")


@pytest.mark.row("G8")
async def test_pipelines_in_memory_share_vectors_and_never_pages(redis, redis_url):
    async with RedisCache(redis_url) as cache:
        for name in ("a", "b"):
            embedder = HashEmbedder()
            rag = RagPipeline(embedder=embedder, caching=CachingOptions(), cache_backend=cache)
            await rag.ingest_text("paid leave", DocumentMetadata(document_id=name))
            page = await rag.retrieve("paid leave?")
            assert [r.chunk.document_id for r in page] == [name]
            assert [request.input_type for request in embedder.requests] == ["document", "query"][
                : 2 if name == "a" else 1
            ]


@pytest.mark.row("G8")
async def test_a_pipeline_works_without_its_redis(caplog):
    async with RedisCache(f"redis://127.0.0.1:{free_port()}", timeout=0.5) as cache:
        rag = RagPipeline(embedder=HashEmbedder(), caching=CachingOptions(), cache_backend=cache)
        await rag.ingest_text("paid leave", DocumentMetadata(document_id="a"))
        with caplog.at_level(logging.WARNING, logger="ragstone"):
            notes = [(await rag.retrieve("paid leave")).notes["cache"] for _ in range(3)]
    assert notes == ["miss", "hit", "hit"]
    assert len(caplog.records) == 2  # one a level: vectors and pages

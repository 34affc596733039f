"""Chunks in a real Redis: what is its own beside the contract."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from ragstone import RagPipeline
from ragstone.errors import CapabilityError, ConfigurationError, StoreError
from ragstone.metadata import matches
from ragstone.models import ChunkKey, DocumentMetadata, EmbeddedChunk, SearchOptions, TextChunk
from ragstone.options import RetrievalOptions
from ragstone.ports import CollectionManageable, EmbeddingReadable, HybridSearchable, SparseSearchable, VectorStore
from ragstone.stores import RedisVectorStore
from ragstone.stores.redis.tags import tag_of, tag_query
from ragstone.testing import HashEmbedder
from ragstone.testing._samples import _VALUES, embedded, keys, query
from support.redis_server import free_port, running_redis

pytestmark = pytest.mark.row("K8")
PAGE = SearchOptions(top_k=10)


@pytest.fixture
async def redis(redis_url):
    async with Redis.from_url(redis_url) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def make(redis, redis_url):
    """Makes stores of one new index."""
    name, stores = f"idx-{uuid4().hex}", []

    def of(server=redis_url, *, dimensions=2, **options):
        stores.append(RedisVectorStore(server, name, dimensions=dimensions, **options))
        return stores[-1]

    yield of
    await RedisVectorStore(redis, name, dimensions=2).delete_collection(name)
    for store in stores:
        await store.aclose()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"index": ""}, "index must be"),
        ({"index": "a:b"}, "index must be .* not 'a:b'"),
        ({"dimensions": 0}, "dimensions must be at least 1, not 0"),
        ({"dimensions": 40000}, "dimensions must be at most 32768, not 40000"),
        ({"dimensions": 2.0}, "dimensions must be an integer"),
        ({"filterable_keys": "tenant"}, "filterable_keys must be several keys"),
        ({"filterable_keys": ["a", ""]}, "filterable_keys must be strings that are not empty"),
        ({"ef_runtime": 0}, "ef_runtime must be at least 1"),
        ({"timeout": 0}, "timeout must be between"),
        ({"server": "http://localhost"}, "redis://"),
    ],
)
def test_bad_options_are_refused_at_once(options, said):
    with pytest.raises(ConfigurationError, match=said):
        RedisVectorStore(**{"server": "redis://localhost", "index": "i", "dimensions": 2, **options})


async def test_a_client_that_decodes_is_refused(redis_url):
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        with pytest.raises(ConfigurationError, match="decode_responses=False"):
            RedisVectorStore(client, "i", dimensions=2)


def test_capabilities_are_declared_honestly():
    store = RedisVectorStore("redis://user:hunter2@localhost:1/0", "i", dimensions=2)
    for able in (VectorStore, CollectionManageable, EmbeddingReadable):
        assert isinstance(store, able)
    for unable in (HybridSearchable, SparseSearchable):
        assert not isinstance(store, unable)
    assert "hunter2" not in repr(store)


async def test_chunks_are_hashes_under_the_index(redis, make):
    store = make(filterable_keys=["tenant"])
    await store.store([embedded("doc:7", 3, (1, 0), {"tenant": "acme", "page": 4})])
    [name] = await redis.keys()
    assert name.endswith(b":doc:7:3")
    fields = await redis.hgetall(name)
    assert (fields[b"document_id"], fields[b"chunk_index"], fields[b"md_tenant"]) == (b"doc:7", b"3", b"acme")
    assert fields[b"metadata"] == b'{"tenant":"acme","page":4}'


@pytest.mark.case("S-071")
async def test_a_hyphen_in_a_tag_is_no_negation(make):
    store = make(filterable_keys=["tenant"])
    await store.store(
        [embedded("d", 0, (1, 0), {"tenant": "a1b2-c3d4-e5"}), embedded("d", 1, (1, 0), {"tenant": "a1b2"})]
    )
    found = await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter={"tenant": "a1b2-c3d4-e5"}))
    assert keys(found) == [("d", 0)]
    assert tag_query({"md_tenant": tag_of("a1b2-c3d4-e5")}) == r"(@md_tenant:{a1b2\-c3d4\-e5})"


@pytest.mark.case("S-072")
async def test_scores_are_similarities_and_not_distances(make):
    store = make()
    vectors = {"a": (0.85, 0.5267827), "b": (0.4, 0.9165151), "c": (-0.2, 0.9797959)}
    await store.store([embedded(name, 0, vector) for name, vector in vectors.items()])
    found = await store.search(query(1, 0), SearchOptions(top_k=5, min_score=0.3))
    assert [key.document_id for key in keys(found)] == ["a", "b"]
    assert [hit.score for hit in found] == pytest.approx([0.85, 0.40], abs=1e-6)
    assert [hit.score for hit in await store.search(query(1, 0), PAGE)][-1] == pytest.approx(-0.2, abs=1e-6)


async def test_a_filter_by_a_key_that_was_not_declared_is_an_error(make):
    store = make(filterable_keys=["tenant"])
    await store.store([embedded("d", 0, (1, 0), {"tenant": "a", "year": 2024})])
    with pytest.raises(CapabilityError, match=r"\['year'\].*filterable_keys"):
        await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter={"tenant": "a", "year": 2024}))
    [hit] = await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter={"tenant": "a"}))
    assert hit.chunk.metadata == {"tenant": "a", "year": 2024}


async def test_an_index_from_before_a_key_was_declared_is_an_error(make):
    await make(filterable_keys=["tenant"]).store([embedded("d", 0, (1, 0), {"tenant": "a", "year": 1})])
    newer = make(filterable_keys=["tenant", "year"])
    for use in (newer.initialize(), newer.store([embedded("e", 0, (1, 0))]), newer.search(query(1, 0), PAGE)):
        with pytest.raises(ConfigurationError, match=r"before filterable_keys named \['year'\].*ingest"):
            await use
    with pytest.raises(ConfigurationError, match=r"md_tenant.*would not be found"):
        await make().initialize()
    assert keys(await make(filterable_keys=["tenant"]).search(query(1, 0), PAGE)) == [("d", 0)]


async def test_an_index_of_other_dimensions_or_of_another_kind_is_an_error(redis, make):
    await make().initialize()
    with pytest.raises(ConfigurationError, match="has 2 dimensions, not 3"):
        await make(dimensions=3).initialize()
    await redis.execute_command("FT.CREATE", "others", "PREFIX", 1, "others:", "SCHEMA", "t", "TEXT")
    store = RedisVectorStore(redis, "others", dimensions=2)
    with pytest.raises(ConfigurationError, match="'others' was not made for chunks"):
        await store.initialize()


async def test_the_index_covers_hashes_that_were_there_before_it(redis, make):
    store = make()
    await store.store([embedded("d", n, (1, n / 100)) for n in range(3000)])
    [name] = await redis.execute_command("FT._LIST")
    await redis.execute_command("FT.DROPINDEX", name)
    with pytest.raises(StoreError, match="dropped meanwhile"):
        await store.search(query(1, 0), PAGE)
    everything = SearchOptions(top_k=3000)
    pages = await asyncio.gather(*(each.search(query(1, 0), everything) for each in (store, make(), make())))
    assert [len(page) for page in pages] == [3000] * 3


async def test_deleting_makes_no_index(redis, make):
    store = make()
    await store.delete_by_document_id("d")
    assert await redis.execute_command("FT._LIST") == []


async def test_collections(make):
    store = make(filterable_keys=["k"])
    other = f"other-{uuid4().hex}"
    assert not await store.collection_exists(other)
    await store.delete_collection(other)
    await store.create_collection(other, 3)
    await store.create_collection(other, 3)
    assert await store.collection_exists(other)
    with pytest.raises(ConfigurationError, match="has 3 dimensions, not 4"):
        await store.create_collection(other, 4)
    with pytest.raises(ConfigurationError, match="name must be"):
        await store.create_collection("a b", 4)
    await store.delete_collection(other)
    assert not await store.collection_exists(other)


async def test_dropping_the_bound_collection_starts_anew(redis, make):
    store = make()
    await store.store([embedded("d", 0, (1, 0))])
    [name] = await redis.execute_command("FT._LIST")
    await store.delete_collection(name.decode())
    assert await redis.keys() == []
    await store.store([embedded("e", 0, (1, 0))])
    assert keys(await store.search(query(1, 0), PAGE)) == [("e", 0)]


@pytest.mark.parametrize("protocol", [2, 3])
async def test_both_versions_of_the_protocol(redis_url, make, protocol):
    async with Redis.from_url(redis_url, protocol=protocol) as client:
        store = make(client, filterable_keys=["k"])
        await store.store([embedded("d", n, (1, n), {"k": n}) for n in range(3)])
        await store.initialize()
        assert keys(await store.search(query(1, 0), SearchOptions(top_k=2, metadata_filter={"k": 2}))) == [("d", 2)]
        await store.delete_by_document_id("d")
        assert await store.search(query(1, 0), PAGE) == []
        await store.aclose()
        assert await client.ping()


async def test_a_key_that_a_chunk_loses_is_forgotten(redis, make):
    store = make(filterable_keys=["k"])
    await store.store([embedded("d", 0, (1, 0), {"k": 1})])
    await store.store([embedded("d", 0, (0, 0))])
    [name] = await redis.keys()
    assert not {b"md_k", b"embedding"} & (await redis.hgetall(name)).keys()
    assert (await store.embeddings([ChunkKey("d", 0)]))[0] == pytest.approx([0, 0])


async def test_numbers_keep_their_type(make):
    store = make()
    metadata = {"whole": 3, "float": 3.0, "tiny": 5e-324, "sum": 0.1 + 0.2, "flag": True, "text": "3"}
    await store.store([embedded("d", 0, (1, 0), metadata)])
    [hit] = await store.search(query(1, 0), PAGE)
    assert [(value, type(value)) for value in hit.chunk.metadata.values()] == [
        (value, type(value)) for value in metadata.values()
    ]


@given(_VALUES, _VALUES)
def test_tags_are_equal_where_values_match(a, b):
    assert (tag_of(a) == tag_of(b)) == matches({"k": a}, {"k": b})


@given(st.text(), st.text())
def test_tags_of_different_strings_are_different(a, b):
    assert (tag_of(a) == tag_of(b)) == (a == b)
    assert tag_of(a) != tag_of(datetime.now(UTC))


async def test_a_server_that_is_not_there_is_an_error_without_secrets():
    store = RedisVectorStore(f"redis://user:hunter2@127.0.0.1:{free_port()}/0", "i", dimensions=2, timeout=0.5)
    async with store:
        chunk = EmbeddedChunk(TextChunk("a secret text", "d", 0), query(1, 0))
        for work in (store.initialize(), store.store([chunk]), store.delete_by_document_id("d")):
            with pytest.raises(StoreError, match=r"Redis at redis://127.0.0.1:.*is it running") as failure:
                await work
            assert "hunter2" not in str(failure.value)
            assert "secret text" not in str(failure.value)


async def test_a_refused_write_stores_nothing_and_shows_no_text(redis, make):
    store = make()
    await store.initialize()
    await redis.config_set("maxmemory", 1)
    try:
        chunks = [EmbeddedChunk(TextChunk("a secret text", "d", n), query(1, 0)) for n in range(3)]
        with pytest.raises(StoreError, match="storing 3 chunks failed with OutOfMemoryError") as failure:
            await store.store(chunks)
        assert "secret" not in str(failure.value)
        assert failure.value.__suppress_context__
    finally:
        await redis.config_set("maxmemory", 0)
    assert await redis.keys() == []


async def test_hashes_that_are_no_chunks_are_an_error(redis, make):
    store = make()
    await store.store([embedded("d", 0, (1, 0))])
    [name] = await redis.keys()
    await redis.hset(name, "start", "x")
    with pytest.raises(StoreError, match="hashes that are no chunks"):
        await store.search(query(1, 0), PAGE)


async def test_a_redis_without_its_search_module_is_named():
    with running_redis(search=False) as url:
        async with RedisVectorStore(url, "i", dimensions=2) as store:
            with pytest.raises(StoreError, match="no search module: run Redis 8 or Redis Stack"):
                await store.initialize()


async def test_connections_that_the_server_closed_are_replaced(redis, make):
    store = make()
    await store.store([embedded("d", 0, (1, 0))])
    await redis.client_kill_filter(_type="normal", skipme=True)
    assert keys(await store.search(query(1, 0), PAGE)) == [("d", 0)]


def test_a_store_serves_one_event_loop_after_the_other(redis_url):
    name = f"idx-{uuid4().hex}"
    store = RedisVectorStore(redis_url, name, dimensions=2)

    async def use(number):
        async with store:
            await store.store([embedded("d", number, (1, 0))])
            return len(await store.search(query(1, 0), PAGE))

    async def drop():
        async with store:
            await store.delete_collection(name)

    assert [asyncio.run(use(number)) for number in range(2)] == [1, 2]
    asyncio.run(drop())


async def test_a_pipeline_over_redis_fuses_with_its_own_keyword_index(make):
    embedder = HashEmbedder()
    rag = RagPipeline(embedder=embedder, store=make(dimensions=embedder.dimensions, filterable_keys=["year"]))
    for name, text in (("a", "paid leave"), ("b", "sick leave"), ("c", "office keys")):
        await rag.ingest_text(text, DocumentMetadata(document_id=name, tags={"year": 2024 if name == "a" else 2025}))
    page = await rag.retrieve("paid leave", RetrievalOptions(use_hybrid_search=True))
    assert page[0].chunk.document_id == "a"
    assert {arm.arm for arm in page.arms} == {"dense", "bm25"}

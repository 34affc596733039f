"""Chunks in a real Chroma: what is its own beside the contract."""

from __future__ import annotations

import json
from contextlib import ExitStack
from uuid import uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone import RagPipeline
from ragstone.errors import ConfigurationError, DimensionMismatchError, InvalidInputError, StoreError
from ragstone.metadata import matches
from ragstone.models import ChunkKey, DocumentMetadata, EmbeddedChunk, SearchOptions, TextChunk
from ragstone.options import RetrievalOptions
from ragstone.ports import CollectionManageable, EmbeddingReadable, HybridSearchable, SparseSearchable, VectorStore
from ragstone.stores import ChromaStore
from ragstone.stores.chroma.records import chunk_of, record_metadata, where
from ragstone.testing import HashEmbedder
from ragstone.testing._samples import _VALUES, embedded, keys, query
from support.chroma_server import running_chroma
from support.loopback import Reply, serving
from support.redis_server import free_port

pytestmark = pytest.mark.row("K6")
PAGE = SearchOptions(top_k=10)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
async def rest(chroma_url):
    """The server's own interface, and what was asked through it."""
    requests = []

    async def note(request):
        requests.append(request)

    async with httpx.AsyncClient(base_url=chroma_url, event_hooks={"request": [note]}, timeout=30) as client:
        client.requests = requests
        yield client


@pytest.fixture
async def make(rest, chroma_url):
    """Makes stores of one new collection."""
    name, stores = f"test-{uuid4().hex}", []

    def of(**options):
        stores.append(ChromaStore(name, **{"base_url": chroma_url, "client": rest, **options}))
        return stores[-1]

    of.name = name
    yield of
    await ChromaStore(name, base_url=chroma_url, client=rest).delete_collection(name)
    for store in stores:
        await store.aclose()


def collections(tenant="default_tenant", database="default_database"):
    return f"/api/v2/tenants/{tenant}/databases/{database}/collections"


def asked(rest, action):
    return [json.loads(request.content) for request in rest.requests if request.url.path.endswith(f"/{action}")]


@pytest.mark.parametrize("name", ["ab", "a" * 513, "-abc", "abc-", "a b", "a/b", "a..b", "", "ключи"])
async def test_names_that_cannot_be_are_refused_at_once(name):
    with pytest.raises(ConfigurationError, match="collection must be 3 to 512"):
        ChromaStore(name)
    with pytest.raises(ConfigurationError, match="name must be 3 to 512"):
        await ChromaStore("abc").create_collection(name, 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base_url": "localhost:8000"}, "base_url must be a URL"),
        ({"tenant": ""}, "tenant must not be empty"),
        ({"database": " "}, "database must not be empty"),
        ({"api_key": ""}, "api_key must not be empty"),
        ({"timeout": 0}, "timeout must be between"),
        ({"max_retries": -1}, "max_retries must be at least 0"),
    ],
)
def test_bad_options_are_refused_at_once(options, said):
    with pytest.raises(ConfigurationError, match=said):
        ChromaStore("handbooks", **options)


def test_capabilities_are_declared_honestly():
    store = ChromaStore("handbooks")
    for able in (VectorStore, CollectionManageable, EmbeddingReadable):
        assert isinstance(store, able)
    for unable in (HybridSearchable, SparseSearchable):
        assert not isinstance(store, unable)


async def test_chunks_are_records_with_their_metadata_as_it_is(rest, make):
    store = make()
    await store.store([embedded("doc:7", 3, (1, 0), {"tenant": "acme", "page": 4})])
    [wanted] = asked(rest, "upsert")
    assert wanted["ids"] == ["doc:7:3"]
    assert wanted["documents"] == ["text of doc:7 3"]
    [metadata] = wanted["metadatas"]
    assert {key: metadata[key] for key in ("tenant", "page", "document_id", "chunk_index")} == {
        "tenant": "acme",
        "page": 4,
        "document_id": "doc:7",
        "chunk_index": 3,
    }


@pytest.mark.case("S-073")
@pytest.mark.parametrize("metadata_filter", [None, {}])
async def test_an_empty_filter_is_absent(rest, make, metadata_filter):
    store = make()
    await store.store([embedded("d", 0, (1, 0))])
    found = await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter=metadata_filter))
    assert keys(found) == [("d", 0)]
    [wanted] = asked(rest, "query")
    assert "where" not in wanted


@pytest.mark.case("S-074")
@pytest.mark.parametrize(
    ("metadata_filter", "clause"),
    [
        ({"a": "x"}, {"a": {"$eq": "x"}}),
        ({"a": "x", "b": 2}, {"$and": [{"a": {"$eq": "x"}}, {"b": {"$eq": 2}}]}),
    ],
)
async def test_several_clauses_need_a_conjunction(rest, make, metadata_filter, clause):
    store = make()
    await store.store([embedded("d", 0, (1, 0), {"a": "x", "b": 2}), embedded("d", 1, (1, 0), {"a": "y", "b": 2})])
    found = await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter=metadata_filter))
    assert keys(found) == [("d", 0)]
    assert [wanted["where"] for wanted in asked(rest, "query")] == [clause]


async def test_scores_are_similarities(make):
    store = make()
    vectors = {"a": (0.85, 0.5267827), "b": (0.4, 0.9165151), "c": (-0.2, 0.9797959)}
    await store.store([embedded(name, 0, vector) for name, vector in vectors.items()])
    found = await store.search(query(1, 0), SearchOptions(top_k=5, min_score=0.3))
    assert [hit.score for hit in found] == pytest.approx([0.85, 0.40], abs=1e-5)


@given(_VALUES, _VALUES)
def test_clauses_are_equal_where_values_match(a, b):
    same = json.dumps(where({"k": a})) == json.dumps(where({"k": b}))
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        assert same == matches({"k": a}, {"k": b})


@given(st.dictionaries(st.text(min_size=1), st.text() | FLOATS | st.booleans()))
def test_records_are_read_as_they_were_written(metadata):
    chunk = TextChunk("text", "d", 1, 2, 6, metadata)
    assert chunk_of("text", json.loads(json.dumps(record_metadata(chunk)))) == chunk


async def test_numbers_come_back_exactly_and_are_found(make):
    store = make()
    numbers = [0.1 + 0.2, 12483260073.967875, -0.010641335682031813, 1e300, 5e-324, 3.0, 3, 2.0**53, 2**53, -1.5]
    await store.store([embedded("d", n, (1, n), {"x": value}) for n, value in enumerate(numbers)])
    results = {hit.chunk.chunk_index: hit.chunk.metadata["x"] for hit in await store.search(query(1, 0), PAGE)}
    assert [results[n] for n in range(len(numbers))] == numbers
    assert (type(results[5]), type(results[6])) == (float, int)
    for value in numbers:
        found = await store.search(query(1, 0), SearchOptions(top_k=10, metadata_filter={"x": value}))
        assert {numbers[key.chunk_index] for key in keys(found)} == {value}


async def test_a_collection_of_another_space_is_an_error(rest, make):
    await rest.post(collections(), json={"name": make.name})
    store = make()
    for use in (store.initialize(), store.store([embedded("d", 0, (1, 0))]), store.search(query(1, 0), PAGE)):
        with pytest.raises(ConfigurationError, match=f"{make.name}' is of the space 'l2'.*ingest"):
            await use
    with pytest.raises(ConfigurationError, match="of the space 'l2'"):
        await store.create_collection(make.name, 2)
    assert not asked(rest, "upsert")


async def test_a_collection_that_was_made_anew_is_looked_up_once(rest, make):
    store, other = make(), make()
    await store.store([embedded("d", 0, (1, 0))])
    await other.delete_collection(make.name)
    assert await store.search(query(1, 0), PAGE) == []
    await other.delete_collection(make.name)
    await store.store([embedded("e", 0, (1, 0, 0))])
    assert keys(await store.search(query(1, 0, 0), PAGE)) == [("e", 0)]
    await other.delete_collection(make.name)
    await other.initialize()
    await store.delete_by_document_id("e")
    await other.delete_collection(make.name)
    await rest.post(collections(), json={"name": make.name})
    with pytest.raises(ConfigurationError, match="of the space 'l2'"):
        await store.search(query(1, 0), PAGE)


async def test_deleting_makes_no_collection(make):
    store = make()
    await store.delete_by_document_id("d")
    assert not await store.collection_exists(make.name)
    await store.initialize()
    await make().delete_collection(make.name)
    await store.delete_by_document_id("d")
    assert not await store.collection_exists(make.name)


async def test_collections(make):
    store = make()
    other = f"other-{uuid4().hex}"
    assert not await store.collection_exists(other)
    await store.delete_collection(other)
    await store.create_collection(other, 3)
    await store.create_collection(other, 4)  # dimensions come with the first vectors
    assert await store.collection_exists(other)
    await store.delete_collection(other)
    assert not await store.collection_exists(other)


async def test_a_collection_of_other_dimensions_is_an_error(make):
    store = make()
    await store.store([embedded("d", 0, (1, 0))])
    with pytest.raises(ConfigurationError, match="has 2 dimensions, not 3"):
        await store.create_collection(make.name, 3)
    with pytest.raises(DimensionMismatchError, match="has 2 dimensions, not 3") as caught:
        await store.store([embedded("d", 1, (1, 0, 0))])
    assert (caught.value.expected, caught.value.actual) == (2, 3)


async def test_tenants_and_databases_are_kept_apart(rest, make):
    tenant, database = f"tenant-{uuid4().hex}", "their-base"
    await rest.post("/api/v2/tenants", json={"name": tenant})
    await rest.post(f"/api/v2/tenants/{tenant}/databases", json={"name": database})
    store, theirs = make(), make(tenant=tenant, database=database)
    await store.store([embedded("ours", 0, (1, 0))])
    await theirs.store([embedded("theirs", 0, (1, 0))])
    await theirs.delete_by_document_id("ours")
    assert [keys(await each.search(query(1, 0), PAGE)) for each in (store, theirs)] == [[("ours", 0)], [("theirs", 0)]]
    with pytest.raises(StoreError, match=r"Chroma at .*making the collection .*Database .nowhere. does not exist"):
        await make(database="nowhere").initialize()


async def test_a_long_batch_is_several_requests(rest, make):
    store = make()
    chunks = [embedded("d", n, (1, n / 2500)) for n in range(2500)]
    await store.store([*chunks, EmbeddedChunk(TextChunk("later", "d", 2499), query(1, 1))])
    assert [len(wanted["ids"]) for wanted in asked(rest, "upsert")] == [1000, 1000, 500]
    [hit] = await store.search(query(1, 1), SearchOptions(top_k=1))
    assert (hit.chunk.key, hit.text) == (("d", 2499), "later")
    wanted = [ChunkKey("d", 1200), ChunkKey("d", 2500), ChunkKey("d", 1200)]
    assert [vector is None for vector in await store.embeddings(wanted)] == [False, True, False]


async def test_a_batch_of_several_lengths_stores_nothing(rest, make):
    store = make()
    with pytest.raises(InvalidInputError, match="chunk 1200"):
        await store.store([embedded("d", n, (1, 0) if n != 1200 else (1, 0, 0)) for n in range(1500)])
    assert not rest.requests
    with pytest.raises(InvalidInputError, match="surrogate"):
        await store.store([EmbeddedChunk(TextChunk("\ud800", "d", 0), query(1, 0))])


class Refusing:
    """A server that makes collections and refuses the rest, repeating what it was sent."""

    def __init__(self, url):
        self.url = url
        self.keys = []

    def receive(self, path, headers, payload):
        self.keys.append(headers.get("authorization"))
        if path.endswith("/collections"):
            return Reply(body={"id": "1", "configuration_json": {"hnsw": {"space": "cosine"}}, "dimension": None})
        if path.endswith("/get"):
            return Reply(body={"ids": [], "metadatas": []})
        return Reply(status=500, body={"error": "InternalError", "message": f"cannot {payload} with {headers}"})


async def test_errors_name_the_batch_and_show_neither_keys_nor_texts():
    with serving(Refusing) as double:
        async with ChromaStore(
            "handbooks", base_url=double.url, api_key="ck-secret-key", max_retries=1, retry_pause=0
        ) as store:
            chunks = [EmbeddedChunk(TextChunk("a text that is nobody's business", "d", n), query(1, 0)) for n in (0, 1)]
            with pytest.raises(StoreError, match="storing chunks 0 to 1 of 2 failed: HTTP 500") as failure:
                await store.store(chunks)
            assert set(double.keys) == {"Bearer ck-secret-key"}
            assert len(double.keys) == 4  # made, read, and written twice
            for secret in ("ck-secret-key", "nobody's business"):
                assert secret not in str(failure.value) + repr(store)


async def test_a_server_that_is_not_there_is_named():
    url = f"http://127.0.0.1:{free_port()}"
    async with ChromaStore("handbooks", base_url=url, max_retries=0) as store:
        for work in (store.initialize(), store.delete_by_document_id("d"), store.collection_exists("abc")):
            with pytest.raises(StoreError, match=r"Chroma at 127.0.0.1:\d+: .* failed: no connection"):
                await work


async def test_a_server_that_dies_in_the_middle_loses_and_doubles_nothing(tmp_path):
    port, server = free_port(), ExitStack()
    url = server.enter_context(running_chroma(tmp_path, port))
    upserts = []

    async def die(request):
        upserts.extend([request] if request.url.path.endswith("/upsert") else [])
        if len(upserts) == 2:
            server.close()

    chunks = [embedded("d", n, (1, n / 2500)) for n in range(2500)]
    async with httpx.AsyncClient(event_hooks={"request": [die]}) as client:
        store = ChromaStore("handbooks", base_url=url, client=client, max_retries=0)
        with pytest.raises(StoreError, match=r"Chroma at .*storing chunks 1000 to 1999 of 2500 failed"):
            await store.store(chunks)
        with running_chroma(tmp_path, port):
            await store.store(chunks)
            found = await store.search(query(1, 0), SearchOptions(top_k=5000))
            assert sorted(keys(found)) == [item.chunk.key for item in chunks]


async def test_records_that_are_no_chunks_are_an_error(rest, make):
    store = make()
    await store.initialize()
    identity = (await rest.get(f"{collections()}/{make.name}")).json()["id"]
    record = {"ids": ["x"], "embeddings": [[1, 0]], "metadatas": [{"k": 1}]}
    assert (await rest.post(f"{collections()}/{identity}/upsert", json=record)).is_success
    with pytest.raises(StoreError, match="records that are no chunks"):
        await store.search(query(1, 0), PAGE)


async def test_a_pipeline_over_chroma_fuses_with_its_own_keyword_index(make):
    rag = RagPipeline(embedder=HashEmbedder(), store=make())
    for name, text in (("a", "paid leave"), ("b", "sick leave"), ("c", "office keys")):
        await rag.ingest_text(text, DocumentMetadata(document_id=name))
    page = await rag.retrieve("paid leave", RetrievalOptions(use_hybrid_search=True))
    assert page[0].chunk.document_id == "a"
    assert {arm.arm for arm in page.arms} == {"dense", "bm25"}

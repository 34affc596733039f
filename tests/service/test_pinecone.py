"""The stores over Pinecone beyond the contract, against the double."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from ragstone.errors import ConfigurationError, InvalidInputError, StoreError
from ragstone.models import EmbeddedChunk, SearchOptions, SearchResult, TextChunk
from ragstone.ports import CollectionManageable, HybridSearchable, SparseSearchable
from ragstone.sparse_vector import SparseVector
from ragstone.stores import PineconeSparseStore, PineconeStore
from ragstone.testing._samples import embedded, keys, query
from support.loopback import Reply
from support.pinecone_index import PineconeIndex
from support.pinecone_service import KEY, PineconeService, running_pinecone

pytestmark = pytest.mark.row("K7")
INDEX = "docs"
TOP5 = SearchOptions(top_k=5)
TERMS = SparseVector.from_dict({9: 2.0})


class LeapingClock:
    """Half a minute passes at each look."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        self.seconds += 30.0
        return self.seconds


@pytest.fixture
def service() -> Iterator[PineconeService]:
    with running_pinecone() as service:
        yield service


@pytest.fixture
async def store(service: PineconeService) -> AsyncIterator[PineconeStore]:
    async with make_store(service) as store:
        yield store


@pytest.fixture
async def sparse(service: PineconeService) -> AsyncIterator[PineconeSparseStore]:
    async with make_store(service, PineconeSparseStore) as store:
        yield store


def make_store(service: PineconeService, kind: type[Any] = PineconeStore, **options: Any) -> Any:
    name = options.pop("index_name", INDEX)
    defaults = {"api_key": KEY, "base_url": service.url, "dimensions": 2, "max_retries": 0, "poll_interval": 0.001}
    return kind(name, **{**defaults, **options})


def data_of(service: PineconeService) -> PineconeIndex:
    return service.indexes[INDEX].data


def with_terms(item: EmbeddedChunk, sparse: SparseVector | None = TERMS) -> EmbeddedChunk:
    return EmbeddedChunk(item.chunk, item.embedding, sparse)


async def everything(store: PineconeStore) -> list[SearchResult]:
    return await store.search(query(1, 0), SearchOptions(top_k=1000))


def test_only_the_sparse_store_searches_sparse_vectors(service: PineconeService) -> None:
    dense, sparse = make_store(service), make_store(service, PineconeSparseStore)
    for store in (dense, sparse):
        assert isinstance(store, CollectionManageable)
        assert not isinstance(store, HybridSearchable)
    assert (isinstance(dense, SparseSearchable), isinstance(sparse, SparseSearchable)) == (False, True)
    assert service.requests == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index_name": "Docs"}, "index_name must be 1 to 45 lower-case"),
        ({"index_name": "-docs"}, "index_name"),
        ({"index_name": "d" * 46}, "index_name"),
        ({"dimensions": 0}, "dimensions must be between 1 and 20000, not 0"),
        ({"dimensions": 2.5}, "dimensions must be an integer"),
        ({"api_key": " "}, "api_key"),
        ({"namespace": ""}, "namespace must be 1 to 512"),
        ({"namespace": "é"}, "namespace"),
        ({"cloud": "ibm"}, "cloud must be one of aws, gcp, azure, not 'ibm'"),
        ({"region": "a b"}, "region"),
        ({"ready_timeout": -1}, "ready_timeout"),
        ({"poll_interval": 0}, "poll_interval"),
        ({"base_url": "pinecone"}, "base_url"),
    ],
)
def test_bad_options_are_refused_at_once(service: PineconeService, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_store(service, **options)


# --- the index


@pytest.mark.parametrize(("kind", "metric"), [(PineconeStore, "cosine"), (PineconeSparseStore, "dotproduct")])
async def test_the_first_use_makes_a_serverless_index_and_waits(
    service: PineconeService, kind: type[PineconeStore], metric: str
) -> None:
    service.looks = 3
    async with make_store(service, kind, cloud="gcp", region="europe-west4") as store:
        await asyncio.gather(*(store.search(query(1, 0), TOP5) for _ in range(4)))
    [made] = [request.body for request in service.requests if request.method == "POST"]
    assert made == {
        "name": INDEX,
        "dimension": 2,
        "metric": metric,
        "vector_type": "dense",
        "deletion_protection": "disabled",
        "spec": {"serverless": {"cloud": "gcp", "region": "europe-west4"}},
    }
    looks = [request for request in service.requests if request.method == "GET"]
    assert len(looks) == 4
    assert {request.headers["x-pinecone-api-version"] for request in looks} == {"2025-10"}


async def test_an_index_that_is_never_ready_is_an_error_after_two_minutes(service: PineconeService) -> None:
    service.looks = 10**6
    async with make_store(service, clock=LeapingClock()) as store:
        with pytest.raises(StoreError, match=r"'docs' ready within 120 s \(it is Initializing\)"):
            await store.initialize()
        assert len([request for request in service.requests if request.method == "GET"]) == 4
        service.indexes[INDEX].looks = 0
        await store.initialize()


async def test_an_index_that_failed_is_an_error_at_once(service: PineconeService, store: PineconeStore) -> None:
    await store.initialize()
    service.indexes[INDEX].description["status"] = {"ready": False, "state": "InitializationFailed"}
    async with make_store(service) as other:
        with pytest.raises(StoreError, match="could not make the index 'docs'"):
            await other.initialize()


async def test_an_index_that_is_going_is_waited_for_and_made_anew(
    service: PineconeService, store: PineconeStore
) -> None:
    going = {"name": INDEX, "host": "127.0.0.1:9", "status": {"ready": False, "state": "Terminating"}}
    service.replies = [Reply(200, going), Reply(200, going), Reply(200, going)]
    assert not await store.collection_exists(INDEX)
    await store.initialize()
    assert service.indexes.keys() == {INDEX}


async def test_two_stores_make_one_index(service: PineconeService) -> None:
    async with make_store(service) as first, make_store(service) as second:
        missing = Reply(404, {"error": {"code": "NOT_FOUND", "message": "Resource docs not found"}, "status": 404})
        await first.initialize()
        service.replies = [missing]  # the second looked before the first made it
        await second.initialize()
        await second.store([embedded("d", 0, (1, 0))])
        assert keys(await everything(first)) == [("d", 0)]


@pytest.mark.parametrize(
    ("maker", "user", "message"),
    [
        (PineconeSparseStore, PineconeStore, "compared by 'dotproduct', not dense ones by 'cosine'"),
        (PineconeStore, PineconeSparseStore, "compared by 'cosine', not dense ones by 'dotproduct'"),
    ],
)
async def test_an_index_of_another_metric_is_refused_and_left_alone(
    service: PineconeService, maker: type[PineconeStore], user: type[PineconeStore], message: str
) -> None:
    async with make_store(service, maker) as owner, make_store(service, user) as store:
        await owner.store([embedded("d", 0, (1, 0))])
        before = len(data_of(service).requests)
        for work in (
            store.initialize(),
            store.store([embedded("d", 1, (1, 0))]),
            store.search(query(1, 0), TOP5),
            store.delete_by_document_id("d"),
            store.create_collection(INDEX, 2),
        ):
            with pytest.raises(ConfigurationError, match=message):
                await work
        assert len(data_of(service).requests) == before


async def test_an_index_of_another_length_is_refused(service: PineconeService, store: PineconeStore) -> None:
    await store.create_collection(INDEX, 3)
    for work in (store.initialize(), store.store([embedded("d", 0, (1, 0))]), store.search(query(1, 0), TOP5)):
        with pytest.raises(ConfigurationError, match="holds vectors of 3 dimensions, not of 2"):
            await work
    with pytest.raises(ConfigurationError, match="holds vectors of 3 dimensions, not of 2"):
        await store.create_collection(INDEX, 2)
    assert data_of(service).requests == []


async def test_dropping_and_deleting_what_is_not_there(service: PineconeService, store: PineconeStore) -> None:
    await store.delete_by_document_id("d")
    await store.delete_collection(INDEX)
    assert service.indexes == {}
    await store.initialize()
    await store.delete_by_document_id("d")  # the namespace is not there
    assert await store.collection_exists(INDEX)
    await store.delete_collection(INDEX)
    assert not await store.collection_exists(INDEX)
    await store.store([embedded("d", 0, (1, 0))])
    assert keys(await everything(store)) == [("d", 0)]


async def test_an_index_that_somebody_drops_is_made_anew(service: PineconeService, store: PineconeStore) -> None:
    await store.store([embedded("d", 0, (1, 0))])
    async with make_store(service) as other:
        await other.delete_collection(INDEX)
    with pytest.raises(StoreError, match="if the index is gone, the next use of the store makes it anew"):
        await store.search(query(1, 0), TOP5)
    assert await store.search(query(1, 0), TOP5) == []


# --- records


async def test_a_record_is_as_documented(service: PineconeService, store: PineconeStore) -> None:
    at = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    metadata = {"page": 3, "size": 3.0, "draft": True, "at": at, "cost": "$5", "text": "mine"}
    await store.store([embedded("é:1", 7, (0.5, 0.5), metadata)])
    assert data_of(service).bodies("/vectors/upsert") == [
        {
            "namespace": "",
            "vectors": [
                {
                    "id": "%C3%A9:1:7",
                    "values": [0.5, 0.5],
                    "metadata": {
                        "document_id": "é:1",
                        "chunk_index": 7,
                        "text": "text of é:1 7",
                        "ragstone.start": 5,
                        "ragstone.end": 9,
                        "ragstone.integers": ["page"],
                        "page": 3,
                        "size": 3.0,
                        "draft": True,
                        "at": "$date:2025-01-02T03:04:05+00:00",
                        "cost": "$text:$5",
                        "ragstone.key.text": "mine",
                    },
                }
            ],
        }
    ]
    [hit] = await everything(store)
    assert dict(hit.chunk.metadata) == metadata
    assert [type(hit.chunk.metadata[key]) for key in ("page", "size", "draft")] == [int, float, bool]


async def test_filters_are_typed_equalities(service: PineconeService, store: PineconeStore) -> None:
    for wanted in ({}, {"department": "finance"}, {"department": "finance", "page": 3}):
        await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter=wanted))
    assert [body.get("filter") for body in data_of(service).bodies("/query")] == [
        None,
        {"department": {"$eq": "finance"}},
        {"$and": [{"department": {"$eq": "finance"}}, {"page": {"$eq": 3}}]},
    ]


async def test_long_ids_stay_apart(service: PineconeService, store: PineconeStore) -> None:
    names = ["я" * 400, "я" * 399, "%s", "%C3%A9", "é"]
    await store.store([embedded(name, 0, (1, 0)) for name in names])
    assert {key.document_id for key in keys(await everything(store))} == set(names)
    await store.delete_by_document_id(names[0])
    await store.delete_by_document_id("%C3%A9")
    assert {key.document_id for key in keys(await everything(store))} == {"я" * 399, "%s", "é"}


async def test_a_chunk_that_is_too_large_is_refused_before_anything_is_sent(
    service: PineconeService, store: PineconeStore
) -> None:
    large = EmbeddedChunk(TextChunk("x" * 41_000, "d", 1), query(1, 0))
    with pytest.raises(InvalidInputError, match=r"chunk 1 of document 'd' has 41\d\d\d bytes .* holds 40960"):
        await store.store([embedded("d", 0, (1, 0)), large])
    assert service.requests == []


async def test_requests_are_no_larger_than_pinecone_takes(service: PineconeService, store: PineconeStore) -> None:
    await store.store([embedded("d", n, (1, n)) for n in range(1500)])
    heavy = [EmbeddedChunk(TextChunk("ж" * 15_000, "h", n), query(1, n)) for n in range(50)]
    await store.store(heavy)
    sizes = [len(body["vectors"]) for body in data_of(service).bodies("/vectors/upsert")]
    assert sizes[:2] == [1000, 500]
    assert sum(sizes) == 1550
    assert len(sizes) > 3
    await store.delete_by_document_id("d")
    assert [len(body["ids"]) for body in data_of(service).bodies("/vectors/delete")] == [1000, 500]


async def test_the_last_of_equal_keys_is_stored(service: PineconeService, store: PineconeStore) -> None:
    await store.store([embedded("d", 0, (1, 0), {"v": n}) for n in range(3)])
    [hit] = await everything(store)
    assert hit.chunk.metadata["v"] == 2


async def test_a_zero_vector_takes_its_chunk_out(service: PineconeService, store: PineconeStore) -> None:
    await store.store([embedded("d", 0, (1, 0)), embedded("d", 1, (1, 0))])
    await store.store([embedded("d", 0, (0, 0))])
    assert keys(await everything(store)) == [("d", 1)]


@pytest.mark.case("S-076")
async def test_a_delete_leaves_documents_whose_id_begins_alike(service: PineconeService, store: PineconeStore) -> None:
    await store.initialize()
    data = data_of(service)
    ids = ["doc:0", "doc:1", "doc:10", "doc:7:0", "doc:7:1", "docs:0", "doc:x", *(f"doc:y:{n}" for n in range(250))]
    metadata = {"text": "t", "document_id": "x", "chunk_index": 0}
    data.written[""] = {name: {"id": name, "values": [1.0, 0.0], "metadata": metadata} for name in ids}
    await store.delete_by_document_id("doc")
    assert set(data.written[""]) == set(ids) - {"doc:0", "doc:1", "doc:10"}
    lists = [request.query for request in data.requests if request.path == "/vectors/list"]
    assert [("paginationToken" in each, each["prefix"]) for each in lists] == [(False, "doc:")] + [(True, "doc:")] * 2
    await store.delete_by_document_id("doc:7")
    assert set(data.written[""]) == set(ids) - {"doc:0", "doc:1", "doc:10", "doc:7:0", "doc:7:1"}


async def test_every_page_of_a_document_is_deleted(service: PineconeService, store: PineconeStore) -> None:
    await store.store([embedded("d", n, (1, n)) for n in range(250)] + [embedded("e", 0, (1, 0))])
    await store.delete_by_document_id("d")
    assert set(data_of(service).written[""]) == {"e:0"}


async def test_namespaces_keep_chunks_apart(service: PineconeService) -> None:
    async with make_store(service, namespace="a") as a, make_store(service, namespace="b & c") as b:
        await a.store([embedded("d", 0, (1, 0))])
        await b.store([embedded("d", 1, (1, 0))])
        assert (keys(await everything(a)), keys(await everything(b))) == ([("d", 0)], [("d", 1)])
        await b.delete_by_document_id("d")
        assert (keys(await everything(a)), keys(await everything(b))) == ([("d", 0)], [])


async def test_what_was_written_shows_late(service: PineconeService, store: PineconeStore) -> None:
    service.lagging = True
    await store.store([embedded("d", 0, (1, 0))])
    assert await everything(store) == []
    await store.delete_by_document_id("d")  # which finds nothing listed
    service.settle()
    assert keys(await everything(store)) == [("d", 0)]
    await store.delete_by_document_id("d")
    service.settle()
    assert await everything(store) == []


# --- sparse vectors


@pytest.mark.case("S-077")
async def test_every_write_is_of_the_whole_record(service: PineconeService, sparse: PineconeSparseStore) -> None:
    item = embedded("d", 0, (0.6, 0.8), {"a": "b"})
    for written in (item, with_terms(item)):
        await sparse.store([written])
        record = data_of(service).written[""]["d:0"]
        assert (record["metadata"]["a"], record["metadata"]["text"]) == ("b", "text of d 0")
        assert record["values"] == pytest.approx([0.6, 0.8])
    assert record["sparseValues"] == {"indices": [9], "values": [2.0]}
    assert len(data_of(service).bodies("/vectors/upsert")) == 2
    await sparse.store([item])
    assert await sparse.sparse_search(TERMS, TOP5) == []
    assert keys(await everything(sparse)) == [("d", 0)]


async def test_a_sparse_query_has_a_zero_vector_of_the_index_length(
    service: PineconeService, sparse: PineconeSparseStore
) -> None:
    await sparse.create_collection(INDEX, 3)
    async with make_store(service, PineconeSparseStore, dimensions=3) as other:
        await other.store([with_terms(embedded("d", 0, (1, 0, 0)))])
    [hit] = await sparse.sparse_search(TERMS, TOP5)
    assert hit.score == 4.0
    [body] = data_of(service).bodies("/query")
    assert body["vector"] == [0.0, 0.0, 0.0]
    assert body["sparseVector"] == {"indices": [9], "values": [2.0]}


async def test_dense_scores_are_cosines_under_the_dot_product(sparse: PineconeSparseStore) -> None:
    await sparse.store([with_terms(embedded("d", 0, (30, 40)))])
    [hit] = await sparse.search(query(7, 0), TOP5)
    assert hit.score == pytest.approx(0.6)


async def test_terms_without_a_dense_direction_are_found(sparse: PineconeSparseStore) -> None:
    await sparse.store([with_terms(embedded("z", 0, (0, 0))), with_terms(embedded("d", 0, (1, 0)), None)])
    assert keys(await sparse.sparse_search(TERMS, TOP5)) == [("z", 0)]
    hits = await sparse.search(query(1, 0), TOP5)
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.0])


async def test_too_many_terms_are_refused(service: PineconeService, sparse: PineconeSparseStore) -> None:
    many = SparseVector(np.arange(1001), np.ones(1001))
    with pytest.raises(InvalidInputError, match="chunk 0 of document 'd' has 1001 terms and Pinecone holds 1000"):
        await sparse.store([with_terms(embedded("d", 0, (1, 0)), many)])
    with pytest.raises(InvalidInputError, match="the query has 1001 terms"):
        await sparse.sparse_search(many, TOP5)
    with pytest.raises(InvalidInputError, match="use SparseVector"):
        await sparse.sparse_search({9: 1.0}, TOP5)  # type: ignore[arg-type]
    assert service.requests == []


# --- failures


async def test_too_many_hits_are_refused(store: PineconeStore) -> None:
    with pytest.raises(ConfigurationError, match="top_k must be at most 10000, which Pinecone gives, not 10001"):
        await store.search(query(1, 0), SearchOptions(top_k=10_001))


async def test_failures_name_the_action_and_show_neither_key_nor_text(
    service: PineconeService, store: PineconeStore
) -> None:
    await store.initialize()
    secret = "the merger with Acme is announced on Friday"
    item = EmbeddedChunk(TextChunk(secret, "d", 3), query(1, 0))
    told = Reply(400, {"code": 3, "message": f"cannot store '{secret}' with {KEY}", "details": []})
    for reply, message in (
        (told, "could not store 1 chunks from chunk 3 of document 'd' on .* withheld"),
        (Reply(200, {"upsertedCount": 0}), "it says that it took 0 of them"),
        (Reply(200, b"<html>"), "not in the form of Pinecone's"),
        (Reply(200, []), "not in the form of Pinecone's"),
        (Reply(503, {"message": "overloaded"}), "HTTP 503: overloaded"),
        (Reply(401, b"Unauthorized"), "check api_key"),
    ):
        data_of(service).replies = [reply]
        with pytest.raises(StoreError, match=message) as caught:
            await store.store([item])
        assert secret not in str(caught.value)
        assert KEY not in str(caught.value)
    data_of(service).replies = [Reply(200, {"matches": [{"id": "x", "score": 1.0, "metadata": {"other": 1.0}}]})]
    with pytest.raises(StoreError, match="a record that is no chunk"):
        await store.search(query(1, 0), TOP5)


async def test_failures_of_the_control_plane(service: PineconeService, store: PineconeStore) -> None:
    forbidden = Reply(403, {"error": {"code": "FORBIDDEN", "message": "quota"}, "status": 403})
    missing = Reply(404, {"error": {"code": "NOT_FOUND", "message": "no"}, "status": 404})
    for replies, message in (
        ([Reply(500, {})], "could not read the index 'docs': HTTP 500"),
        ([Reply(200, {"hello": 1})], "the answer is not Pinecone's: check base_url"),
        ([missing, forbidden], "could not make the index 'docs': HTTP 403: .* the project's limits"),
    ):
        service.replies = [*replies]
        with pytest.raises(StoreError, match=message):
            await store.initialize()
    await store.initialize()
    service.indexes[INDEX].description["deletion_protection"] = "enabled"
    with pytest.raises(StoreError, match=r"could not drop the index 'docs': HTTP 403.*deletion protection"):
        await store.delete_collection(INDEX)

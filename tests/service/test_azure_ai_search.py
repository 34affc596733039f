"""The store over Azure AI Search beyond the contract, through the vendor's client, against the double."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import ragstone as rs
from ragstone.errors import (
    CapabilityError,
    ConfigurationError,
    DimensionMismatchError,
    InvalidInputError,
    StoreError,
)
from ragstone.metadata import MetadataValue
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, TextChunk
from ragstone.ports import CollectionManageable, HybridSearchable, NativeOnly, ScoreScaleAware, SparseSearchable
from ragstone.stores import AzureAISearchStore
from ragstone.testing._samples import embedded, keys, query
from support.azure_search_fixtures import INDEX, everything, legacy_index, make_store
from support.azure_search_service import KEY, Service, running_azure_search
from support.loopback import Reply
from support.retrieval import TableEmbedder

pytestmark = pytest.mark.row("K4")
SEARCH, WRITE = "/docs/search.post.search", "/docs/search.index"
TOP5 = SearchOptions(top_k=5)


@pytest.fixture
def service() -> Iterator[Service]:
    with running_azure_search() as service:
        yield service


@pytest.fixture
async def store(service: Service) -> AsyncIterator[AzureAISearchStore]:
    async with make_store(service) as store:
        yield store


def said(text: str, document_id: str, *vector: float) -> EmbeddedChunk:
    return EmbeddedChunk(TextChunk(text, document_id, 0), query(*vector))


# --- the index


async def test_the_index_has_the_documented_fields(service: Service, store: AzureAISearchStore) -> None:
    await store.initialize()
    fields = {item["name"]: item for item in service.indexes[INDEX].definition["fields"]}
    assert {name: item["type"] for name, item in fields.items()} == {
        "id": "Edm.String",
        "document_id": "Edm.String",
        "chunk_index": "Edm.Int32",
        "start": "Edm.Int32",
        "end": "Edm.Int32",
        "text": "Edm.String",
        "metadata": "Edm.String",
        "metadata_entries": "Collection(Edm.ComplexType)",
        "embedding": "Collection(Edm.Single)",
    }
    assert [name for name, item in fields.items() if item.get("filterable")] == ["document_id"]
    assert {item["name"]: item["type"] for item in fields["metadata_entries"]["fields"]} == {
        "key": "Edm.String",
        "stringValue": "Edm.String",
        "numberValue": "Edm.Double",
        "boolValue": "Edm.Boolean",
        "dateValue": "Edm.DateTimeOffset",
        "dateMicroseconds": "Edm.Int32",
    }
    assert all(item["filterable"] for item in fields["metadata_entries"]["fields"])
    [algorithm] = service.indexes[INDEX].definition["vectorSearch"]["algorithms"]
    assert (algorithm["name"], algorithm["kind"]) == ("default-algorithm", "hnsw")
    assert "semantic" not in service.indexes[INDEX].definition


async def test_an_older_index_gains_what_it_lacks(service: Service, store: AzureAISearchStore) -> None:
    index = service.make_index(legacy_index())
    index.documents["1"] = {
        "id": "1",
        "document_id": "old",
        "chunk_index": 4,
        "text": "from before",
        "metadata": '{"page": "3", "lang": "de", "none": null, "odd": 7}',
        "embedding": [1.0, 0.0],
        **dict.fromkeys(("start", "end"), None),
        "metadata_entries": [],
    }
    await store.store([embedded("new", 0, (0, 1), {"page": 3})])
    assert service.indexes[INDEX].definition["scoringProfiles"] == [{"name": "of the owner"}]
    old, new = await everything(store)
    assert old.chunk == TextChunk("from before", "old", 4, metadata={"page": "3", "lang": "de", "odd": "7"})
    assert new.chunk.metadata == {"page": 3}
    assert keys(await everything(store, metadata_filter={"page": 3})) == [("new", 0)]
    assert await everything(store, metadata_filter={"page": "3"}) == []
    assert await everything(store, metadata_filter={"lang": "de"}) == []


async def test_an_index_that_lacks_nothing_is_left_alone(service: Service, store: AzureAISearchStore) -> None:
    await store.initialize()
    async with make_store(service) as second:
        await second.initialize()
    assert [request.method for request in service.requests] == ["GET", "PUT", "GET"]


async def test_turning_the_ranker_on_adds_its_configuration(service: Service, store: AzureAISearchStore) -> None:
    await store.store([said("paid leave", "a", 1, 0)])
    async with make_store(service, semantic_ranking=True) as ranking:
        assert len(await ranking.hybrid_search("leave", query(1, 0), TOP5)) == 1
    [configuration] = service.indexes[INDEX].definition["semantic"]["configurations"]
    assert configuration["prioritizedFields"] == {"prioritizedContentFields": [{"fieldName": "text"}]}


async def test_a_change_by_somebody_else_is_not_undone(service: Service, store: AzureAISearchStore) -> None:
    service.make_index(legacy_index())

    def once() -> None:
        service.before_update = lambda: None
        service.make_index({**legacy_index(), "scoringProfiles": [{"name": "newer"}]})

    service.before_update = once
    await store.initialize()
    definition = service.indexes[INDEX].definition
    assert definition["scoringProfiles"] == [{"name": "newer"}]
    assert "metadata_entries" in {item["name"] for item in definition["fields"]}


async def test_an_index_that_keeps_changing_is_an_error(service: Service, store: AzureAISearchStore) -> None:
    service.make_index(legacy_index())
    service.before_update = lambda: service.make_index(legacy_index()) and None
    with pytest.raises(StoreError, match=f"'{INDEX}' kept changing"):
        await store.initialize()


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (legacy_index(embedding={"dimensions": 3}), DimensionMismatchError, "holds vectors of 3 dimensions, not of 2"),
        (legacy_index(chunk_index={"type": "Edm.String"}), ConfigurationError, "'chunk_index' of type Edm.String"),
        (legacy_index(document_id={"filterable": False}), ConfigurationError, "'document_id' that is not filterable"),
        (legacy_index(id={"name": "key"}), ConfigurationError, "the key field 'key' instead of 'id'"),
        (legacy_index(metric="dotProduct"), ConfigurationError, "by dotProduct instead of cosine"),
    ],
)
async def test_an_index_that_cannot_serve_is_refused(
    service: Service, store: AzureAISearchStore, index: dict[str, Any], error: type[Exception], message: str
) -> None:
    held = service.make_index(index).definition
    with pytest.raises(error, match=message):
        await store.store([embedded("d", 0, (1, 0))])
    assert service.indexes[INDEX].definition == held
    assert service.indexes[INDEX].documents == {}


# --- documents and filters


@pytest.mark.case("S-070")
async def test_quotes_in_filters_and_ids(service: Service, store: AzureAISearchStore) -> None:
    metadata: dict[str, MetadataValue] = {"band's name": "rock 'n' roll"}
    await store.store([embedded("it's", 0, (1, 0), metadata), embedded("other", 0, (1, 0), {"band's name": "rock"})])
    assert keys(await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter=metadata))) == [("it's", 0)]
    await store.delete_by_document_id("it's")
    searched, deleted = service.bodies(SEARCH)
    assert searched["filter"] == (
        "metadata_entries/any(m: m/key eq 'band''s name' and m/stringValue eq 'rock ''n'' roll')"
    )
    assert deleted["filter"] == "document_id eq 'it''s'"
    assert keys(await everything(store)) == [("other", 0)]


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("finance", "m/stringValue eq 'finance'"),
        (3, "m/numberValue eq 3"),
        (3.0, "m/numberValue eq 3"),
        (-0.0, "m/numberValue eq 0"),
        (0.1, "m/numberValue eq 0.1"),
        (2.5e300, "m/numberValue eq 2.5e+300"),
        (True, "m/boolValue eq true"),
        (
            datetime(2025, 2, 3, 12, 45, 46, tzinfo=UTC),
            "m/dateValue eq 2025-02-03T12:45:46.000Z and m/dateMicroseconds eq null",
        ),
        (
            datetime(2025, 2, 3, 12, 45, 46, 123456, tzinfo=UTC),
            "m/dateValue eq 2025-02-03T12:45:46.123Z and m/dateMicroseconds eq 456",
        ),
    ],
)
async def test_a_filter_asks_for_the_slot_of_its_kind(
    service: Service, store: AzureAISearchStore, value: MetadataValue, condition: str
) -> None:
    await store.store([embedded("d", 0, (1, 0), {"k": value})])
    [hit] = await everything(store, metadata_filter={"k": value})
    [body] = service.bodies(SEARCH)
    assert body["filter"] == f"metadata_entries/any(m: m/key eq 'k' and {condition})"
    assert body["vectorFilterMode"] == "preFilter"
    held = hit.chunk.metadata["k"]
    assert (held, type(held), str(held)) == (value, type(value), str(value))


async def test_every_pair_of_a_filter_is_a_clause(service: Service, store: AzureAISearchStore) -> None:
    await everything(store, metadata_filter={"department": "finance", "page": 3})
    [body] = service.bodies(SEARCH)
    assert body["filter"] == (
        "metadata_entries/any(m: m/key eq 'department' and m/stringValue eq 'finance')"
        " and metadata_entries/any(m: m/key eq 'page' and m/numberValue eq 3)"
    )
    await everything(store, metadata_filter={})
    assert "filter" not in service.bodies(SEARCH)[-1]


async def test_rows_say_the_kind_where_the_text_disagrees(service: Service, store: AzureAISearchStore) -> None:
    await store.store([embedded("d", 0, (1, 0), {"page": 3, "yes": True, "at": datetime(2025, 2, 3, tzinfo=UTC)})])
    [document] = service.indexes[INDEX].documents.values()
    document["metadata"] = '{"page": "3"}'
    [hit] = await everything(store)
    assert hit.chunk.metadata == {"page": 3, "yes": True, "at": datetime(2025, 2, 3, tzinfo=UTC)}
    document["metadata"] = "[]"
    assert (await everything(store))[0].chunk.metadata["page"] == 3


async def test_a_document_that_is_no_chunk_is_an_error(service: Service, store: AzureAISearchStore) -> None:
    await store.store([embedded("d", 0, (1, 0))])
    [document] = service.indexes[INDEX].documents.values()
    document["chunk_index"] = None
    with pytest.raises(StoreError, match="no chunk"):
        await everything(store)


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (TextChunk("t", "d", 7, metadata={"k": "ü" * 16_384}), r"chunk 7 of document 'd': .*value of 'k' is too long"),
        (TextChunk("t", "d", 7, metadata={"k" * 32_767: 1}), "a metadata key is too long"),
        (TextChunk("t", "d" * 32_767, 7), "its document id is too long"),
        (TextChunk("t", "d", 7, metadata={f"k{n}": n for n in range(3001)}), "has 3001 metadata entries"),
    ],
)
async def test_what_the_service_cannot_index_is_refused_first(
    service: Service, store: AzureAISearchStore, chunk: TextChunk, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        await store.store([embedded("a", 0, (1, 0)), EmbeddedChunk(chunk, query(1, 0))])
    assert len(str(caught.value)) < 500
    assert service.requests == []


async def test_the_longest_that_can_be_indexed(store: AzureAISearchStore) -> None:
    metadata: dict[str, MetadataValue] = {"k": "ü" * 16_383, **{f"k{n}": n for n in range(2999)}}
    await store.store([embedded("d" * 32_766, 0, (1, 0), metadata)])
    assert len(await everything(store, metadata_filter={"k": "ü" * 16_383, "k7": 7})) == 1


async def test_batches_keep_to_the_service_s_limits(service: Service, store: AzureAISearchStore) -> None:
    await store.store([embedded("d", n, (1, n)) for n in range(1001)])
    assert [len(body["value"]) for body in service.bodies(WRITE)] == [1000, 1]
    service.requests.clear()
    texts = [EmbeddedChunk(TextChunk("ü" * 60_000, "long", n), query(1, 0)) for n in range(6)]
    await store.store(texts)
    assert [len(body["value"]) for body in service.bodies(WRITE)] == [2, 2, 2]


async def test_the_last_of_equal_keys_counts(service: Service, store: AzureAISearchStore) -> None:
    await store.store([said("first", "d", 1, 0), said("second", "d", 0, 1)])
    [hit] = await everything(store)
    assert (hit.chunk.text, hit.score) == ("second", pytest.approx(0))


async def test_a_long_document_is_deleted_whole(service: Service, store: AzureAISearchStore) -> None:
    await store.store([embedded("d", n, (1, n)) for n in range(2100)])
    await store.store([embedded("e", 0, (1, 0))])
    await store.delete_by_document_id("d")
    assert len(service.indexes[INDEX].documents) == 1


async def test_a_write_is_waited_for(service: Service) -> None:
    service.lag = 0.2
    async with make_store(service) as hasty:
        await hasty.store([embedded("d", 0, (1, 0))])
        assert await everything(hasty) == []
    async with make_store(service, indexing_delay=0.25) as patient:
        await patient.store([embedded("d", 1, (1, 0))])
        assert len(await everything(patient)) == 2
        await patient.delete_by_document_id("d")
        assert await everything(patient) == []


# --- searching


@pytest.mark.parametrize(
    ("count", "top_k", "sent"), [(None, 5, None), (None, 50, None), (None, 51, 51), (60, 5, 60), (3, 5, 5), (3, 2, 3)]
)
async def test_how_many_neighbours_are_asked_for(
    service: Service, count: int | None, top_k: int, sent: int | None
) -> None:
    async with make_store(service, k_nearest_neighbors_count=count) as store:
        await store.search(query(1, 0), SearchOptions(top_k=top_k))
        await store.hybrid_search("text", query(1, 0), SearchOptions(top_k=top_k))
    for body in service.bodies(SEARCH):
        [vector_query] = body["vectorQueries"]
        assert vector_query == {"kind": "vector", "vector": [1.0, 0.0], "fields": "embedding"} | (
            {} if sent is None else {"k": sent}
        )
        assert body["top"] == top_k


async def test_native_hybrid_search(service: Service, store: AzureAISearchStore) -> None:
    await store.store([said("paid leave", "a", 1, 0), said("parking", "b", 0.9, 0.1), said("annual leave", "c", -1, 0)])
    hits = await store.hybrid_search("leave", query(1, 0), SearchOptions(top_k=5, min_score=0.9))
    assert {hit.chunk.document_id: hit.score for hit in hits} == {
        "a": pytest.approx(2 / 61),
        "c": pytest.approx(1 / 62 + 1 / 63),
        "b": pytest.approx(1 / 62),
    }
    assert [hit.chunk.document_id for hit in hits] == ["a", "c", "b"]
    assert {hit.score_scale for hit in hits} == {ScoreScale.BACKEND}
    [body] = service.bodies(SEARCH)
    assert (body["search"], body["searchFields"]) == ("leave", "text")
    assert "queryType" not in body


async def test_a_query_is_words_and_no_syntax(service: Service, store: AzureAISearchStore) -> None:
    await store.store([said("draft of a C++ rule", "a", 0, 1), said("rule", "b", 0, 1)])
    for text in ('rule -draft "', "rule -draft", '"rule', "+rule | (draft", "draft rule*", "rule~ draft\\"):
        assert set(keys(await store.hybrid_search(text, query(0, 0), TOP5))) == {("a", 0), ("b", 0)}, text


async def test_a_hybrid_query_without_one_half(service: Service, store: AzureAISearchStore) -> None:
    await store.store([said("paid leave", "a", 1, 0), said("parking", "b", 0, 1)])
    options = SearchOptions(top_k=1, metadata_filter=None)
    assert keys(await store.hybrid_search(" ", query(0, 1), options)) == [("b", 0)]
    assert keys(await store.hybrid_search("leave", query(0, 0), TOP5)) == [("a", 0)]
    assert await store.hybrid_search(" ", query(0, 0), TOP5) == []
    assert await store.hybrid_search("leave", query(0, 1), SearchOptions(top_k=0)) == []


async def test_a_zero_vector_is_found_by_its_words(store: AzureAISearchStore) -> None:
    await store.store([said("paid leave", "a", 1, 0), said("nothing", "z", 0, 0)])
    assert keys(await everything(store)) == [("a", 0)]
    assert ("z", 0) in keys(await store.hybrid_search("nothing", query(1, 0), TOP5))


# --- semantic ranking


async def test_the_ranker_ranks_the_hybrid_page(service: Service) -> None:
    async with make_store(service, semantic_ranking=True) as store:
        await store.store([said("leave", "a", 1, 0), said("paid leave", "b", -1, 0), said("parking", "c", 1, 0)])
        hits = await store.hybrid_search("paid-leave", query(1, 0), SearchOptions(top_k=5, min_score=3.0))
        assert [(hit.chunk.document_id, hit.score) for hit in hits] == [("b", 4.0), ("a", 2.0), ("c", 0.0)]
        assert {hit.score_scale for hit in hits} == {ScoreScale.BACKEND}
        [body] = service.bodies(SEARCH)
        assert body["queryType"] == "semantic"
        assert body["semanticConfiguration"] == "default-semantic-configuration"
        assert (body["search"], body["semanticQuery"]) == (r"paid\-leave", "paid-leave")
        assert "k" not in body["vectorQueries"][0]
        hits = await store.search(query(1, 0), SearchOptions(top_k=2))
        assert [hit.score for hit in hits] == [1.0, 1.0]
        assert "queryType" not in service.bodies(SEARCH)[-1]


async def test_the_ranked_page_holds_what_the_ranker_ranks(service: Service) -> None:
    async with make_store(service, semantic_ranking=True) as store:
        await store.store([embedded("d", n, (1, n)) for n in range(70)])
        assert len(await store.hybrid_search("text", query(1, 0), SearchOptions(top_k=60))) == 50


async def test_a_service_that_cannot_rank_is_an_error(service: Service) -> None:
    service.semantic_ranker = False
    async with make_store(service, semantic_ranking=True) as store:
        assert await store.hybrid_search("leave", query(1, 0), TOP5) == []
        await store.store([said("leave", "a", 1, 0)])
        with pytest.raises(StoreError, match=rf"did not rank the hits of index '{INDEX}'.*tier Basic"):
            await store.hybrid_search("leave", query(1, 0), TOP5)
        with pytest.raises(InvalidInputError, match="blank"):
            await store.hybrid_search(" ", query(1, 0), TOP5)


async def test_a_call_that_would_pass_the_ranker_by_is_refused(service: Service) -> None:
    async with make_store(service, semantic_ranking=True) as store:
        await store.store([said("paid leave", "a", 1, 0)])
        pipeline = rs.RagPipeline(store=store, embedder=TableEmbedder({"leave": (1, 0)}))
        [hit] = await pipeline.retrieve("leave", rs.RetrievalOptions(use_hybrid_search=True))
        assert hit.score_scale == ScoreScale.BACKEND
        for options in (rs.RetrievalOptions(), rs.RetrievalOptions(use_hybrid_search=True, min_score=0.5)):
            with pytest.raises(CapabilityError, match="semantic ranking"):
                await pipeline.retrieve("leave", options)


def test_what_it_can_do_is_declared(service: Service) -> None:
    plain, ranking = make_store(service), make_store(service, semantic_ranking=True)
    for store in (plain, ranking):
        assert isinstance(store, HybridSearchable)
        assert isinstance(store, NativeOnly)
        assert isinstance(store, CollectionManageable)
        assert not isinstance(store, (SparseSearchable, ScoreScaleAware))
    assert (plain.native_only_capability, ranking.native_only_capability) == (None, "semantic ranking")


# --- life


async def test_the_first_use_makes_the_index_once(service: Service, store: AzureAISearchStore) -> None:
    await asyncio.gather(*(store.search(query(1, 0), TOP5) for _ in range(8)))
    assert [request.method for request in service.requests].count("PUT") == 1


async def test_only_success_is_remembered(service: Service, store: AzureAISearchStore) -> None:
    service.replies.append(Reply(503))
    with pytest.raises(StoreError, match="overloaded or down"):
        await store.initialize()
    await store.initialize()
    assert await store.collection_exists(INDEX)


async def test_deleting_makes_no_index(service: Service, store: AzureAISearchStore) -> None:
    await store.delete_by_document_id("d")
    assert [request.method for request in service.requests] == ["POST"]
    assert not await store.collection_exists(INDEX)


async def test_collections(service: Service, store: AzureAISearchStore) -> None:
    await store.create_collection("other", 3)
    await store.create_collection("other", 3)
    with pytest.raises(DimensionMismatchError, match="'other' holds vectors of 3 dimensions"):
        await store.create_collection("other", 4)
    assert await store.collection_exists("other")
    await store.delete_collection("other")
    await store.delete_collection("other")
    assert not await store.collection_exists("other")
    with pytest.raises(ConfigurationError, match="index_name"):
        await store.create_collection("Other Name", 3)
    with pytest.raises(ConfigurationError, match="dimensions"):
        await store.create_collection("other", 1)


async def test_dropping_its_own_index_resets_the_store(store: AzureAISearchStore) -> None:
    await store.store([embedded("d", 0, (1, 0))])
    await store.delete_collection(INDEX)
    assert await everything(store) == []
    await store.store([embedded("d", 0, (1, 0))])
    assert len(await everything(store)) == 1


# --- failures


async def test_an_index_dropped_by_somebody_else(service: Service, store: AzureAISearchStore) -> None:
    await store.store([embedded("d", 0, (1, 0))])
    service.indexes.clear()
    with pytest.raises(StoreError, match=rf"index '{INDEX}'.*HTTP 404: the index is not there"):
        await everything(store)


async def test_a_refused_credential(service: Service) -> None:
    async with make_store(service, credential="wrong-secret-key") as store:
        with pytest.raises(
            StoreError, match=r"Azure AI Search could not read the index .* HTTP 403: .*check credential"
        ) as e:
            await store.initialize()
        assert "wrong-secret-key" not in str(e.value)


async def test_a_chunk_that_the_service_refuses_is_named(service: Service, store: AzureAISearchStore) -> None:
    service.refuse = lambda document: 503 if document.get("chunk_index") == 1 else None
    batch = [embedded("d", n, (1, n)) for n in range(3)]
    with pytest.raises(
        StoreError, match=r"did not store 1 of 3 chunks .* chunk 1 of document 'd' with HTTP 503"
    ) as caught:
        await store.store(batch)
    assert "text of d" not in str(caught.value)
    service.refuse = lambda document: None
    await store.store(batch)
    assert len(await everything(store)) == 3


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(400, {"error": {"code": "", "message": "secret words of the query"}}), "HTTP 400: the service refused"),
        (Reply(429), "HTTP 429: .*raise max_retries"),
        (Reply(500, b"<html>"), "HTTP 500"),
        (Reply(200, b"{"), "could not search"),
        (Reply(drop=True), "no connection, or it broke off"),
    ],
)
async def test_failures_name_the_service_and_quote_no_text(
    service: Service, store: AzureAISearchStore, reply: Reply, message: str
) -> None:
    await store.initialize()
    service.replies.append(reply)
    with pytest.raises(StoreError, match=message) as caught:
        await store.hybrid_search("secret words", query(1, 0), TOP5)
    assert str(caught.value).startswith("Azure AI Search could not search (index 'chunks')")
    assert "secret" not in str(caught.value)
    assert KEY not in str(caught.value)


async def test_a_refused_definition_is_quoted(service: Service, store: AzureAISearchStore) -> None:
    service.replies += [Reply(404), Reply(400, {"error": {"code": "", "message": "index quota exceeded"}})]
    with pytest.raises(StoreError, match=r"could not make or update the index .*HTTP 400: index quota exceeded"):
        await store.initialize()


async def test_an_overloaded_service_is_asked_again(service: Service) -> None:
    async with make_store(service, max_retries=2, retry_pause=0.0) as store:
        await store.initialize()
        service.replies += [Reply(503), Reply(429, headers=(("retry-after", "0"),))]
        assert await everything(store) == []


async def test_a_service_that_is_not_there() -> None:
    store = AzureAISearchStore("http://127.0.0.1:9", INDEX, KEY, dimensions=2, max_retries=0)
    async with store:
        with pytest.raises(StoreError, match="no connection, or it broke off: check endpoint"):
            await store.initialize()


async def test_a_slow_service_is_not_waited_for(service: Service) -> None:
    async with make_store(service, timeout=0.1) as store:
        await store.initialize()
        waiting = threading.Event()
        service.replies.append(Reply(200, {"value": []}, wait=waiting))
        with pytest.raises(StoreError, match="no answer in time"):
            await everything(store)
        waiting.set()


async def test_a_cancelled_search_gives_its_connection_back(service: Service, store: AzureAISearchStore) -> None:
    await store.store([embedded("d", 0, (1, 0))])
    waiting = threading.Event()
    service.replies.append(Reply(200, {"value": []}, wait=waiting))
    task = asyncio.create_task(everything(store))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    waiting.set()
    assert len(await everything(store)) == 1


# --- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index_name": "Chunks"}, "index_name must be 2 to 128 lower-case letters.*'Chunks'"),
        ({"index_name": "a--b"}, "index_name"),
        ({"index_name": "-ab"}, "index_name"),
        ({"index_name": "a"}, "index_name"),
        ({"index_name": "a" * 129}, "index_name"),
        ({"dimensions": 1}, "dimensions must be between 2 and 4096, .*not 1"),
        ({"dimensions": 4097}, "not 4097"),
        ({"dimensions": True}, "dimensions must be an integer"),
        ({"k_nearest_neighbors_count": 0}, "k_nearest_neighbors_count must be at least 1, not 0"),
        (
            {"k_nearest_neighbors_count": 49, "semantic_ranking": True},
            "k_nearest_neighbors_count must be None or at least 50 with semantic_ranking=True, not 49",
        ),
        ({"semantic_ranking": "yes"}, "semantic_ranking must be True or False"),
        ({"indexing_delay": -1}, "indexing_delay"),
        ({"timeout": 0}, "timeout"),
        ({"max_retries": -1}, "max_retries"),
        ({"retry_pause": float("nan")}, "retry_pause"),
        ({"credential": ""}, "credential must be"),
    ],
)
def test_options_are_checked_at_once(service: Service, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_store(service, **options)


def test_an_endpoint_must_be_a_url() -> None:
    with pytest.raises(ConfigurationError, match="endpoint must be a URL"):
        AzureAISearchStore("my-service.search.windows.net", INDEX, KEY, dimensions=2)


def test_fifty_neighbours_are_enough_for_the_ranker(service: Service) -> None:
    make_store(service, k_nearest_neighbors_count=50, semantic_ranking=True)


async def test_search_options_are_checked(store: AzureAISearchStore) -> None:
    with pytest.raises(ConfigurationError, match="top_k"):
        await store.search(query(1, 0), SearchOptions(top_k=-1))
    with pytest.raises(ConfigurationError, match="min_score"):
        await store.search(query(1, 0), SearchOptions(top_k=1, min_score=float("nan")))
    assert await store.search(query(1, 0), SearchOptions(top_k=0)) == []

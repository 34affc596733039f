"""The store over Weaviate beyond the contract, against the double."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ragstone.errors import ConfigurationError, StoreError
from ragstone.metadata import MetadataValue
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk
from ragstone.ports import CollectionManageable, HybridSearchable, NativeOnly, ScoreScaleAware, SparseSearchable
from ragstone.stores import WeaviateStore
from ragstone.testing._samples import embedded, keys, query
from support.loopback import Reply
from support.weaviate_service import KEY, Service, running_weaviate

pytestmark = pytest.mark.row("K5")
CLASS = "Chunks"
TOP5 = SearchOptions(top_k=5)


@pytest.fixture
def service() -> Iterator[Service]:
    with running_weaviate() as service:
        yield service


@pytest.fixture
async def store(service: Service) -> AsyncIterator[WeaviateStore]:
    async with make_store(service) as store:
        yield store


def make_store(service: Service, **options: Any) -> WeaviateStore:
    return WeaviateStore(
        options.pop("class_name", CLASS), base_url=service.url, **{"dimensions": 2, "max_retries": 0, **options}
    )


def said(text: str, document_id: str, *vector: float) -> EmbeddedChunk:
    return EmbeddedChunk(TextChunk(text, document_id, 0), query(*vector))


async def everything(store: WeaviateStore, **options: Any) -> list[SearchResult]:
    return await store.search(query(1, 0), SearchOptions(top_k=1000, **options))


async def test_the_class_has_the_documented_properties(service: Service, store: WeaviateStore) -> None:
    await store.initialize()
    definition = service.classes[CLASS].definition
    assert (definition["vectorizer"], definition["vectorIndexConfig"]["distance"]) == ("none", "cosine")
    kinds = {item["name"]: (item["dataType"], item.get("tokenization")) for item in definition["properties"]}
    assert kinds == {
        "document_id": (["text"], "field"),
        "chunk_index": (["int"], None),
        "start": (["int"], None),
        "end": (["int"], None),
        "text": (["text"], "word"),
        "metadata_json": (["text"], "field"),
    }


@pytest.mark.case("S-075")
async def test_a_delete_hits_whole_ids(service: Service, store: WeaviateStore) -> None:
    names = ["acme", "acme_eu", "acme eu", "Acme", " acme", "acme ", '"acme"']
    await store.store([embedded(name, 0, (1, 0)) for name in names])
    held = service.classes[CLASS].properties()["document_id"]
    assert held["tokenization"] == "field"
    await store.delete_by_document_id("acme")
    assert {key.document_id for key in keys(await everything(store))} == set(names) - {"acme"}


@pytest.mark.case("S-089")
async def test_equality_is_of_the_whole_value(service: Service, store: WeaviateStore) -> None:
    values = {"v1": "Verified", "v2": "Not Verified", "v3": "verified"}
    await store.store([embedded(name, 0, (1, 0), {"status": value}) for name, value in values.items()])
    assert service.classes[CLASS].properties()["meta_text_status"]["tokenization"] == "field"
    assert keys(await everything(store, metadata_filter={"status": "Verified"})) == [("v1", 0)]
    service.loose = True
    assert keys(await everything(store, metadata_filter={"status": "Verified"})) == [("v1", 0)]


@pytest.mark.parametrize(
    ("key", "value", "literal"),
    [
        ("department", "finance", '{path:["meta_text_department"],operator:Equal,valueText:"finance"}'),
        ("page", 3, '{path:["meta_number_page"],operator:Equal,valueNumber:3.0}'),
        ("draft", False, '{path:["meta_boolean_draft"],operator:Equal,valueBoolean:false}'),
        (
            "at",
            datetime(2025, 2, 3, 1, 2, 3, 4, tzinfo=UTC),
            '{path:["meta_date_at"],operator:Equal,valueDate:"2025-02-03T01:02:03.000004Z"}',
        ),
        ("a b", 'say "x" \\', r'{path:["meta_text_x_612062"],operator:Equal,valueText:"say \"x\" \\"}'),
    ],
)
async def test_a_filter_is_typed(
    service: Service, store: WeaviateStore, key: str, value: MetadataValue, literal: str
) -> None:
    await store.store([embedded("d", 0, (1, 0), {key: value})])
    assert len(await everything(store, metadata_filter={key: value})) == 1
    assert f"where:{literal}" in service.bodies("/v1/graphql")[-1]["query"]
    await everything(store, metadata_filter={key: value, "page": 3})
    assert await everything(store, metadata_filter={"never": "stored"}) == []


async def test_pairs_of_a_filter_must_all_hold(service: Service, store: WeaviateStore) -> None:
    await store.store([embedded("d", 0, (1, 0), {"a": "x", "b": 2}), embedded("e", 0, (1, 0), {"a": "x", "b": 3})])
    assert keys(await everything(store, metadata_filter={"a": "x", "b": 3})) == [("e", 0)]
    assert "where:{operator:And,operands:[{" in service.bodies("/v1/graphql")[-1]["query"]


async def test_properties_that_others_added_are_noticed(service: Service, store: WeaviateStore) -> None:
    await store.initialize()
    async with make_store(service) as other:
        await other.store([embedded("d", 0, (1, 0), {"k": "v"})])
    assert keys(await everything(store, metadata_filter={"k": "v"})) == [("d", 0)]
    await store.store([embedded("e", 0, (1, 0), {"k": "v"})])


async def test_scores_map_the_distance(store: WeaviateStore) -> None:
    await store.store([said("a", "a", 1, 0), said("b", "b", 0, 1), said("c", "c", -1, 0)])
    assert [hit.score for hit in await everything(store)] == pytest.approx([1.0, 0.5, 0.0])
    assert {hit.score_scale for hit in await everything(store)} == {ScoreScale.SIMILARITY}
    assert keys(await everything(store, min_score=0.5)) == [("a", 0), ("b", 0)]


async def test_native_hybrid_search(service: Service, store: WeaviateStore) -> None:
    await store.store([said("paid leave", "a", 1, 0), said("parking", "b", 0.9, 0.1), said("annual leave", "c", -1, 0)])
    hits = await store.hybrid_search('the "leave', query(0.9, 0.1), SearchOptions(top_k=5, min_score=0.9))
    assert [hit.chunk.document_id for hit in hits] == ["a", "b", "c"]
    assert hits[1].score == pytest.approx(0.75)
    assert {hit.score_scale for hit in hits} == {ScoreScale.BACKEND}
    asked = service.bodies("/v1/graphql")[-1]["query"]
    assert r'hybrid:{query:"the \"leave",properties:["text"],fusionType:relativeScoreFusion,vector:[' in asked


async def test_a_hybrid_query_without_one_half(store: WeaviateStore) -> None:
    await store.store([said("paid leave", "a", 1, 0), said("parking", "b", 0, 1), said("nothing", "z", 0, 0)])
    assert keys(await store.hybrid_search(" ", query(0, 1), SearchOptions(top_k=1))) == [("b", 0)]
    assert keys(await store.hybrid_search("leave", query(0, 0), TOP5)) == [("a", 0)]
    assert keys(await store.hybrid_search("nothing", query(0, 0), TOP5)) == [("z", 0)]
    assert await store.hybrid_search(" ", query(0, 0), TOP5) == []
    assert ("z", 0) not in keys(await everything(store))


async def test_tenants_do_not_see_each_other(service: Service) -> None:
    async with make_store(service, tenant="customer_a") as a, make_store(service, tenant="customer-b") as b:
        await a.store([embedded("d", 0, (1, 0), {"of": "a"})])
        await b.store([embedded("d", 0, (0, 1), {"of": "b"})])
        await b.initialize()
        assert [hit.chunk.metadata for hit in await everything(a)] == [{"of": "a"}]
        assert len(await b.hybrid_search("text", query(0, 1), TOP5)) == 1
        await a.delete_by_document_id("d")
        assert await everything(a) == []
        assert len(await everything(b)) == 1
    assert service.classes[CLASS].definition["multiTenancyConfig"] == {"enabled": True}
    async with make_store(service) as plain:
        with pytest.raises(ConfigurationError, match="'Chunks' needs a tenant"):
            await plain.initialize()


async def test_a_tenant_needs_a_class_for_tenants(service: Service, store: WeaviateStore) -> None:
    await store.initialize()
    async with make_store(service, tenant="a") as other:
        with pytest.raises(ConfigurationError, match="'Chunks' has no tenant"):
            await other.initialize()


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"properties": [{"name": "document_id", "dataType": ["text"]}]}, "splits document_id into words"),
        ({"vectorIndexConfig": {"distance": "dot"}}, "by 'dot' instead of cosine"),
    ],
)
async def test_a_class_that_cannot_serve_is_refused(
    service: Service, store: WeaviateStore, definition: dict[str, Any], message: str
) -> None:
    service._make({"class": CLASS, "properties": [], **definition})
    with pytest.raises(ConfigurationError, match=message):
        await store.store([embedded("d", 0, (1, 0))])


async def test_an_older_class_gains_what_it_lacks(service: Service, store: WeaviateStore) -> None:
    service._make(
        {"class": CLASS, "properties": [{"name": "document_id", "dataType": ["text"], "tokenization": "field"}]}
    )
    await store.store([embedded("d", 0, (1, 0), {"k": 1})])
    assert keys(await everything(store, metadata_filter={"k": 1})) == [("d", 0)]


async def test_deleting_makes_no_class(service: Service, store: WeaviateStore) -> None:
    await store.delete_by_document_id("d")
    assert service.classes == {}
    async with make_store(service, tenant="a") as other:
        await other.delete_by_document_id("d")
        service._make({"class": CLASS, "multiTenancyConfig": {"enabled": True}})
        await other.delete_by_document_id("d")
    assert service.classes[CLASS].shards == {}


async def test_a_long_document_is_deleted_whole(service: Service, store: WeaviateStore) -> None:
    service.most_deleted = 10
    await store.store([embedded("d", n, (1, n)) for n in range(25)])
    await store.delete_by_document_id("d")
    assert await everything(store) == []


async def test_collections(service: Service, store: WeaviateStore) -> None:
    await store.create_collection("Other", 3)
    await store.create_collection("Other", 3)
    assert await store.collection_exists("Other")
    await store.delete_collection("Other")
    await store.delete_collection("Other")
    assert not await store.collection_exists("Other")
    await store.store([embedded("d", 0, (1, 0), {"k": 1})])
    await store.delete_collection(CLASS)
    assert await everything(store, metadata_filter={"k": 1}) == []
    await store.store([embedded("d", 0, (1, 0), {"k": 1})])
    assert len(await everything(store, metadata_filter={"k": 1})) == 1


async def test_only_success_is_remembered(service: Service, store: WeaviateStore) -> None:
    service.replies.append(Reply(503))
    with pytest.raises(StoreError, match="could not read the class 'Chunks': HTTP 503"):
        await store.initialize()
    await store.initialize()


async def test_a_refused_chunk_is_named(service: Service, store: WeaviateStore) -> None:
    service.refuse = lambda item: item["properties"]["chunk_index"] == 1
    with pytest.raises(StoreError, match=r"chunk 0 of 'd' on: it refused 1 of them, the first being chunk 1") as caught:
        await store.store([embedded("d", n, (1, n)) for n in range(3)])
    assert "text of" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(200, {"errors": [{"message": "secret words"}]}), "refused the query on class 'Chunks'"),
        (Reply(200, {"data": {}}), "not Weaviate's"),
        (Reply(200, b"<html>"), "not Weaviate's"),
        (Reply(500, {"error": [{"message": "secret words"}]}), "could not search: HTTP 500"),
        (Reply(drop=True), "could not search"),
    ],
)
async def test_failures_name_the_server_and_quote_no_text(
    service: Service, store: WeaviateStore, reply: Reply, message: str
) -> None:
    await store.initialize()
    service.replies.append(reply)
    with pytest.raises(StoreError, match=f"Weaviate at 127.0.0.1:.*{message}") as caught:
        await store.hybrid_search("secret words", query(1, 0), TOP5)
    assert "secret" not in str(caught.value)


async def test_the_key_travels_and_is_not_shown(service: Service) -> None:
    service.key = KEY
    async with make_store(service, api_key=KEY) as store:
        await store.store([embedded("d", 0, (1, 0))])
        assert len(await everything(store)) == 1
    async with make_store(service, api_key="wrong-key-1234") as store:
        with pytest.raises(StoreError, match="HTTP 401: the API key was refused") as caught:
            await store.initialize()
    assert "wrong-key-1234" not in str(caught.value)


def test_what_it_can_do_is_declared(service: Service) -> None:
    store = make_store(service)
    assert isinstance(store, HybridSearchable)
    assert isinstance(store, CollectionManageable)
    assert not isinstance(store, (SparseSearchable, ScoreScaleAware, NativeOnly))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_name": "chunks"}, "class_name must begin with a capital letter.*'chunks'"),
        ({"class_name": "My Chunks"}, "class_name"),
        ({"class_name": "Ünder"}, "class_name"),
        ({"dimensions": 0}, "dimensions must be at least 1"),
        ({"tenant": ""}, "tenant must be 1 to 64"),
        ({"tenant": "a/b"}, "tenant"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_options_are_checked_at_once(service: Service, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_store(service, **options)

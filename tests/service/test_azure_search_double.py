"""The double of Azure AI Search, proven with the vendor's client alone."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes import models as schema
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.models import VectorizedQuery

from support.azure_search_service import KEY, Service, running_azure_search

DOCUMENTS = [
    {"id": "a", "text": "paid leave", "year": 2025, "tags": [{"name": "hr", "at": "2025-02-03T12:00:00.1239Z"}]},
    {"id": "b", "text": "paid parking", "year": 2026, "tags": []},
    {"id": "c", "text": "leave of absence", "year": None, "tags": [{"name": "it's", "at": None}]},
]
VECTORS: dict[str, list[float]] = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [-1.0, 0.0]}


@pytest.fixture
def service() -> Iterator[Service]:
    with running_azure_search() as service:
        yield service


@pytest.fixture
async def indexes(service: Service) -> AsyncIterator[SearchIndexClient]:
    async with SearchIndexClient(service.url, AzureKeyCredential(KEY), retry_total=0) as client:
        yield client


@pytest.fixture
async def documents(service: Service, indexes: SearchIndexClient) -> AsyncIterator[SearchClient]:
    await indexes.create_or_update_index(definition())
    async with SearchClient(service.url, "plain", AzureKeyCredential(KEY), retry_total=0) as client:
        await client.upload_documents([{**item, "vector": VECTORS[str(item["id"])]} for item in DOCUMENTS])
        yield client


def definition() -> schema.SearchIndex:
    string, number = schema.SearchFieldDataType.STRING, schema.SearchFieldDataType.INT32
    date = schema.SearchFieldDataType.DATE_TIME_OFFSET
    return schema.SearchIndex(
        name="plain",
        fields=[
            schema.SearchField(name="id", type=string, key=True),
            schema.SearchField(name="text", type=string, searchable=True),
            schema.SearchField(name="year", type=number, filterable=True),
            schema.SearchField(
                name="tags",
                type="Collection(Edm.ComplexType)",
                fields=[
                    schema.SearchField(name="name", type=string, filterable=True),
                    schema.SearchField(name="at", type=date, filterable=True),
                ],
            ),
            schema.SearchField(
                name="vector",
                type="Collection(Edm.Single)",
                searchable=True,
                vector_search_dimensions=2,
                vector_search_profile_name="p",
            ),
        ],
        vector_search=schema.VectorSearch(
            algorithms=[schema.HnswAlgorithmConfiguration(name="h")],
            profiles=[schema.VectorSearchProfile(name="p", algorithm_configuration_name="h")],
        ),
    )


async def found(client: SearchClient, **query: Any) -> list[str]:
    return [hit["id"] async for hit in await client.search(**query)]


async def test_an_index_is_made_read_and_dropped(indexes: SearchIndexClient) -> None:
    made = await indexes.create_or_update_index(definition())
    assert made.e_tag
    assert [item.name for item in (await indexes.get_index("plain")).fields] == ["id", "text", "year", "tags", "vector"]
    await indexes.delete_index("plain")
    with pytest.raises(ResourceNotFoundError, match="No index with the name 'plain'"):
        await indexes.get_index("plain")


async def test_an_existing_field_cannot_change(indexes: SearchIndexClient) -> None:
    await indexes.create_or_update_index(definition())
    changed = definition()
    changed.fields[2].filterable = False
    with pytest.raises(HttpResponseError, match="Existing field 'year' cannot be changed"):
        await indexes.create_or_update_index(changed)
    changed = definition()
    del changed.fields[1]
    with pytest.raises(HttpResponseError, match="Existing field 'text' cannot be deleted"):
        await indexes.create_or_update_index(changed)


async def test_vectors_keywords_and_both(documents: SearchClient) -> None:
    near = VectorizedQuery(vector=[2.0, 0.0], fields="vector", k_nearest_neighbors=2)
    hits = [hit async for hit in await documents.search(vector_queries=[near])]
    assert [(hit["id"], hit["@search.score"]) for hit in hits] == [("a", 1.0), ("b", 0.5)]
    assert await found(documents, search_text="leave") == ["a", "c"]
    hits = [hit async for hit in await documents.search("leave", vector_queries=[near])]
    assert [(hit["id"], hit["@search.score"]) for hit in hits] == [("a", 2 / 61), ("b", 1 / 62), ("c", 1 / 62)]
    assert await found(documents, search_text=r"\-leave") == ["a", "c"]
    assert await found(documents, search_text="paid -leave") == ["b"]


@pytest.mark.parametrize(
    ("odata", "wanted"),
    [
        ("year eq 2025", ["a"]),
        ("year ge 2025 and not (year eq 2025)", ["b"]),
        ("year eq null or year lt 2026", ["a", "c"]),
        ("tags/any(t: t/name eq 'it''s' and t/at eq null)", ["c"]),
        ("tags/any(t: t/at eq 2025-02-03T13:00:00.123+01:00)", ["a"]),
        ("tags/all(t: t/name eq 'hr')", ["a", "b"]),
    ],
)
async def test_filters(documents: SearchClient, odata: str, wanted: list[str]) -> None:
    assert sorted(await found(documents, search_text="*", filter=odata)) == wanted


@pytest.mark.parametrize(
    "odata",
    [
        "year eq '2025'",
        "year eq 2025 and",
        "text eq 'paid leave'",
        "nothing eq 1",
        "tags/any(t: t/name eq 'it's')",
        "tags/any(t: name eq 'hr')",
        "tags/any(t: t/at eq '2025-02-03T12:00:00Z')",
        "year/any(t: t eq 1)",
        "year gt null",
        "year = 2025",
        "(year eq 2025",
        "$where",
    ],
)
async def test_bad_filters_are_refused(documents: SearchClient, odata: str) -> None:
    with pytest.raises(HttpResponseError, match=r"Invalid expression: .*\n?.*Parameter name: \$filter") as caught:
        await found(documents, search_text="*", filter=odata)
    assert caught.value.status_code == 400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "The property 'colour' does not exist on type 'search.documentFields'"),
        ({"year": "2025"}, "Cannot convert the literal of property 'year'"),
        ({"year": 2025.5}, "Cannot convert"),
        ({"tags": [{"nom": "x"}]}, "The property 'nom' does not exist"),
        ({"vector": [1.0]}, "expects a length of '2'"),
        ({"vector": ["1", "2"]}, "Cannot convert"),
    ],
)
async def test_bad_documents_are_refused(documents: SearchClient, change: dict[str, Any], said: str) -> None:
    with pytest.raises(HttpResponseError, match=said):
        await documents.upload_documents([{"id": "d"}, {"id": "e", **change}])
    assert sorted(await found(documents, search_text="*")) == ["a", "b", "c"]


async def test_one_document_may_fail_alone(documents: SearchClient) -> None:
    good, bad, long = await documents.upload_documents(
        [{"id": "d"}, {"id": "a:1"}, {"id": "e", "tags": [{"name": "x" * 32_767}]}]
    )
    assert (good.succeeded, good.status_code) == (True, 201)
    assert (bad.succeeded, bad.status_code) == (False, 400)
    assert (long.succeeded, long.status_code) == (False, 400)
    assert len(await found(documents, search_text="*")) == 4


async def test_pages_go_on(documents: SearchClient) -> None:
    await documents.upload_documents([{"id": f"n{n}"} for n in range(600)])
    await documents.upload_documents([{"id": f"m{n}"} for n in range(600)])
    assert len(await found(documents, search_text="*", top=1100)) == 1100
    assert len(await found(documents, search_text="*")) == 50
    assert len(await found(documents, search_text="*", top=1000, skip=1000)) == 203


@pytest.mark.parametrize(
    "query",
    [
        {"select": ["nothing"]},
        {"search_fields": ["year"]},
        {"query_type": "semantic", "semantic_configuration_name": "none"},
        {"top": -1},
        {"vector_queries": [VectorizedQuery(vector=[1.0], fields="vector")]},
        {"vector_queries": [VectorizedQuery(vector=[1.0, 0.0], fields="text")]},
        {"facets": ["year"]},
    ],
)
async def test_bad_queries_are_refused(documents: SearchClient, query: dict[str, Any]) -> None:
    with pytest.raises(HttpResponseError) as caught:
        await found(documents, search_text="paid", **query)
    assert caught.value.status_code == 400


async def test_a_wrong_key_is_refused(service: Service) -> None:
    async with SearchIndexClient(service.url, AzureKeyCredential("wrong"), retry_total=0) as client:
        with pytest.raises(HttpResponseError) as caught:
            await client.get_index("plain")
    assert caught.value.status_code == 403

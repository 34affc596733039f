"""The double of Weaviate, proven with the vendor's client that speaks REST and GraphQL, alone."""

from collections.abc import Iterator
from typing import Any

import pytest
import weaviate

from support.weaviate_service import KEY, Service, running_weaviate

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture
def service() -> Iterator[Service]:
    with running_weaviate() as service:
        service.key = KEY
        yield service


@pytest.fixture
def client(service: Service) -> weaviate.Client:
    client = weaviate.Client(service.url, auth_client_secret=weaviate.AuthApiKey(KEY), startup_period=None)
    properties = [
        {"name": "title", "dataType": ["text"]},
        {"name": "slug", "dataType": ["text"], "tokenization": "field"},
    ]
    client.schema.create_class({"class": "Docs", "vectorizer": "none", "properties": properties})
    with client.batch as batch:
        batch.add_data_object({"title": "Paid leave", "slug": "a b", "year": 2025}, "Docs", vector=[1.0, 0.5])
        batch.add_data_object({"title": "Parking, not paid", "slug": "a"}, "Docs", vector=[0.5, 1.0])
    return client


def slugs(answer: dict[str, Any]) -> list[str]:
    return [row["slug"] for row in answer["data"]["Get"]["Docs"]]


def test_the_neighbours_come_with_their_distance(client: weaviate.Client) -> None:
    near = client.query.get("Docs", ["slug", "year"]).with_near_vector({"vector": [2.0, 1.0]})
    rows = near.with_additional(["distance"]).with_limit(5).do()["data"]["Get"]["Docs"]
    assert [(row["slug"], row["year"]) for row in rows] == [("a b", 2025), ("a", None)]
    assert [row["_additional"]["distance"] for row in rows] == pytest.approx([0, 0.2])


def test_hybrid_search_fuses_relative_scores(client: weaviate.Client) -> None:
    hybrid = client.query.get("Docs", ["slug"]).with_hybrid("leave", vector=[0.5, 1.0], alpha=0.75)
    rows = hybrid.with_additional(["score"]).do()["data"]["Get"]["Docs"]
    assert [(row["slug"], row["_additional"]["score"]) for row in rows] == [("a", "0.75"), ("a b", "0.25")]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({"path": ["slug"], "operator": "Equal", "valueText": "a"}, ["a"]),
        ({"path": ["title"], "operator": "Equal", "valueText": "PAID"}, ["a", "a b"]),
        ({"path": ["year"], "operator": "Equal", "valueNumber": 2025}, ["a b"]),
    ],
)
def test_filters_follow_the_tokenisation(client: weaviate.Client, where: dict[str, Any], wanted: list[str]) -> None:
    assert sorted(slugs(client.query.get("Docs", ["slug"]).with_where(where).do())) == wanted


@pytest.mark.parametrize(
    "where",
    [
        {"path": ["year"], "operator": "Equal", "valueText": "2025"},
        {"path": ["nothing"], "operator": "Equal", "valueText": "x"},
        {"path": ["slug"], "operator": "Equal", "valueText": " "},
    ],
)
def test_bad_filters_are_refused(client: weaviate.Client, where: dict[str, Any]) -> None:
    answer = client.query.get("Docs", ["slug"]).with_where(where).do()
    assert answer["errors"][0]["message"]


def test_a_bad_query_is_refused(client: weaviate.Client) -> None:
    for query in (
        "{Get{Docs(limit:1){slug}",
        "{Get{Docs(limits:1){slug}}}",
        "{Get{Docs{nothing}}}",
        "{Get{Other{slug}}}",
    ):
        assert client.query.raw(query)["errors"], query


def test_a_batch_delete_and_a_bad_object(client: weaviate.Client, service: Service) -> None:
    gone = client.batch.delete_objects("Docs", {"path": ["slug"], "operator": "Equal", "valueText": "a"})
    assert gone["results"] == {"matches": 1, "limit": 10_000, "successful": 1, "failed": 0}
    outcome: list[dict[str, Any]] = []
    client.batch.configure(batch_size=10, callback=outcome.extend)
    with client.batch as batch:
        batch.add_data_object({"slug": 7}, "Docs", vector=[1.0, 0.0])
        batch.add_data_object({"slug": "x"}, "Docs", vector=[1.0, 0.0, 0.0])
    assert [item["result"]["status"] for item in outcome] == ["FAILED", "FAILED"]
    assert slugs(client.query.get("Docs", ["slug"]).do()) == ["a b"]


def test_a_class_is_made_once(client: weaviate.Client) -> None:
    with pytest.raises(weaviate.exceptions.UnexpectedStatusCodeException, match="already exists"):
        client.schema.create_class({"class": "Docs"})
    with pytest.raises(weaviate.exceptions.UnexpectedStatusCodeException, match="unknown field"):
        client.schema.create_class({"class": "Other", "properties": [{"name": "x", "dataType": ["text"], "kind": 1}]})
    client.schema.delete_class("Docs")
    assert client.schema.get()["classes"] == []

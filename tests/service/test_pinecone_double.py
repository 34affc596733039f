"""The double of Pinecone, proven with the vendor's own client, alone."""

from collections.abc import Iterator
from typing import Any

import pytest
from pinecone import Pinecone, ServerlessSpec
from pinecone.exceptions import NotFoundException, PineconeApiException, UnauthorizedException

from support.pinecone_service import KEY, PineconeService, running_pinecone

SPEC = ServerlessSpec(cloud="aws", region="us-east-1")
SPARSE = {"indices": [2, 9], "values": [1.0, 4.0]}


@pytest.fixture
def service() -> Iterator[PineconeService]:
    with running_pinecone() as service:
        yield service


@pytest.fixture
def client(service: PineconeService) -> Pinecone:
    return Pinecone(api_key=KEY, host=service.url)


def made(client: Pinecone, metric: str = "cosine") -> Any:
    client.create_index(name="docs", dimension=2, metric=metric, spec=SPEC)
    return client.Index(host="http://" + client.describe_index("docs").host)


def test_an_index_lives_and_goes(client: Pinecone, service: PineconeService) -> None:
    service.looks = 1
    client.create_index(name="docs", dimension=2, metric="cosine", spec=SPEC)
    found = client.describe_index("docs")
    assert (found.status.ready, found.metric, found.dimension, found.vector_type) == (True, "cosine", 2, "dense")
    assert client.list_indexes().names() == ["docs"]
    with pytest.raises(PineconeApiException, match="ALREADY_EXISTS"):
        client.create_index(name="docs", dimension=2, metric="cosine", spec=SPEC)
    client.delete_index("docs")
    with pytest.raises(NotFoundException, match="Resource docs not found"):
        client.describe_index("docs")
    with pytest.raises(NotFoundException):
        client.delete_index("docs")


def test_another_key_is_refused(service: PineconeService) -> None:
    with pytest.raises(UnauthorizedException):
        Pinecone(api_key="other", host=service.url).list_indexes()


@pytest.mark.parametrize(
    "wrong", [{"name": "Docs"}, {"spec": ServerlessSpec(cloud="ibm", region="x")}, {"metric": "l1"}]
)
def test_a_bad_index_is_refused(client: Pinecone, wrong: dict[str, Any]) -> None:
    with pytest.raises(PineconeApiException, match="INVALID_ARGUMENT"):
        client.create_index(**{"name": "docs", "dimension": 2, "metric": "cosine", "spec": SPEC, **wrong})


def test_records_are_written_found_listed_and_deleted(client: Pinecone) -> None:
    index = made(client)
    records = [
        {"id": f"d:{n}", "values": [1.0, n / 1000], "metadata": {"n": n, "even": n % 2 == 0}} for n in range(150)
    ]
    assert index.upsert(vectors=records, namespace="a").upserted_count == 150
    found = index.query(
        vector=[1.0, 0.0],
        top_k=2,
        namespace="a",
        include_metadata=True,
        filter={"$and": [{"even": {"$eq": True}}, {"n": {"$eq": 4}}]},
    )
    assert [(match.id, match.metadata) for match in found.matches] == [("d:4", {"n": 4.0, "even": True})]
    assert found.matches[0].score == pytest.approx(1.0, abs=1e-4)
    assert index.query(vector=[1.0, 0.0], top_k=2).matches == []
    pages = list(index.list(prefix="d:1", namespace="a"))
    assert sum(map(len, pages)) == 61
    assert [len(page) for page in index.list(prefix="d:", namespace="a")] == [100, 50]
    index.delete(ids=["d:0"], namespace="a")
    assert index.fetch(ids=["d:0"], namespace="a").vectors == {}
    assert index.fetch(ids=["d:1"], namespace="a").vectors["d:1"].metadata == {"n": 1.0, "even": False}
    with pytest.raises(NotFoundException, match="Namespace not found"):
        index.delete(ids=["d:1"], namespace="other")
    with pytest.raises(PineconeApiException, match="do not support deleting with metadata filtering"):
        index.delete(filter={"n": {"$eq": 1}}, namespace="a")


def test_sparse_values_are_searched_by_dot_product(client: Pinecone) -> None:
    index = made(client, "dotproduct")
    index.upsert(vectors=[{"id": "a", "values": [0.6, 0.8], "sparse_values": {"indices": [9], "values": [2.0]}}])
    [match] = index.query(vector=[0.0, 0.0], sparse_vector=SPARSE, top_k=5, include_values=True).matches
    assert (match.score, match.sparse_values.indices) == (8.0, [9])


def test_sparse_queries_need_the_dot_product(client: Pinecone) -> None:
    index = made(client)
    index.upsert(vectors=[{"id": "a", "values": [0.6, 0.8], "sparse_values": SPARSE}])
    with pytest.raises(PineconeApiException, match="does not support sparse values"):
        index.query(vector=[0.0, 0.0], sparse_vector=SPARSE, top_k=5)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"values": [1.0, 2.0, 3.0]}, "Vector dimension 3 does not match the dimension of the index 2"),
        ({"values": [0.0, 0.0]}, "at least one non-zero value"),
        ({"id": "é"}, "must be ASCII"),
        ({"metadata": {"x": {"y": 1}}}, "must be a string, number, boolean or list of strings"),
        ({"metadata": {"x": "y" * 41_000}}, "exceeds the limit of 40960 bytes"),
        ({"metadata": {"$x": 1}}, "must not start with"),
        ({"sparse_values": {"indices": [1, 1], "values": [1.0, 1.0]}}, "duplicate indices"),
    ],
)
def test_a_bad_record_is_refused_with_its_batch(client: Pinecone, record: dict[str, Any], message: str) -> None:
    index = made(client)
    with pytest.raises(PineconeApiException, match=message):
        index.upsert(vectors=[{"id": "good", "values": [1.0, 0.0]}, {"id": "bad", "values": [1.0, 0.0], **record}])
    assert index.query(vector=[1.0, 0.0], top_k=5).matches == []


def test_a_batch_that_is_too_large_is_refused(client: Pinecone) -> None:
    index = made(client)
    with pytest.raises(PineconeApiException, match="maximum of 1000"):
        index.upsert(vectors=[{"id": str(n), "values": [1.0, 0.0]} for n in range(1001)])
    heavy = [{"id": str(n), "values": [1.0, 0.0], "metadata": {"x": "y" * 30_000}} for n in range(80)]
    with pytest.raises(PineconeApiException, match="2 MB"):
        index.upsert(vectors=heavy)


@pytest.mark.parametrize("wanted", [{"$nor": []}, {"a": {"$like": "x"}}, {"$and": []}, {"a": {"$eq": None}}])
def test_bad_queries_are_refused(client: Pinecone, wanted: dict[str, Any]) -> None:
    index = made(client)
    with pytest.raises(PineconeApiException, match=r"operator|condition"):
        index.query(vector=[1.0, 0.0], top_k=1, filter=wanted)


def test_a_lagging_service_shows_what_was_written_late(client: Pinecone, service: PineconeService) -> None:
    service.lagging = True
    index = made(client)
    index.upsert(vectors=[{"id": "a", "values": [1.0, 0.0]}])
    assert index.query(vector=[1.0, 0.0], top_k=5).matches == []
    service.settle()
    assert [match.id for match in index.query(vector=[1.0, 0.0], top_k=5).matches] == ["a"]

"""The store in Qdrant beside the contract: what exists already, collections, batches, and what is refused."""

from __future__ import annotations

import asyncio
import sys

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, models

from ragstone.errors import ConfigurationError, InvalidInputError, MissingDependencyError, StoreError
from ragstone.models import EmbeddedChunk, SearchOptions, TextChunk
from ragstone.ports import (
    CollectionManageable,
    DocumentReplaceable,
    EmbeddingReadable,
    HybridSearchable,
    SparseSearchable,
)
from ragstone.sparse_vector import SparseVector
from ragstone.stores import QdrantSparseStore, QdrantStore, ResilientVectorStore

ANY = SearchOptions(top_k=10)
EAST = np.array([1, 0], dtype=np.float32)
TERMS = SparseVector.from_dict({9: 2.0})


def embedded(index: int, sparse: SparseVector | None = None) -> EmbeddedChunk:
    return EmbeddedChunk(TextChunk(f"secret {index}", "d", index), np.array([1, index], dtype=np.float32), sparse)


@pytest.fixture
async def client():
    client = AsyncQdrantClient(":memory:")
    yield client
    await client.close()


@pytest.mark.row("K3")
def test_the_dense_store_claims_no_sparse_search():
    dense, sparse = (kind(":memory:", collection="c", dimensions=2) for kind in (QdrantStore, QdrantSparseStore))
    for store in (dense, sparse):
        assert isinstance(store, EmbeddingReadable)
        assert isinstance(store, CollectionManageable)
        assert not isinstance(store, (DocumentReplaceable, HybridSearchable))
    assert (isinstance(dense, SparseSearchable), isinstance(sparse, SparseSearchable)) == (False, True)
    assert isinstance(ResilientVectorStore(sparse), SparseSearchable)


@pytest.mark.row("K0", "K3")
async def test_the_collection_is_made_once_on_first_use(client):
    store = QdrantSparseStore(client, collection="c", dimensions=2)
    await store.delete_by_document_id("d")
    assert not await client.collection_exists("c")
    await asyncio.gather(*(store.search(EAST, ANY) for _ in range(5)))
    params = (await client.get_collection("c")).config.params
    assert (params.vectors.size, params.vectors.distance) == (2, models.Distance.COSINE)
    assert params.sparse_vectors.keys() == {"splade"}


@pytest.mark.row("K3")
async def test_a_collection_without_sparse_vectors_is_refused(client):
    dense = QdrantStore(client, collection="c", dimensions=2)
    await dense.store([embedded(0)])
    store = QdrantSparseStore(client, collection="c", dimensions=2)
    for work in (store.initialize, lambda: store.store([embedded(1, TERMS)]), lambda: store.sparse_search(TERMS, ANY)):
        with pytest.raises(
            ConfigurationError, match="made without the sparse vector 'splade': drop it and ingest again"
        ):
            await work()
    assert len(await dense.search(EAST, ANY)) == 1


@pytest.mark.row("K3")
async def test_a_dense_store_may_use_a_collection_with_sparse_vectors(client):
    await QdrantSparseStore(client, collection="c", dimensions=2).store([embedded(0, TERMS)])
    dense = QdrantStore(client, collection="c", dimensions=2)
    assert len(await dense.search(EAST, ANY)) == 1
    [vector] = await dense.embeddings([embedded(0).chunk.key])
    assert vector is not None
    assert vector.tolist() == [1, 0]


@pytest.mark.row("K3")
@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            models.VectorParams(size=3, distance=models.Distance.COSINE),
            "holds vectors of 3 dimensions under Cosine, not of 2",
        ),
        (
            models.VectorParams(size=2, distance=models.Distance.DOT),
            "holds vectors of 2 dimensions under Dot, not of 2",
        ),
        ({"v": models.VectorParams(size=2, distance=models.Distance.COSINE)}, "has no unnamed vector"),
    ],
)
async def test_a_collection_of_another_shape_is_refused_and_left_alone(client, config, message):
    await client.create_collection("c", vectors_config=config)
    store = QdrantStore(client, collection="c", dimensions=2)
    with pytest.raises(ConfigurationError, match=message):
        await store.store([embedded(0)])
    assert (await client.get_collection("c")).config.params.vectors == config


@pytest.mark.row("K0", "K3")
async def test_collections(client):
    store = QdrantStore(client, collection="c", dimensions=2)
    await store.delete_collection("c")
    assert not await store.collection_exists("c")
    await store.store([embedded(0)])
    await store.create_collection("c", 2)
    assert len(await store.search(EAST, ANY)) == 1
    with pytest.raises(ConfigurationError, match="2 dimensions under Cosine, not of 5"):
        await store.create_collection("c", 5)
    await store.create_collection("other", 5)
    assert await store.collection_exists("other")
    await store.delete_collection("c")
    assert await store.search(EAST, ANY) == []
    assert await store.collection_exists("c")
    for name in ("", "a/b", "x" * 256):
        with pytest.raises(ConfigurationError, match="name must be a name of 1 to 255 characters"):
            await store.create_collection(name, 2)


@pytest.mark.row("K3")
async def test_batches_are_sent_in_turn_and_the_one_that_fails_is_named(client, monkeypatch):
    store = QdrantStore(client, collection="c", dimensions=2, batch_size=3)
    await store.initialize()
    sizes: list[int] = []
    real = client.upsert

    async def upsert(name, points, **options):
        sizes.append(len(points))
        if len(sizes) == 3:
            raise OSError("secret")
        return await real(name, points, **options)

    monkeypatch.setattr(client, "upsert", upsert)
    chunks = [embedded(index) for index in range(8)]
    message = r"^Qdrant: storing a batch of 2 chunks, the first being 7 of 8, in 'c' failed: OSError$"
    with pytest.raises(StoreError, match=message):
        await store.store(chunks)
    assert sizes == [3, 3, 2]
    await store.store(chunks)
    assert len(await store.search(EAST, ANY)) == 8


@pytest.mark.row("K3")
async def test_a_chunk_stored_again_without_a_sparse_vector_has_none():
    async with QdrantSparseStore(":memory:", collection="c", dimensions=2) as store:
        await store.store([embedded(0, TERMS), embedded(1, SparseVector.from_dict({}))])
        [hit] = await store.sparse_search(TERMS, ANY)
        assert (hit.chunk.chunk_index, hit.score) == (0, 4.0)
        await store.store([embedded(0)])
        assert await store.sparse_search(TERMS, ANY) == []
        with pytest.raises(InvalidInputError, match=r"chunk 0 of document 'd' has a dict as its sparse vector"):
            await store.store([embedded(0, {9: 1.0})])  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="the query must be a SparseVector, not a dict"):
            await store.sparse_search({9: 1.0}, ANY)  # type: ignore[arg-type]


@pytest.mark.row("K3")
async def test_a_page_of_none_and_a_negative_one():
    async with QdrantStore(":memory:", collection="c", dimensions=2) as store:
        await store.store([embedded(0)])
        assert await store.search(EAST, SearchOptions(top_k=0)) == []
        with pytest.raises(ConfigurationError, match="top_k must be at least 0, not -1"):
            await store.search(EAST, SearchOptions(top_k=-1))


@pytest.mark.row("K3")
async def test_a_client_that_was_handed_in_stays_open(client):
    async with QdrantStore(client, collection="c", dimensions=2) as store:
        await store.store([embedded(0)])
    assert await client.collection_exists("c")
    own = QdrantStore(":memory:", collection="c", dimensions=2)
    await own.store([embedded(0)])
    await own.aclose()
    assert await own.search(EAST, ANY) == []  # a new connection to memory is a new, empty server


@pytest.mark.row("K3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"server": "localhost:6333"}, "server must be a URL such as 'http://localhost:6333'"),
        ({"server": None}, "server must be a URL"),
        ({"collection": "a/b"}, "collection must be a name of 1 to 255 characters"),
        ({"collection": None}, "collection must be a name"),
        ({"dimensions": 0}, "dimensions must be at least 1, not 0"),
        ({"timeout": 0}, "timeout must be at least 1, not 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    given = {"server": ":memory:", "collection": "c", "dimensions": 2, **options}
    with pytest.raises(ConfigurationError, match=message):
        QdrantStore(given.pop("server"), **given)


@pytest.mark.row("K3")
def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(MissingDependencyError, match=r"ragstone\[qdrant\]"):
        QdrantStore(":memory:", collection="c", dimensions=2)

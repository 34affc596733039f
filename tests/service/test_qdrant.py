"""The store in Qdrant over the wire: what is asked of the server, and what its failures become."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from ragstone.errors import StoreError
from ragstone.models import EmbeddedChunk, SearchOptions, TextChunk
from ragstone.stores import QdrantSparseStore, QdrantStore, ResilientVectorStore
from support.qdrant_server import KEY, QdrantServer, RefusedError, qdrant

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")

ANY = SearchOptions(top_k=100)
EAST = np.array([1, 0], dtype=np.float32)
CHUNKS = [
    EmbeddedChunk(TextChunk(f"secret {index}", "d", index), np.array([1, index], dtype=np.float32))
    for index in range(20)
]


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with qdrant() as server:
        yield server


def store_of(server: QdrantServer, key: str = KEY) -> QdrantStore:
    return QdrantStore(server.url, collection="c", dimensions=2, api_key=key, batch_size=8)


@pytest.mark.row("K3")
async def test_a_collection_is_made_with_an_index_on_documents(server):
    async with store_of(server) as store:
        await asyncio.gather(*(store.initialize() for _ in range(4)))
        assert server.requests.count(("PUT", "/collections/c")) == 1
        assert server.indexes("c") == {"document_id": "keyword"}
    async with QdrantSparseStore(server.url, collection="c", dimensions=2, api_key=KEY) as sparse:
        with pytest.raises(ValueError, match="made without the sparse vector 'splade'"):
            await sparse.initialize()


@pytest.mark.row("K0", "K3")
async def test_two_processes_may_make_the_collection_at_once(server):
    """Each finds it missing; the second is told that it exists, and takes it."""
    async with store_of(server) as first, store_of(server) as second:
        await asyncio.gather(first.initialize(), second.initialize())
        await first.store(CHUNKS)
        assert len(await second.search(EAST, ANY)) == 20


@pytest.mark.row("K3", "L3")
async def test_a_refused_key_is_told_and_not_shown(server):
    async with store_of(server, key="wrong-key") as store:
        with pytest.raises(StoreError) as caught:
            await store.store(CHUNKS)
    assert str(caught.value) == "Qdrant: looking for the collection 'c' failed: HTTP 401: check api_key"


@pytest.mark.row("K3")
async def test_a_server_that_is_away_is_told(server):
    server.stop()
    async with store_of(server) as store:
        with pytest.raises(StoreError, match=r"failed: no answer \(ConnectError\): check the URL, and that the server"):
            await store.search(EAST, ANY)
        server.start()
        assert await store.search(EAST, ANY) == []


@pytest.mark.row("K3")
async def test_a_server_that_dies_in_an_ingest_and_comes_back(server):
    written = 0

    def die(method: str, path: str) -> None:
        nonlocal written
        if (method, path) == ("PUT", "/collections/c/points"):
            written += 1
            if written == 2:
                raise ConnectionAbortedError

    async with store_of(server) as store:
        server.refuse = die
        with pytest.raises(StoreError) as caught:
            await store.store(CHUNKS)
        server.stop()
        message = str(caught.value)
        assert message.startswith(
            "Qdrant: storing a batch of 8 chunks, the first being 9 of 20, in 'c' failed: no answer"
        )
        assert "secret" not in message
        server.start()
        await store.store(CHUNKS)
        found = await store.search(EAST, ANY)
    assert sorted(hit.chunk.chunk_index for hit in found) == list(range(20))


@pytest.mark.row("K3", "K10")
async def test_a_resilient_store_outlasts_failures(server):
    failures = iter([503, 500])

    def refuse(method: str, path: str) -> None:
        if path.endswith("/query"):
            for status in failures:
                raise RefusedError(status, "overloaded")

    server.refuse = refuse
    async with ResilientVectorStore(store_of(server), pause=0.001) as store:
        await store.store(CHUNKS)
        assert len(await store.search(EAST, ANY)) == 20


@pytest.mark.row("K3", "L4")
async def test_cancelling_a_search_leaves_the_store_usable(server):
    async with store_of(server) as store:
        await store.store(CHUNKS)
        for _ in range(5):
            task = asyncio.create_task(store.search(EAST, ANY))
            await asyncio.sleep(0.002)
            requested = task.cancel()
            await asyncio.wait([task])
            assert task.cancelled() == requested
        assert len(await store.search(EAST, ANY)) == 20


@pytest.mark.row("K3")
def test_one_store_serves_one_event_loop_after_another(server):
    store = store_of(server)
    asyncio.run(store.store(CHUNKS))
    assert len(asyncio.run(store.search(EAST, ANY))) == 20

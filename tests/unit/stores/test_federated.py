"""Several stores searched as one: the fusion, where results come from, and what a failing store may do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ragstone as rs
from ragstone.errors import ConfigurationError, DimensionMismatchError, MetadataError, StoreError
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk, Vector
from ragstone.ports import (
    CollectionManageable,
    DocumentReplaceable,
    EmbeddingReadable,
    HybridSearchable,
    NativeOnly,
    ScoreScaleAware,
    SparseSearchable,
    VectorStore,
)
from ragstone.sparse_vector import SparseVector
from ragstone.stores import FederatedVectorStore, InMemoryVectorStore
from ragstone.testing import HashEmbedder

EAST: Vector = np.array([1, 0], dtype=np.float32)


def chunk(document_id: str, index: int, **metadata: Any) -> TextChunk:
    return TextChunk(f"text of {document_id} {index}", document_id, index, metadata=metadata)


def embedded(document_id: str, index: int, x: float, y: float, **metadata: Any) -> EmbeddedChunk:
    return EmbeddedChunk(chunk(document_id, index, **metadata), np.array([x, y], dtype=np.float32))


def ranked(*names: str) -> list[EmbeddedChunk]:
    """Chunks in this order for a search towards the east: "a2" is chunk 2 of document a."""
    return [embedded(name[0], int(name[1:]), 1, place) for place, name in enumerate(names)]


async def holding(*chunks: EmbeddedChunk) -> InMemoryVectorStore:
    store = InMemoryVectorStore()
    await store.store(chunks)
    return store


class Plain:
    """A store of the four methods alone."""

    def __init__(self, *chunks: EmbeddedChunk) -> None:
        self._store = InMemoryVectorStore()
        self._chunks = chunks
        self.asked: list[SearchOptions] = []
        self.closed = False

    async def initialize(self) -> None:
        await self._store.store(self._chunks)

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        await self._store.store(chunks)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        self.asked.append(options)
        return await self._store.search(embedding, options)

    async def delete_by_document_id(self, document_id: str) -> None:
        await self._store.delete_by_document_id(document_id)

    async def aclose(self) -> None:
        self.closed = True


class Failing(Plain):
    """A store that is down."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def initialize(self) -> None:
        raise self.error

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        raise self.error

    async def aclose(self) -> None:
        raise self.error


class Meeting(Plain):
    """A store that answers once all of its kind have been asked."""

    def __init__(self, barrier: asyncio.Barrier) -> None:
        super().__init__()
        self.barrier = barrier

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        await self.barrier.wait()
        return await super().search(embedding, options)


class Hybrid(Plain):
    """A store with a hybrid search of its own, and something that works only through it."""

    def __init__(self, *chunks: EmbeddedChunk, capability: str | None = None) -> None:
        super().__init__(*chunks)
        self.native_only_capability = capability
        self.texts: list[str] = []

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        self.texts.append(text)
        return await self.search(embedding, options)


class Managed(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.collections: set[str] = set()

    async def create_collection(self, name: str, dimensions: int) -> None:
        self.collections.add(name)

    async def delete_collection(self, name: str) -> None:
        self.collections.discard(name)

    async def collection_exists(self, name: str) -> bool:
        return name in self.collections


def keys(results: Sequence[SearchResult]) -> list[ChunkKey]:
    return [result.chunk.key for result in results]


@pytest.mark.row("K9")
@pytest.mark.case("S-078")
async def test_a_failing_store_is_left_out_and_ties_go_to_the_lower_store(caplog):
    left, right = await holding(*ranked("a1", "a2", "a3")), await holding(*ranked("b1", "a2"))
    store = FederatedVectorStore({"left": left, "right": right, "down": Failing(RuntimeError("secret"))})
    with caplog.at_level(logging.WARNING):
        hits = await store.search(EAST, SearchOptions(top_k=4))
    assert keys(hits) == [("a", 2), ("a", 1), ("b", 1), ("a", 3)]
    assert [hit.score for hit in hits] == pytest.approx([0.03225806, 0.01639344, 0.01639344, 0.01587302], abs=1e-8)
    assert [hit.chunk.metadata["source.store"] for hit in hits] == ["left", "left", "right", "left"]
    assert {hit.score_scale for hit in hits} == {ScoreScale.RRF}
    [record] = caplog.records
    assert record.getMessage() == "federated_store_failed store=down reason=RuntimeError"
    held = [item for inner in (left, right) for name in "ab" for item in inner.chunks(name)]
    assert len(held) == 5
    assert not any("source.store" in item.metadata for item in held)


@pytest.mark.row("K9")
@pytest.mark.case("S-084")
async def test_provenance_is_written_to_a_copy():
    own = {"metadata": "m", "embedding": "e", "id": "i", "document": 7, "source.store": "s"}
    first = await holding(EmbeddedChunk(TextChunk("tt", "d", 3, metadata=own), EAST))
    store = FederatedVectorStore([first, await holding()])
    [hit] = await store.search(EAST, SearchOptions(top_k=5))
    assert (hit.chunk.text, hit.chunk.key) == ("tt", ("d", 3))
    assert dict(hit.chunk.metadata) == {**own, "source.store": "0"}
    assert dict(first.chunks("d")[0].metadata) == own


@pytest.mark.row("K9")
async def test_each_store_gets_the_whole_request_and_the_page_is_cut_after_the_fusion():
    first, second = Plain(*ranked("a0", "a1", "a2")), Plain(*ranked("b0", "b1", "b2"))
    store = FederatedVectorStore([first, second], k=1)
    await store.initialize()
    options = SearchOptions(top_k=3, min_score=0.5, metadata_filter=None)
    hits = await store.search(EAST, options)
    assert (first.asked, second.asked) == ([options], [options])
    assert keys(hits) == [("a", 0), ("b", 0), ("a", 1)]
    assert [hit.score for hit in hits] == pytest.approx([1 / 2, 1 / 2, 1 / 3])
    assert await store.search(EAST, SearchOptions(top_k=0)) == []


@pytest.mark.row("K9")
async def test_the_stores_are_asked_at_the_same_time():
    barrier = asyncio.Barrier(3)
    store = FederatedVectorStore([Meeting(barrier) for _ in range(3)])
    async with asyncio.timeout(5):
        assert await store.search(EAST, SearchOptions(top_k=1)) == []


@pytest.mark.row("K9")
async def test_writes_go_to_the_primary_store_alone():
    first, second = await holding(embedded("x", 0, 1, 0)), await holding(embedded("x", 0, 1, 0))
    store = FederatedVectorStore({"first": first, "second": second}, primary="second")
    assert store.primary is second
    await store.store([embedded("new", 0, 1, 0)])
    await store.delete_by_document_id("x")
    assert (first.documents(), second.documents()) == (["x"], ["new"])
    assert isinstance(store, DocumentReplaceable)
    await store.replace_document("new", [embedded("new", 5, 1, 0)])
    assert [item.chunk_index for item in second.chunks("new")] == [5]
    assert FederatedVectorStore([first, second]).primary is first


@pytest.mark.row("K9")
async def test_when_every_store_fails_the_error_names_them():
    store = FederatedVectorStore(
        {"pg": Failing(StoreError("PgVectorStore: no connection")), "qd": Failing(OSError("key=k"))}
    )
    for work in (store.search(EAST, SearchOptions(top_k=1)), store.initialize()):
        with pytest.raises(StoreError) as caught:
            await work
        assert str(caught.value) == "every store failed: pg: PgVectorStore: no connection; qd: OSError"


@pytest.mark.row("K9")
async def test_a_request_that_is_wrong_is_no_failure_of_a_store():
    store = FederatedVectorStore([await holding(*ranked("a1")), await holding(*ranked("b1"))])
    with pytest.raises(DimensionMismatchError):
        await store.search(np.ones(3, dtype=np.float32), SearchOptions(top_k=1))
    with pytest.raises(MetadataError):
        await store.search(EAST, SearchOptions(top_k=1, metadata_filter={"k": None}))  # type: ignore[dict-item]


@pytest.mark.row("K9", "L4")
async def test_cancelling_a_search_cancels_every_store():
    barrier = asyncio.Barrier(3)
    store = FederatedVectorStore([Meeting(barrier), Meeting(barrier)])
    task = asyncio.create_task(store.search(EAST, SearchOptions(top_k=1)))
    await asyncio.sleep(0.01)
    assert barrier.n_waiting == 2
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert barrier.n_waiting == 0


@pytest.mark.row("K9")
async def test_it_can_do_what_its_stores_can_do():
    memory, plain, hybrid, managed = InMemoryVectorStore(), Plain(), Hybrid(), Managed()
    optional = {DocumentReplaceable, EmbeddingReadable, SparseSearchable, HybridSearchable, CollectionManageable}

    def able(*stores: VectorStore) -> set[type]:
        store = FederatedVectorStore(stores)
        assert isinstance(store, VectorStore)
        assert isinstance(store, ScoreScaleAware)
        assert type(store).__name__ == "FederatedVectorStore"
        return {protocol for protocol in optional if isinstance(store, protocol)}

    assert able(memory, InMemoryVectorStore()) == {DocumentReplaceable, EmbeddingReadable, SparseSearchable}
    assert able(memory, plain) == {DocumentReplaceable, EmbeddingReadable}
    assert able(plain, memory) == {EmbeddingReadable}
    assert able(plain, hybrid) == set()
    assert able(hybrid, Hybrid()) == {HybridSearchable}
    assert able(managed, plain) == {CollectionManageable}


@pytest.mark.row("K9")
async def test_sparse_and_hybrid_searches_are_fused():
    vectors = [SparseVector.from_dict({9: 1.0}), SparseVector.from_dict({9: 2.0})]
    stores = [
        await holding(EmbeddedChunk(chunk(name, 0), EAST, sparse))
        for name, sparse in zip(("a", "b"), vectors, strict=True)
    ]
    sparse = FederatedVectorStore(stores)
    assert isinstance(sparse, SparseSearchable)
    assert keys(await sparse.sparse_search(vectors[0], SearchOptions(top_k=5))) == [("a", 0), ("b", 0)]
    left, right = Hybrid(*ranked("a1", "c1")), Hybrid(*ranked("b1", "c1"))
    hybrid = FederatedVectorStore({"left": left, "right": right})
    await hybrid.initialize()
    assert isinstance(hybrid, HybridSearchable)
    hits = await hybrid.hybrid_search("leave", EAST, SearchOptions(top_k=2))
    assert keys(hits) == [("c", 1), ("a", 1)]
    assert (left.texts, right.texts) == (["leave"], ["leave"])


@pytest.mark.row("K9")
async def test_vectors_come_from_the_first_store_that_has_them():
    first, second = await holding(embedded("a", 0, 1, 0)), await holding(embedded("b", 0, 0, 1))
    store = FederatedVectorStore([first, Plain(), second])
    assert isinstance(store, EmbeddingReadable)
    b, missing, a = await store.embeddings([ChunkKey("b", 0), ChunkKey("c", 0), ChunkKey("a", 0)])
    assert missing is None
    assert b is not None
    assert a is not None
    assert (b.tolist(), a.tolist()) == ([0, 1], [1, 0])


@pytest.mark.row("K9")
async def test_collections_are_those_of_the_primary_store():
    first, second = Managed(), Managed()
    store = FederatedVectorStore([first, second], primary="1")
    assert isinstance(store, CollectionManageable)
    await store.create_collection("c", 2)
    assert (first.collections, second.collections) == (set(), {"c"})
    assert await store.collection_exists("c")
    await store.delete_collection("c")
    assert not await store.collection_exists("c")


@pytest.mark.row("K9")
def test_what_works_only_through_hybrid_search_is_never_passed_by():
    ranking = Hybrid(capability="semantic ranking")
    store = FederatedVectorStore([Hybrid(), ranking])
    assert isinstance(store, NativeOnly)
    assert store.native_only_capability == "semantic ranking"
    assert FederatedVectorStore([Hybrid(), Plain()]).stores.keys() == {"0", "1"}
    with pytest.raises(ConfigurationError, match=r"store 'azure' has semantic ranking enabled.*'pg' has none"):
        FederatedVectorStore({"pg": Plain(), "azure": ranking})


@pytest.mark.row("K9")
async def test_closing_reaches_every_store_though_one_fails():
    last = Plain()
    store = FederatedVectorStore([InMemoryVectorStore(), Failing(OSError("no")), last])
    with pytest.raises(OSError, match="no"):
        await store.aclose()
    assert last.closed
    async with FederatedVectorStore([Plain(), other := Plain()]):
        pass
    assert other.closed


@pytest.mark.row("K9")
@pytest.mark.parametrize(
    ("stores", "options", "message"),
    [
        ([], {}, "stores must be at least 2, not 0"),
        ([Plain()], {}, "stores must be at least 2, not 1"),
        ([Plain(), None], {}, "store '1' must be a vector store, not a NoneType"),
        ({"": Plain(), "b": Plain()}, {}, "non-empty strings, not \\['', 'b'\\]"),
        ({"a": Plain(), "b": Plain()}, {"primary": "c"}, "primary must be one of 'a', 'b', not 'c'"),
        ([Plain(), Plain()], {"k": 0}, "k must be at least 1, not 0"),
    ],
)
def test_a_wrong_federation_is_refused(stores, options, message):
    with pytest.raises(ConfigurationError, match=message):
        FederatedVectorStore(stores, **options)


@pytest.mark.row("K9")
async def test_a_pipeline_over_a_federation():
    shared = InMemoryVectorStore()
    async with rs.RagPipeline(embedder=HashEmbedder(8), store=shared) as other:
        await other.ingest_text("paid leave is five weeks", rs.DocumentMetadata(document_id="handbook"))
    store = FederatedVectorStore({"private": InMemoryVectorStore(), "shared": shared})
    async with rs.RagPipeline(embedder=HashEmbedder(8), store=store) as pipeline:
        await pipeline.ingest_text("paid leave for pilots", rs.DocumentMetadata(document_id="pilots"))
        hits = await pipeline.retrieve("paid leave is five weeks", rs.RetrievalOptions(top_k=5, use_mmr=True))
        assert {hit.chunk.document_id: hit.chunk.metadata["source.store"] for hit in hits} == {
            "pilots": "private",
            "handbook": "shared",
        }

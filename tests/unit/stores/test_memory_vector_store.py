"""The store in memory: what the contract does not ask of every store, and faults known from other systems."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime

import numpy as np
import pytest

from ragstone import ports
from ragstone.errors import ConfigurationError, DimensionMismatchError, InvalidInputError, InvalidVectorError
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk
from ragstone.stores import InMemoryVectorStore

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def vector(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def chunk(document_id: str, index: object, numbers=EAST, text: str = "text", **metadata: object) -> EmbeddedChunk:
    return EmbeddedChunk(TextChunk(text, document_id, index, metadata=metadata), vector(*numbers))


async def store_of(*chunks: EmbeddedChunk) -> InMemoryVectorStore:
    store = InMemoryVectorStore()
    await store.store(chunks)
    return store


async def search(store: InMemoryVectorStore, numbers=EAST, **options: object) -> list[SearchResult]:
    return await store.search(vector(*numbers), SearchOptions(**{"top_k": 10, **options}))


def keys(results: list[SearchResult]) -> list[tuple[str, int]]:
    return [result.chunk.key for result in results]


@pytest.mark.row("K0")
def test_which_protocols_it_implements():
    store = InMemoryVectorStore()
    for protocol in (ports.VectorStore, ports.DocumentReplaceable, ports.EmbeddingReadable):
        assert isinstance(store, protocol)
    for protocol in (ports.HybridSearchable, ports.CollectionManageable, ports.ScoreScaleAware, ports.StoreDecorator):
        assert not isinstance(store, protocol)


@pytest.mark.row("C7")
async def test_scores_are_similarities():
    [hit] = await search(await store_of(chunk("a", 0, (0.8, 0.6))))
    assert hit.score_scale is ScoreScale.SIMILARITY
    assert hit.score == pytest.approx(0.8, abs=1e-7)


async def test_what_it_holds():
    store = await store_of(chunk("b", 1), chunk("a", 2), chunk("a", 0, text="first"))
    assert (len(store), store.dimensions, store.documents()) == (3, 2, ["b", "a"])
    assert [item.key for item in store.chunks("a")] == [("a", 0), ("a", 2)]
    assert store.chunks("missing") == []
    await store.delete_by_document_id("b")
    assert (len(store), store.documents()) == (2, ["a"])


@pytest.mark.row("D1", "A6")
async def test_ties_go_by_key():
    chunks = [chunk(name, index) for name in ("b", "a", "c") for index in (11, 2)]
    wanted = [("a", 2), ("a", 11), ("b", 2), ("b", 11), ("c", 2), ("c", 11)]
    for order in (chunks, chunks[::-1]):
        assert keys(await search(await store_of(*order))) == wanted


@pytest.mark.row("D3")
async def test_errors_name_the_chunk_and_leave_everything_as_it_was():
    store = await store_of(chunk("a", 0))
    wrong, broken = chunk("x", 7, (1, 0, 0)), chunk("x", 7, (1, float("inf")))
    with pytest.raises(DimensionMismatchError, match="chunk 7 of document 'x' has 3 dimensions instead of 2") as caught:
        await store.store([chunk("x", 6), wrong, chunk("a", 0, NORTH)])
    assert (caught.value.expected, caught.value.actual) == (2, 3)
    with pytest.raises(InvalidVectorError, match="chunk 7 of document 'x' holds inf at position 1"):
        await store.store([chunk("x", 6), broken, chunk("a", 0, NORTH)])
    with pytest.raises(InvalidVectorError):
        await store.replace_document("x", [broken])
    with pytest.raises(InvalidInputError, match="chunk 7 of document 'x' cannot replace one of 'a'"):
        await store.replace_document("a", [chunk("x", 7)])
    flat = EmbeddedChunk(TextChunk("text", "x", 7), np.ones((1, 2), dtype=np.float32))
    with pytest.raises(InvalidInputError, match=r"chunk 7 of document 'x' has an embedding of shape \(1, 2\)"):
        await store.store([flat])
    assert store.documents() == ["a"]
    assert [(hit.chunk.key, hit.score) for hit in await search(store)] == [(("a", 0), 1.0)]


@pytest.mark.row("D3")
async def test_the_first_vector_of_a_batch_decides_where_nothing_else_does():
    store = InMemoryVectorStore()
    with pytest.raises(DimensionMismatchError, match="chunk 1 of document 'a' has 1 dimensions instead of 2"):
        await store.store([chunk("a", 0), chunk("a", 1, (1,))])
    assert (len(store), store.dimensions) == (0, None)
    with pytest.raises(ConfigurationError, match="dimensions must be at least 1"):
        InMemoryVectorStore(0)


@pytest.mark.row("L4")
async def test_cancelled_callers_return_at_once_and_leave_writes_whole(monkeypatch):
    store = await store_of(chunk("old", 0))
    entered, proceed = threading.Event(), threading.Event()
    upsert = store._index.upsert

    def slow(*arguments):
        entered.set()
        assert proceed.wait(30)
        return upsert(*arguments)

    monkeypatch.setattr(type(store._index), "upsert", lambda _self, *arguments: slow(*arguments))
    task = asyncio.create_task(store.store([chunk("new", index) for index in range(3)]))
    await asyncio.to_thread(entered.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert keys(await search(store)) == [("old", 0)]
    proceed.set()
    assert store.documents() == ["old", "new"]  # waits for the write that is under way
    assert keys(await search(store)) == [("new", 0), ("new", 1), ("new", 2), ("old", 0)]


async def test_one_store_serves_several_event_loops():
    store = await store_of(chunk("a", 0))
    assert keys(await asyncio.to_thread(lambda: asyncio.run(search(store)))) == [("a", 0)]
    assert keys(await search(store)) == [("a", 0)]


@pytest.mark.row("K1")
@pytest.mark.case("S-017")
async def test_equal_texts_keep_their_own_metadata():
    text = "Returns accepted for 30 days"
    store = await store_of(
        chunk("d1", 0, EAST, text, region="eu"), chunk("d2", 0, (0.9, 0.1), text, region="us"), chunk("e", 0, NORTH)
    )
    regions = [(hit.chunk.document_id, hit.chunk.metadata.get("region")) for hit in await search(store)]
    assert regions == [("d1", "eu"), ("d2", "us"), ("e", None)]


@pytest.mark.row("K1")
@pytest.mark.case("S-018")
async def test_an_index_of_any_integral_type_is_one_identity():
    store = await store_of(chunk("h", 4), chunk("h", np.int64(4)), chunk("h", 4.0))
    [hit] = await search(store)
    assert (hit.chunk.key, type(hit.chunk.chunk_index)) == (("h", 4), int)


@pytest.mark.row("D3")
@pytest.mark.case("S-022")
async def test_a_zero_vector_is_never_first():
    store = await store_of(chunk("z", 0, (0, 0)), chunk("a", 0, (0.8, 0.6)), chunk("b", 0, (0.6, 0.8)))
    scores = {hit.chunk.document_id: hit.score for hit in await search(store, top_k=3)}
    assert list(scores.items()) == [("a", pytest.approx(0.8)), ("b", pytest.approx(0.6)), ("z", 0.0)]
    assert keys(await search(store, top_k=3, min_score=0.1)) == [("a", 0), ("b", 0)]


@pytest.mark.row("G5", "K1")
@pytest.mark.case("S-031")
async def test_none_is_the_absence_of_a_value():
    store = await store_of(chunk("a", 0, author=None, year=2020))
    [hit] = await search(store)
    assert dict(hit.chunk.metadata) == {"year": 2020}
    assert type(hit.chunk.metadata["year"]) is int
    with pytest.raises(ValueError, match="'author' is None"):
        await search(store, metadata_filter={"author": None})


@pytest.mark.row("K1")
@pytest.mark.case("S-033")
async def test_metadata_named_like_a_chunks_fields_is_kept_apart():
    metadata = {"text": "fake", "document_id": "42", "chunk_index": 9, "content": "c"}
    store = InMemoryVectorStore()
    await store.store([EmbeddedChunk(TextChunk("real text", "k", 3, metadata=metadata), vector(1, 0))])
    [hit] = await search(store, metadata_filter={"document_id": "42"})
    assert (hit.chunk.text, hit.chunk.key, dict(hit.chunk.metadata)) == ("real text", ("k", 3), metadata)
    await store.delete_by_document_id("42")
    assert len(store) == 1
    await store.delete_by_document_id("k")
    assert len(store) == 0


@pytest.mark.row("K1")
@pytest.mark.case("S-069")
async def test_ids_that_join_alike_are_five_chunks():
    parts = [("a1", 1), ("a", 11), ("a:1", 1), ("a", 1), ("A", 1)]
    store = await store_of(*(chunk(*part) for part in parts))
    await store.store([chunk(*part) for part in parts])
    assert len(store) == 5
    assert sorted(keys(await search(store))) == sorted(parts)


@pytest.mark.row("D3")
@pytest.mark.case("S-082")
async def test_vectors_that_are_not_finite_are_refused():
    store = await store_of(chunk("a", 0, (0.8, 0.6)))
    with pytest.raises(ValueError, match="chunk 0 of document 'n'"):
        await store.store([chunk("n", 0, (float("nan"), 1))])
    with pytest.raises(ValueError, match="the query"):
        await search(store, (float("nan"), 0))
    assert [hit.score for hit in await search(store, (0, 0))] == [0.0]


@pytest.mark.row("K1")
@pytest.mark.case("S-083")
async def test_a_none_in_the_middle_of_a_batch():
    store = await store_of(chunk("d", 0, tag="a"), chunk("d", 1, score=None, tag="b"), chunk("d", 2, tag="c"))
    assert [dict(item.metadata) for item in store.chunks("d")] == [{"tag": "a"}, {"tag": "b"}, {"tag": "c"}]


@pytest.mark.row("K1")
@pytest.mark.case("S-084")
async def test_metadata_named_like_a_payloads_fields_comes_back():
    metadata = {"metadata": "m", "embedding": "e", "id": "i", "document": 7, "source.store": "s"}
    store = InMemoryVectorStore()
    await store.store([EmbeddedChunk(TextChunk("tt", "d", 0, metadata=metadata), vector(1, 0))])
    [hit] = await search(store, metadata_filter={"source.store": "s", "document": 7})
    assert (hit.chunk.text, hit.chunk.key, dict(hit.chunk.metadata)) == ("tt", ("d", 0), metadata)


@pytest.mark.row("D1")
async def test_offsets_and_dates_come_back():
    at = datetime(2025, 2, 3, 12, 45, 46, 123456, tzinfo=UTC)
    original = TextChunk("text", "d", 0, 17, 21, {"at": at})
    store = await store_of(EmbeddedChunk(original, vector(1, 0)))
    [hit] = await search(store, metadata_filter={"at": at})
    assert hit.chunk == original

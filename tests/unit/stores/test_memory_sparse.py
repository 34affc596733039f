"""The sparse half of the store in memory, and the store of parents."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from ragstone.errors import ConfigurationError, InvalidInputError, InvalidVectorError, MetadataError
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, TextChunk
from ragstone.ports import ParentChunkStore, SparseSearchable
from ragstone.sparse_vector import SparseVector
from ragstone.stores import InMemoryParentChunkStore, InMemoryVectorStore

QUERY = SparseVector.from_dict({1: 1.0})
FIVE = SearchOptions(top_k=5)


def chunk(document_id, index=0, *, weight=None, vector=(1.0, 0.0), **metadata):
    sparse = None if weight is None else SparseVector.from_dict({1: weight})
    return EmbeddedChunk(
        TextChunk(f"{document_id} {index}", document_id, index, metadata=metadata),
        np.array(vector, dtype=np.float32),
        sparse,
    )


async def found(store, options=FIVE):
    return [(hit.chunk.key, hit.score) for hit in await store.sparse_search(QUERY, options)]


@pytest.mark.row("D1")
async def test_it_searches_dense_and_sparse_vectors_of_the_same_chunks():
    store = InMemoryVectorStore()
    assert isinstance(store, SparseSearchable)
    await store.store([chunk("a", weight=2.0, vector=(0, 1)), chunk("b", weight=1.0), chunk("c")])
    hits = await store.sparse_search(QUERY, FIVE)
    assert [(hit.chunk.document_id, hit.score, hit.score_scale) for hit in hits] == [
        ("a", 2.0, ScoreScale.DOT),
        ("b", 1.0, ScoreScale.DOT),
    ]
    assert [hit.chunk.document_id for hit in await store.search(np.array([1, 0], dtype=np.float32), FIVE)] == list(
        "bca"
    )


@pytest.mark.row("D1")
async def test_equal_scores_are_ordered_by_key():
    store = InMemoryVectorStore()
    await store.store([chunk(name, n, weight=1.0) for name in ("b", "a") for n in (11, 2)])
    assert [key for key, _ in await found(store)] == [("a", 2), ("a", 11), ("b", 2), ("b", 11)]


@pytest.mark.row("D1")
async def test_a_chunk_stored_again_without_a_sparse_vector_has_none():
    store = InMemoryVectorStore()
    await store.store([chunk("a", 0, weight=1.0), chunk("a", 1, weight=2.0), chunk("b", 0, weight=3.0)])
    await store.store([chunk("a", 0)])
    assert await found(store) == [(("b", 0), 3.0), (("a", 1), 2.0)]
    await store.store([chunk("a", 1), chunk("b", 0, weight=4.0)])
    assert await found(store) == [(("b", 0), 4.0)]


@pytest.mark.row("D1")
@pytest.mark.parametrize(
    "bad", [chunk("x", vector=(np.nan, 0)), EmbeddedChunk(chunk("x").chunk, chunk("x").embedding, {1: 1.0})]
)
@pytest.mark.parametrize("write", ["store", "replace_document"])
async def test_a_bad_vector_of_either_kind_stores_nothing(bad, write):
    store = InMemoryVectorStore()
    await store.store([chunk("x", 7, weight=1.0)])
    batch = [chunk("x", 3, weight=9.0), bad]
    with pytest.raises((InvalidInputError, InvalidVectorError), match="x"):
        await (store.store(batch) if write == "store" else store.replace_document("x", batch))
    assert await found(store) == [(("x", 7), 1.0)]
    assert [piece.chunk_index for piece in store.chunks("x")] == [7]


@pytest.mark.row("D1")
@pytest.mark.parametrize(
    ("vector", "options", "error"),
    [
        ({1: 1.0}, FIVE, InvalidInputError),
        (QUERY, SearchOptions(top_k=-1), ConfigurationError),
        (QUERY, SearchOptions(top_k=1, min_score=float("nan")), ConfigurationError),
        (QUERY, SearchOptions(top_k=1, metadata_filter={"k": None}), MetadataError),
    ],
)
async def test_a_bad_sparse_query_is_an_error(vector, options, error):
    store = InMemoryVectorStore()
    await store.store([chunk("a", weight=1.0)])
    with pytest.raises(error):
        await store.sparse_search(vector, options)


@pytest.mark.row("D1")
async def test_no_reader_sees_text_and_score_of_different_versions():
    store = InMemoryVectorStore()

    async def write():
        for version in range(1, 60):
            item = EmbeddedChunk(
                TextChunk(str(version), "d", 0),
                np.array([1, 0], dtype=np.float32),
                SparseVector.from_dict({1: version}),
            )
            await store.replace_document("d", [item])

    writer = asyncio.create_task(write())
    while not writer.done():
        for hit in await store.sparse_search(QUERY, FIVE):
            assert float(hit.chunk.text) == hit.score
    await writer


# --- parents


@pytest.mark.row("G1")
def test_parents_are_kept_by_document_in_order_of_their_start():
    store = InMemoryParentChunkStore()
    assert isinstance(store, ParentChunkStore)
    one, two = TextChunk("one", "a", 0, 0, 3), TextChunk("two", "a", 1, 4, 7)
    store.replace_document("a", [two, one])
    store.replace_document("b", [TextChunk("three", "b", 0, 0, 5)])
    assert list(store.parents("a")) == [one, two]
    assert len(store) == 3
    store.replace_document("a", [two])
    assert list(store.parents("a")) == [two]
    store.remove("a")
    store.remove("a")
    assert list(store.parents("a")) == []
    store.replace_document("b", [])
    assert len(store) == 0


@pytest.mark.row("G1")
def test_a_parent_of_another_document_is_refused_and_nothing_changes():
    store = InMemoryParentChunkStore()
    store.replace_document("a", [TextChunk("one", "a", 0, 0, 3)])
    with pytest.raises(InvalidInputError, match="'b'"):
        store.replace_document("a", [TextChunk("two", "b", 0, 0, 3)])
    assert [parent.key for parent in store.parents("a")] == [ChunkKey("a", 0)]
    store.clear()
    assert len(store) == 0

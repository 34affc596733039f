"""The embedding cache: what is asked upstream, who shares it, and what nobody can change."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from ragstone import RagPipeline
from ragstone.caching import CachingEmbedder
from ragstone.errors import EmbeddingError
from ragstone.options import CachingOptions, RetrievalOptions
from ragstone.testing import FailingEmbedder, HangingEmbedder, HashEmbedder, SettableClock
from support.backends import DictBackend
from support.retrieval import ScriptedStore, TableEmbedder, hit


def asked(embedder):
    return [request.texts for request in embedder.requests]


@pytest.mark.row("G8")
async def test_a_batch_asks_only_for_what_is_missing_and_keeps_the_order():
    inner = HashEmbedder()
    caching = CachingEmbedder(inner)
    await caching.embed(["b", "d"])
    texts = ["a", "b", "c", "a", "d"]
    vectors = await caching.embed(texts)
    assert asked(inner) == [("b", "d"), ("a", "c")]
    assert np.array_equal(vectors, inner.vectors(texts))
    assert (caching.identity, caching.dimensions) == (inner.identity, inner.dimensions)
    assert (await caching.embed([])).shape == (0, 64)


@pytest.mark.row("G8")
async def test_a_question_and_a_passage_of_the_same_words_are_two():
    inner = HashEmbedder()
    caching = CachingEmbedder(inner)
    await caching.embed(["a"], input_type="query")
    await caching.embed(["a"], input_type="document")
    await caching.embed(["a"], input_type="query")
    assert [request.input_type for request in inner.requests] == ["query", "document"]


@pytest.mark.row("G8")
@pytest.mark.case("S-053")
async def test_two_models_never_share_a_vector():
    shared = DictBackend()
    a, b = TableEmbedder({}, default=(1.0, 2.0)), TableEmbedder({}, default=(3.0, 4.0, 5.0))
    for _ in range(2):
        assert (await CachingEmbedder(a, backend=shared).embed(["hi"])).tolist() == [[1.0, 2.0]]
        assert (await CachingEmbedder(b, backend=shared).embed(["hi"])).tolist() == [[3.0, 4.0, 5.0]]
    assert (len(a.calls), len(b.calls)) == (1, 1)


class LateDimensions(HashEmbedder):
    """Knows the length of its vectors after the first request, as a model does that loads then."""

    @property
    def dimensions(self):
        return self._dimensions if self.requests else None


@pytest.mark.row("G8")
async def test_dimensions_that_become_known_late_cost_no_second_request():
    inner = LateDimensions()
    caching = CachingEmbedder(inner)
    await caching.embed(["a"])
    await caching.embed(["a"])
    assert asked(inner) == [("a",)]


@pytest.mark.row("G8")
async def test_a_vector_expires():
    clock, inner = SettableClock(), HashEmbedder()
    caching = CachingEmbedder(inner, ttl=10, clock=clock)
    for seconds, calls in [(0, 1), (9.9, 1), (0.2, 2)]:
        clock.advance(seconds)
        await caching.embed(["a"])
        assert inner.calls == calls


@pytest.mark.row("G8")
@pytest.mark.case("S-052")
async def test_vectors_are_copied_on_their_way_in_and_out():
    table = TableEmbedder({}, default=(1.0, 2.0))
    kept = np.array([[1.0, 2.0]], dtype=np.float32)

    async def embed(texts, *, input_type="document"):
        return kept

    table.embed = embed
    caching = CachingEmbedder(table)
    first = await caching.embed(["a"])
    kept[:] = 9
    first[:] = 8
    assert (await caching.embed(["a"])).tolist() == [[1.0, 2.0]]


@pytest.mark.row("G8")
async def test_the_same_text_at_the_same_time_is_one_request():
    inner = HangingEmbedder()
    caching = CachingEmbedder(inner)
    async with asyncio.TaskGroup() as group:
        one = group.create_task(caching.embed(["a", "b"]))
        await inner.started.wait()
        two = group.create_task(caching.embed(["b", "c"]))
        await asyncio.sleep(0.01)
        inner.release.set()
    assert asked(inner) == [("a", "b"), ("c",)]
    assert np.array_equal(one.result()[1], two.result()[0])


@pytest.mark.row("G8")
@pytest.mark.row("L4")
async def test_a_cancelled_leader_leaves_the_request_to_its_followers():
    inner = HangingEmbedder()
    caching = CachingEmbedder(inner)
    leader = asyncio.create_task(caching.embed(["a"]))
    await inner.started.wait()
    follower = asyncio.create_task(caching.embed(["a"]))
    await asyncio.sleep(0)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    assert inner.cancelled == 0
    inner.release.set()
    assert np.array_equal(await follower, inner.vectors(["a"]))
    assert inner.calls == 1


@pytest.mark.row("G8")
@pytest.mark.row("L4")
async def test_a_request_that_nobody_waits_for_is_cancelled_and_leaves_no_task():
    inner = HangingEmbedder()
    caching = CachingEmbedder(inner)
    before = asyncio.all_tasks()
    waiting = [asyncio.create_task(caching.embed(["a"])) for _ in range(3)]
    await inner.started.wait()
    for task in waiting:
        task.cancel()
    again = asyncio.create_task(caching.embed(["a"]))  # comes while the request is being given up
    for task in waiting:
        with pytest.raises(asyncio.CancelledError):
            await task
    inner.release.set()
    assert np.array_equal(await again, inner.vectors(["a"]))
    assert asyncio.all_tasks() == before


@pytest.mark.row("G8")
async def test_a_failure_reaches_everybody_and_is_not_remembered():
    inner = FailingEmbedder(EmbeddingError("down", text_index=0), after=1)
    caching = CachingEmbedder(inner)
    await caching.embed(["a"])
    results = await asyncio.gather(*(caching.embed(["x"]) for _ in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["down"] * 3
    with pytest.raises(EmbeddingError) as failure:
        await caching.embed(["a", "x"])
    assert failure.value.text_index is None
    assert np.array_equal(await caching.embed(["a"]), inner.vectors(["a"]))


@pytest.mark.row("G8")
async def test_a_wrong_answer_is_refused_and_not_remembered():
    class Short(HashEmbedder):
        async def embed(self, texts, *, input_type="document"):
            return (await super().embed(texts))[:1]

    inner = Short()
    caching = CachingEmbedder(inner)
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="2 texts went in and 1 vectors came back"):
            await caching.embed(["a", "b"])
    assert inner.calls == 2


@pytest.mark.row("G8")
async def test_the_pipeline_embeds_a_query_once_unless_a_call_says_otherwise():
    inner, store = HashEmbedder(), ScriptedStore([hit("a", 0.9)])
    rag = RagPipeline(embedder=inner, store=store, caching=CachingOptions(result_ttl=None))
    for _ in range(2):
        await rag.retrieve("leave")
    assert (inner.calls, len(store.searches)) == (1, 2)
    await rag.retrieve("leave", RetrievalOptions(use_cache_embedding=False))
    assert inner.calls == 2
    off = RagPipeline(embedder=inner, store=store, caching=CachingOptions(embedding_ttl=None, result_ttl=None))
    for _ in range(2):
        await off.retrieve("leave")
    assert inner.calls == 4

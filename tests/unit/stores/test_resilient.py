"""Retries, deadlines and a circuit breaker around a store that fails in every way."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragstone.errors import ConfigurationError, InvalidInputError, MissingDependencyError, StoreError
from ragstone.models import ChunkKey, EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk, Vector
from ragstone.ports import (
    CollectionManageable,
    DocumentReplaceable,
    EmbeddingReadable,
    HybridSearchable,
    NativeOnly,
    ScoreScaleAware,
    SparseSearchable,
    StoreDecorator,
    VectorStore,
)
from ragstone.sparse_vector import SparseVector
from ragstone.stores import FederatedVectorStore, InMemoryVectorStore, ResilientVectorStore

EAST: Vector = np.array([1, 0], dtype=np.float32)
ANY = SearchOptions(top_k=5)
CHUNK = EmbeddedChunk(TextChunk("east", "d", 0), EAST)
OPTIONAL = (
    DocumentReplaceable,
    EmbeddingReadable,
    SparseSearchable,
    HybridSearchable,
    ScoreScaleAware,
    NativeOnly,
    CollectionManageable,
)


class Plain:
    """A store of the four methods, each of which fails first as it is told: an error is raised, `None` hangs."""

    def __init__(self, *failures: Exception | None) -> None:
        self.memory = InMemoryVectorStore()
        self.failures = list(failures)
        self.calls: list[str] = []
        self.times: list[float] = []
        self.closed = False

    async def fail(self, call: str) -> None:
        self.calls.append(call)
        self.times.append(time.monotonic())
        if self.failures:
            failure = self.failures.pop(0)
            if failure is not None:
                raise failure
            await asyncio.sleep(3600)

    async def initialize(self) -> None:
        await self.fail("initialize")

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        await self.fail("store")
        await self.memory.store(chunks)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        await self.fail("search")
        return await self.memory.search(embedding, options)

    async def delete_by_document_id(self, document_id: str) -> None:
        await self.fail("delete")
        await self.memory.delete_by_document_id(document_id)

    async def aclose(self) -> None:
        self.closed = True


class Able(Plain):
    """A store that can do everything."""

    score_scale = ScoreScale.BACKEND
    native_only_capability = "semantic ranking"

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        await self.fail("replace")
        await self.memory.replace_document(document_id, chunks)

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        await self.fail("embeddings")
        return await self.memory.embeddings(keys)

    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        await self.fail("sparse")
        return await self.memory.sparse_search(vector, options)

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        await self.fail(f"hybrid {text}")
        return await self.memory.search(embedding, options)

    async def create_collection(self, name: str, dimensions: int) -> None:
        await self.fail(f"create {name} {dimensions}")

    async def delete_collection(self, name: str) -> None:
        await self.fail(f"drop {name}")

    async def collection_exists(self, name: str) -> bool:
        await self.fail(f"exists {name}")
        return True


async def wrapped(inner: Plain, **options: Any) -> Any:
    """A resilient store, prepared, that pauses for a millisecond; what `inner` does from here on is on its list."""
    failures, inner.failures = inner.failures, []
    store = ResilientVectorStore(inner, **{"pause": 0.001, **options})
    await store.initialize()
    inner.failures, inner.calls, inner.times = failures, [], []
    return store


def down() -> StoreError:
    return StoreError("Backend: no connection")


@pytest.mark.row("K10")
@pytest.mark.parametrize("error", [down(), ConnectionResetError("x"), TimeoutError("x")])
async def test_a_call_that_fails_is_made_again(error, caplog):
    inner = Plain(error, error)
    store = await wrapped(inner)
    with caplog.at_level(logging.WARNING):
        await store.store([CHUNK])
    assert inner.calls == ["store"] * 3
    assert [hit.chunk for hit in await store.search(EAST, ANY)] == [CHUNK.chunk]
    said = "Backend: no connection" if isinstance(error, StoreError) else type(error).__name__
    assert [record.getMessage() for record in caplog.records] == [
        f"store_retry store=Plain action=storing attempt={n} of=2 reason={said}" for n in (1, 2)
    ]


@pytest.mark.row("K10", "L3")
async def test_the_last_failure_is_told():
    inner = Plain(*(down() for _ in range(3)))
    store = await wrapped(inner, failures=100)
    with pytest.raises(StoreError, match=r"^Backend: no connection$"):
        await store.search(EAST, ANY)
    assert len(inner.calls) == 3
    inner.failures = [OSError("password=p") for _ in range(3)]
    with pytest.raises(StoreError, match=r"^Plain: deleting failed \(OSError\)$"):
        await store.delete_by_document_id("d")
    inner.failures = [down()]
    with pytest.raises(StoreError):
        await (await wrapped(inner, retries=0)).search(EAST, ANY)
    assert inner.calls == ["search"]


@pytest.mark.row("K10")
@pytest.mark.parametrize("error", [InvalidInputError("bad"), ConfigurationError("bad"), KeyError("a defect")])
async def test_what_is_no_failure_of_the_backend_is_raised_at_once(error):
    inner = Plain(*([error] * 10))
    store = await wrapped(inner, failures=1)
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            await store.search(EAST, ANY)
        assert caught.value is error
    assert len(inner.calls) == 3


@pytest.mark.row("K10")
async def test_exceptions_of_another_client_can_be_named():
    inner = Plain(KeyError(), InvalidInputError("bad"))
    store = await wrapped(inner, retry_on=(Exception,))
    with pytest.raises(InvalidInputError, match="bad"):
        await store.search(EAST, ANY)
    assert len(inner.calls) == 2


@pytest.mark.row("K10")
async def test_pauses_double_and_vary():
    gaps = []
    for _ in range(2):
        inner = Plain(*(down() for _ in range(3)))
        await (await wrapped(inner, retries=3, pause=0.05)).search(EAST, ANY)
        gaps.append([after - before for before, after in zip(inner.times, inner.times[1:], strict=False)])
    for gap in gaps:
        for waited, least in zip(gap, (0.05, 0.1, 0.2), strict=True):
            assert least <= waited + 0.002
            assert waited < 2 * least + 0.3
    assert gaps[0] != gaps[1]


@pytest.mark.row("K10")
async def test_each_attempt_has_a_deadline():
    inner = Plain(None)
    store = await wrapped(inner, timeout=0.02)
    assert await store.search(EAST, ANY) == []
    assert inner.calls == ["search", "search"]
    inner.failures, inner.calls = [None, None], []
    store = await wrapped(inner, write_timeout=0.02, retries=1)
    with pytest.raises(StoreError, match=r"^Plain: storing took longer than 0.02 s: check that the backend is well"):
        await store.store([CHUNK])
    assert inner.calls == ["store", "store"]


@pytest.mark.row("K10")
async def test_preparing_has_a_deadline_of_its_own_and_comes_before_the_first_use():
    inner = Plain()
    store = ResilientVectorStore(inner, initialize_timeout=0.02, pause=0.001)
    await store.delete_by_document_id("d")
    assert inner.calls == ["delete"]
    inner.failures, inner.calls = [None, down()], []
    await asyncio.gather(store.search(EAST, ANY), store.search(EAST, ANY))
    assert inner.calls == ["initialize"] * 3 + ["search"] * 2


@pytest.mark.row("K10")
async def test_a_store_that_keeps_failing_is_left_alone_for_a_while():
    inner = Plain(*(down() for _ in range(4)))
    store = await wrapped(inner, retries=1, failures=4, rest=0.1)
    for _ in range(2):
        with pytest.raises(StoreError, match="no connection"):
            await store.search(EAST, ANY)
    for work in (lambda: store.search(EAST, ANY), lambda: store.store([CHUNK])):
        with pytest.raises(StoreError, match=r"^Plain: not asked, since the last 4 calls failed"):
            await work()
    assert len(inner.calls) == 4
    await asyncio.sleep(0.12)
    assert await store.search(EAST, ANY) == []
    await store.store([CHUNK])
    assert len(inner.calls) == 6


@pytest.mark.row("K10", "L4")
async def test_cancellation_is_never_retried_nor_counted():
    inner = Plain(*[None] * 3)
    store = await wrapped(inner, failures=1)
    for calls in (1, 2, 3):
        task = asyncio.create_task(store.search(EAST, ANY))
        await asyncio.sleep(0.01)
        assert len(inner.calls) == calls
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert await store.search(EAST, ANY) == []
    assert len(inner.calls) == 4


@pytest.mark.row("K10", "L4")
async def test_cancellation_ends_a_pause():
    inner = Plain(down())
    store = await wrapped(inner, pause=60)
    task = asyncio.create_task(store.search(EAST, ANY))
    await asyncio.sleep(0.01)
    assert inner.calls == ["search"]
    task.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.row("K10")
async def test_everything_that_the_store_can_do_is_forwarded_and_made_again():
    inner = Able()
    store = await wrapped(inner)
    assert all(isinstance(store, protocol) for protocol in (VectorStore, StoreDecorator, *OPTIONAL))
    assert store.inner is inner
    assert (store.score_scale, store.native_only_capability) == (ScoreScale.BACKEND, "semantic ranking")
    sparse = SparseVector.from_dict({9: 1.0})

    async def again(call: str, work: Any) -> Any:
        inner.failures, inner.calls = [down()], []
        found = await work()
        assert inner.calls == [call, call]
        return found

    await again("replace", lambda: store.replace_document("d", [EmbeddedChunk(CHUNK.chunk, EAST, sparse)]))
    [hit] = await again("sparse", lambda: store.sparse_search(sparse, ANY))
    assert (hit.chunk, hit.score) == (CHUNK.chunk, 1.0)
    [hit] = await again("hybrid leave", lambda: store.hybrid_search("leave", EAST, ANY))
    assert hit.chunk == CHUNK.chunk
    vector, missing = await again("embeddings", lambda: store.embeddings([CHUNK.chunk.key, ChunkKey("x", 0)]))
    assert (vector.tolist(), missing) == ([1, 0], None)
    assert await again("exists c", lambda: store.collection_exists("c")) is True


@pytest.mark.row("K10")
async def test_collections_are_made_and_dropped_once():
    inner = Able()
    store = await wrapped(inner)
    for call, work in (
        ("create c 2", lambda: store.create_collection("c", 2)),
        ("drop c", lambda: store.delete_collection("c")),
    ):
        inner.failures, inner.calls = [down()], []
        with pytest.raises(StoreError, match="no connection"):
            await work()
        assert inner.calls == [call]
        await work()
        assert inner.calls == [call, call]
    inner.calls.clear()
    await store.search(EAST, ANY)
    assert inner.calls == ["initialize", "search"]


@pytest.mark.row("K10")
def test_it_has_no_method_that_the_store_lacks():
    assert not any(isinstance(ResilientVectorStore(Plain()), protocol) for protocol in OPTIONAL)
    memory = ResilientVectorStore(InMemoryVectorStore())
    can = {protocol for protocol in OPTIONAL if isinstance(memory, protocol)}
    assert can == {DocumentReplaceable, EmbeddingReadable, SparseSearchable}
    assert type(memory).__name__ == "ResilientVectorStore"
    assert type(ResilientVectorStore(InMemoryVectorStore())) is type(memory)


@pytest.mark.row("K9", "K10")
async def test_wrappers_nest():
    parts = [ResilientVectorStore(InMemoryVectorStore()), ResilientVectorStore(Plain(*[down()] * 9), pause=0.0)]
    store = ResilientVectorStore(FederatedVectorStore(parts))
    assert isinstance(store, ScoreScaleAware)
    assert store.score_scale is ScoreScale.RRF
    await store.store([CHUNK])
    [hit] = await store.search(EAST, ANY)
    assert hit.chunk.metadata["source.store"] == "0"


@pytest.mark.row("K10")
async def test_closing_closes_the_store_inside():
    async with ResilientVectorStore(inner := Plain()):
        assert not inner.closed
    assert inner.closed
    await ResilientVectorStore(InMemoryVectorStore()).aclose()


@pytest.mark.row("K10")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "retries must be at least 0, not -1"),
        ({"pause": 61}, "pause must be between 0 and 60"),
        ({"timeout": 0}, "timeout must be between 0.001 and 3600"),
        ({"write_timeout": float("nan")}, "write_timeout must be finite"),
        ({"initialize_timeout": 4000}, "initialize_timeout must be between"),
        ({"failures": 0}, "failures must be at least 1"),
        ({"rest": 0}, "rest must be between"),
        ({"retry_on": OSError}, "retry_on must be a tuple of exception classes"),
        ({"retry_on": (asyncio.CancelledError,)}, "retry_on must be a tuple of exception classes"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        ResilientVectorStore(InMemoryVectorStore(), **options)


@pytest.mark.row("K10")
@pytest.mark.parametrize("package", ["tenacity", "circuitbreaker"])
def test_what_is_not_installed_is_named(package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingDependencyError, match=r"ragstone\[http\]"):
        ResilientVectorStore(InMemoryVectorStore())


@pytest.mark.row("K10")
def test_what_is_no_store_is_refused():
    with pytest.raises(ConfigurationError, match="inner must be a vector store, not a str"):
        ResilientVectorStore("store")  # type: ignore[arg-type]

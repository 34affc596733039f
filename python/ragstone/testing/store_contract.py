"""The suite that every vector store passes: subclass it, say how to make a store, and pytest runs it.

```python
from ragstone.testing.store_contract import VectorStoreContract


class TestMyStore(VectorStoreContract):
    async def make_store(self, dimensions):
        return MyStore(url, collection=f"test_{uuid4().hex}", dimensions=dimensions)

    async def close_store(self, store):
        await store.drop()
```

Needs pytest, pytest-asyncio and hypothesis.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone.errors import DimensionMismatchError, InvalidInputError, MetadataError
from ragstone.metadata import MetadataValue, matches
from ragstone.models import ChunkKey, EmbeddedChunk, SearchOptions, SearchResult, TextChunk
from ragstone.ports import DocumentReplaceable, EmbeddingReadable, VectorStore
from ragstone.testing._samples import METADATA, NOON, ODD_IDS, embedded, keys, query
from ragstone.testing._sparse_contract import SparseSearchContract

__all__ = ["VectorStoreContract"]

_SLOW_OR_INHERITED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.differing_executors)


@pytest.mark.asyncio
class VectorStoreContract(SparseSearchContract):
    """What holds for every store. Override `make_store`, and `close_store` where there is something to clean up."""

    tolerance: ClassVar[float] = 1e-4
    """How far a score may be from the cosine."""

    def score_of(self, cosine: float) -> float:
        """The store's score of a cosine; overridden where scores are another similarity, which grows with it."""
        return cosine

    async def make_store(self, dimensions: int) -> VectorStore:
        """Return a new, empty store that holds vectors of this length, not initialised."""
        raise NotImplementedError

    async def close_store(self, store: VectorStore) -> None:
        """Clean up after a test; does nothing unless overridden."""

    @asynccontextmanager
    async def opened(self, *chunks: EmbeddedChunk) -> AsyncGenerator[VectorStore]:
        """An initialised store of two dimensions that holds these chunks."""
        store = await self.make_store(2)
        try:
            await store.initialize()
            await store.store(chunks)
            yield store
        finally:
            await self.close_store(store)

    async def everything(self, store: VectorStore) -> list[SearchResult]:
        """All that the store holds, up to a thousand chunks."""
        return await store.search(query(1, 0), SearchOptions(top_k=1000))

    # --- storing and finding

    async def test_a_chunk_comes_back_as_it_was_stored(self) -> None:
        """Text, identity, offsets and metadata survive, kinds included."""
        metadata: dict[str, MetadataValue] = {"s": "x", "i": 2020, "f": 0.5, "yes": True, "at": NOON}
        stored = embedded("d", 3, (0.6, 0.8), metadata)
        async with self.opened(stored) as store:
            [hit] = await self.everything(store)
            assert (hit.chunk.text, hit.chunk.key) == (stored.chunk.text, ("d", 3))
            assert (hit.chunk.start, hit.chunk.end) == (5, 9)
            assert hit.chunk.metadata.keys() == metadata.keys()
            assert matches(hit.chunk.metadata, metadata)
            assert hit.score == pytest.approx(self.score_of(0.6), abs=self.tolerance)

    async def test_the_nearest_come_first(self) -> None:
        """Results are ordered by cosine, whatever the lengths of the vectors, and cut to `top_k`."""
        async with self.opened(
            embedded("far", 0, (-1, 0)), embedded("near", 0, (0.1, 0.01)), embedded("mid", 0, (70, 70))
        ) as store:
            results = await store.search(query(3, 0), SearchOptions(top_k=3))
            assert [key.document_id for key in keys(results)] == ["near", "mid", "far"]
            wanted = [self.score_of(cosine) for cosine in (0.99504, 0.70711, -1.0)]
            assert [hit.score for hit in results] == pytest.approx(wanted, abs=self.tolerance)
            assert keys(await store.search(query(3, 0), SearchOptions(top_k=1))) == [("near", 0)]

    async def test_storing_again_replaces(self) -> None:
        """A chunk of the same key takes the place of the old: text, vector and metadata."""
        async with self.opened(embedded("d", 0, (1, 0), {"v": 1})) as store:
            new = TextChunk("new text", "d", 0, metadata={"w": 2})
            await store.store([EmbeddedChunk(new, query(0, 1))])
            [hit] = await self.everything(store)
            assert (hit.chunk.text, dict(hit.chunk.metadata)) == ("new text", {"w": 2})
            assert hit.score == pytest.approx(self.score_of(0), abs=self.tolerance)
            assert await store.search(query(1, 0), SearchOptions(top_k=5, metadata_filter={"v": 1})) == []

    async def test_equal_texts_are_two_results(self) -> None:
        """Identity is the key, never the text."""
        twins = [EmbeddedChunk(TextChunk("same", name, 0), query(1, 0)) for name in ("d1", "d2")]
        async with self.opened(*twins) as store:
            assert set(keys(await self.everything(store))) == {("d1", 0), ("d2", 0)}

    async def test_an_empty_store_has_no_results(self) -> None:
        """Nor is an empty batch an error."""
        async with self.opened() as store:
            await store.store([])
            assert await self.everything(store) == []

    async def test_a_large_batch(self) -> None:
        """A thousand chunks in one call."""
        chunks = [embedded(f"d{n % 7}", n, (1, n / 1000)) for n in range(1000)]
        async with self.opened(*chunks) as store:
            assert set(keys(await self.everything(store))) == {item.chunk.key for item in chunks}

    # --- identity

    async def test_ids_that_join_alike_are_different(self) -> None:
        """("a", 11) and ("a:1", 1) never collide, nor do "a" and "A"; storing again changes nothing."""
        look_alikes = [("a1", 1), ("a", 11), ("a:1", 1), ("a", 1), ("A", 1)]
        chunks = [embedded(name, index, (1, 0)) for name, index in look_alikes]
        async with self.opened(*chunks) as store:
            await store.store(chunks)
            assert sorted(keys(await self.everything(store))) == sorted(look_alikes)

    async def test_odd_ids(self) -> None:
        """Quotes, separators, wildcards, queries and any script are just ids; a delete hits only its document."""
        async with self.opened(*(embedded(name, index, (1, 0)) for name in ODD_IDS for index in (0, 1))) as store:
            left = {(name, index) for name in ODD_IDS for index in (0, 1)}
            assert set(keys(await self.everything(store))) == left
            for name in ODD_IDS:
                await store.delete_by_document_id(name)
                left -= {(name, 0), (name, 1)}
                assert set(keys(await self.everything(store))) == left

    async def test_deleting(self) -> None:
        """A delete takes every chunk of its document and no other; what is not there is no error."""
        names = ("a", "a:1", "a-1", "ab", "A")
        async with self.opened(*(embedded(name, index, (1, 0)) for name in names for index in (0, 1, 10))) as store:
            await store.delete_by_document_id("missing")
            await store.delete_by_document_id("a")
            assert {key.document_id for key in keys(await self.everything(store))} == {"a:1", "a-1", "ab", "A"}
            await store.delete_by_document_id("a")

    # --- metadata and filters

    @settings(max_examples=50, deadline=None, suppress_health_check=_SLOW_OR_INHERITED)
    @given(metadata=st.lists(METADATA, min_size=1, max_size=8), metadata_filter=METADATA)
    async def test_filters_agree_with_matches(
        self, metadata: list[dict[str, MetadataValue]], metadata_filter: dict[str, MetadataValue]
    ) -> None:
        """`ragstone.metadata.matches` is what a filter means: kinds never cross, dates compare as instants."""
        chunks = [embedded("d", index, (1, index), entries) for index, entries in enumerate(metadata)]
        async with self.opened(*chunks) as store:
            found = await store.search(query(1, 0), SearchOptions(top_k=20, metadata_filter=metadata_filter))
            wanted = {item.chunk.key for item in chunks if matches(item.chunk.metadata, metadata_filter)}
            assert set(keys(found)) == wanted

    async def test_a_filter_comes_before_the_cut(self) -> None:
        """The page holds the best eligible chunks, however many nearer ones are not eligible."""
        crowd = [embedded("crowd", n, (1, n / 1e4), {"lang": "de"}) for n in range(200)]
        async with self.opened(*crowd, embedded("one", 0, (-1, 0), {"lang": "en"})) as store:
            options = SearchOptions(top_k=1, metadata_filter={"lang": "en"})
            assert keys(await store.search(query(1, 0), options)) == [("one", 0)]

    async def test_a_filter_that_cannot_be_applied_is_refused(self) -> None:
        """It never widens the page."""
        async with self.opened(embedded("d", 0, (1, 0))) as store:
            for value in (None, float("nan"), float("inf"), ["x"]):
                options = SearchOptions(top_k=5, metadata_filter={"k": value})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
                with pytest.raises(MetadataError):
                    await store.search(query(1, 0), options)

    async def test_metadata_named_like_internal_fields(self) -> None:
        """They change neither text nor identity, and come back as they were."""
        names = ("text", "document_id", "id", "content", "metadata", "embedding", "vector", "source.store", "_id")
        metadata: dict[str, MetadataValue] = {**dict.fromkeys(names, "fake"), "chunk_index": 9, "document": 7}
        async with self.opened(embedded("k", 3, (1, 0), metadata)) as store:
            await store.delete_by_document_id("fake")
            [hit] = await self.everything(store)
            assert (hit.chunk.text, hit.chunk.key, dict(hit.chunk.metadata)) == ("text of k 3", ("k", 3), metadata)

    # --- thresholds

    @pytest.mark.parametrize(
        ("min_score", "wanted"),
        [(0.0, ["a", "b", "c"]), (0.1, ["a"]), (-0.5, ["a", "b"]), (-1.0, ["a", "b", "c"]), (0.99, [])],
    )
    async def test_min_score(self, min_score: float, wanted: list[str]) -> None:
        """0.0 is no threshold; any other value is one, negative ones too."""
        async with self.opened(
            embedded("a", 0, (0.6, 0.8)), embedded("b", 0, (-0.1, 1)), embedded("c", 0, (-0.9, 0.1))
        ) as store:
            floor = self.score_of(min_score) if min_score else 0.0
            results = await store.search(query(1, 0), SearchOptions(top_k=5, min_score=floor))
            assert [key.document_id for key in keys(results)] == wanted

    # --- odd vectors

    async def test_zero_vectors_are_never_first(self) -> None:
        """Stored or asked for, a zero vector has a cosine of 0 with everything, never NaN."""
        async with self.opened(
            embedded("z", 0, (0, 0)), embedded("a", 0, (0.8, 0.6)), embedded("b", 0, (0.6, 0.8))
        ) as store:
            results = await store.search(query(1, 0), SearchOptions(top_k=3))
            assert [key.document_id for key in keys(results)][:2] == ["a", "b"]
            assert [hit.score for hit in results[2:]] in ([], [0.0])
            assert all(hit.score == 0 for hit in await store.search(query(0, 0), SearchOptions(top_k=3)))

    @pytest.mark.parametrize("bad", [(1.0, 2.0, 3.0), (1.0,), (float("nan"), 1.0), (1.0, float("-inf"))])
    async def test_a_bad_vector_stores_nothing(self, bad: tuple[float, ...]) -> None:
        """One vector of a wrong length or with NaN or infinity fails its whole batch; the error names the chunk."""
        async with self.opened(embedded("old", 0, (1, 0))) as store:
            batch = [embedded("x", 0, (1, 0)), embedded("x", 1, bad), embedded("old", 0, (0, 1))]
            with pytest.raises(InvalidInputError, match=r"1.*x"):
                await store.store(batch)
            [hit] = await self.everything(store)
            assert hit.chunk.key == ("old", 0)
            assert hit.score == pytest.approx(self.score_of(1), abs=self.tolerance)

    async def test_a_bad_query_is_an_error(self) -> None:
        """A wrong length names both dimensions."""
        async with self.opened(embedded("d", 0, (1, 0))) as store:
            with pytest.raises(DimensionMismatchError) as caught:
                await store.search(query(1, 0, 0), SearchOptions(top_k=1))
            assert (caught.value.expected, caught.value.actual) == (2, 3)
            with pytest.raises(InvalidInputError, match="query"):
                await store.search(query(float("nan"), 0), SearchOptions(top_k=1))

    # --- many callers

    async def test_the_first_use_initialises(self) -> None:
        """Many first uses at once work, and initialising again keeps what is stored."""
        store = await self.make_store(2)
        try:
            await asyncio.gather(*(store.store([embedded(f"d{n}", 0, (1, n))]) for n in range(8)))
            await asyncio.gather(*(store.initialize() for _ in range(3)))
            assert len(await self.everything(store)) == 8
        finally:
            await self.close_store(store)

    async def test_concurrent_callers(self) -> None:
        """Writers, deleters and readers at once: no error, and in the end exactly what should be there."""
        async with self.opened() as store:

            async def live(number: int) -> None:
                for index in range(5):
                    await store.store([embedded(f"d{number}", index, (1, index))])
                    assert len(await store.search(query(1, 0), SearchOptions(top_k=3))) >= 1
                if number % 2:
                    await store.delete_by_document_id(f"d{number}")

            await asyncio.gather(*(live(number) for number in range(10)))
            left = {(f"d{number}", index) for number in range(0, 10, 2) for index in range(5)}
            assert set(keys(await self.everything(store))) == left

    async def test_cancelling_a_write(self) -> None:
        """It is never swallowed, the batch is there whole or not at all, and the store goes on working."""
        async with self.opened() as store:
            batch = [embedded("x", index, (1, index)) for index in range(500)]
            task = asyncio.create_task(store.store(batch))
            await asyncio.sleep(0)
            requested = task.cancel()
            await asyncio.wait([task])
            assert task.cancelled() == requested
            assert len(await self.everything(store)) in (0, 500)
            await store.store(batch)
            assert len(await self.everything(store)) == 500

    # --- capabilities: skipped where a store does not have them

    async def test_replacing_a_document(self) -> None:
        """Old chunks out, new ones in, all or nothing; without new ones it is a delete."""
        async with self.opened(*(embedded(name, n, (1, n)) for name in ("a", "b") for n in range(3))) as store:
            if not isinstance(store, DocumentReplaceable):
                pytest.skip("not DocumentReplaceable")
            with pytest.raises(InvalidInputError):
                await store.replace_document("a", [embedded("a", 0, (1, 0)), embedded("a", 1, (1, float("nan")))])
            with pytest.raises(InvalidInputError):
                await store.replace_document("a", [embedded("b", 7, (1, 0))])
            assert len(await self.everything(store)) == 6
            await store.replace_document("a", [embedded("a", 2, (1, 0)), embedded("a", 5, (0, 1))])
            others = {("b", 0), ("b", 1), ("b", 2)}
            assert set(keys(await self.everything(store))) == others | {("a", 2), ("a", 5)}
            await store.replace_document("a", [])
            assert set(keys(await self.everything(store))) == others

    async def test_no_reader_sees_half_a_replacement(self) -> None:
        """Every page shows one version of the document, whole."""
        versions = [
            [EmbeddedChunk(TextChunk(f"v{v}", "d", n), query(1, v)) for n in range(v % 3, 8)] for v in range(30)
        ]
        async with self.opened(*versions[0]) as store:
            if not isinstance(store, DocumentReplaceable):
                pytest.skip("not DocumentReplaceable")
            replaceable: DocumentReplaceable = store

            async def write() -> None:
                for version in versions:
                    await replaceable.replace_document("d", version)

            writer = asyncio.create_task(write())
            while not writer.done():
                page = await self.everything(store)
                [text] = {hit.chunk.text for hit in page}
                assert len(page) == 8 - int(text[1:]) % 3
            await writer

    async def test_embeddings_are_given_back(self) -> None:
        """Up to their length, and `None` for a chunk that is not there."""
        async with self.opened(embedded("a", 0, (3, 4)), embedded("b", 1, (0, -2))) as store:
            if not isinstance(store, EmbeddingReadable):
                pytest.skip("not EmbeddingReadable")
            wanted = [ChunkKey("b", 1), ChunkKey("a", 1), ChunkKey("a", 0)]
            b, missing, a = await store.embeddings(wanted)
            assert missing is None
            assert a is not None
            assert b is not None
            assert a / np.linalg.norm(a) == pytest.approx([0.6, 0.8], abs=self.tolerance)
            assert b / np.linalg.norm(b) == pytest.approx([0, -1], abs=self.tolerance)

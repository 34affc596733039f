"""What holds for every store that searches sparse vectors; a part of the store contract."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import pytest

from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions
from ragstone.ports import DocumentReplaceable, SparseSearchable, VectorStore
from ragstone.sparse_vector import SparseVector
from ragstone.testing._samples import embedded, keys

__all__ = ["SparseSearchContract", "encoded"]

_QUERY = SparseVector.from_dict({2: 1.0, 9: 4.0})


def encoded(
    document_id: str, index: int, weights: dict[int, float], metadata: dict[str, str] | None = None
) -> EmbeddedChunk:
    """A chunk with a dense and a sparse vector."""
    item = embedded(document_id, index, (1, index), metadata)
    return EmbeddedChunk(item.chunk, item.embedding, SparseVector.from_dict(weights))


class SparseSearchContract:
    """Skipped where the store is not `SparseSearchable`.

    What a dense upsert makes of an earlier sparse vector is each store's own, and documented there.
    """

    tolerance: ClassVar[float]

    def opened(self, *chunks: EmbeddedChunk) -> AbstractAsyncContextManager[VectorStore]:
        """An initialised store of two dimensions that holds these chunks."""
        raise NotImplementedError

    async def test_sparse_search_ranks_by_dot_product(self) -> None:
        """Best first, on its own scale, cut to `top_k`; who shares no term with the query is no hit."""
        chunks = (
            encoded("low", 0, {9: 1.0}),
            encoded("none", 0, {7: 5.0}),
            encoded("high", 3, {2: 2.0, 9: 1.5}),
            encoded("mid", 0, {2: 5.0}),
            embedded("dense", 0, (1, 0)),
        )
        async with self.opened(*chunks) as store:
            searchable = _searchable(store)
            found = await searchable.sparse_search(_QUERY, SearchOptions(top_k=10))
            assert keys(found) == [("high", 3), ("mid", 0), ("low", 0)]
            assert [hit.score for hit in found] == pytest.approx([8.0, 5.0, 4.0], abs=self.tolerance)
            assert {hit.score_scale for hit in found} == {ScoreScale.DOT}
            assert found[0].chunk.text == "text of high 3"
            assert keys(await searchable.sparse_search(_QUERY, SearchOptions(top_k=1))) == [("high", 3)]
            assert await searchable.sparse_search(SparseVector.from_dict({}), SearchOptions(top_k=5)) == []

    async def test_sparse_search_filters_before_the_cut(self) -> None:
        """The page holds the best eligible chunks, however many better ones are not eligible."""
        crowd = [encoded("crowd", n, {9: 9.0 + n}, {"lang": "de"}) for n in range(100)]
        async with self.opened(*crowd, encoded("one", 0, {9: 1.0}, {"lang": "en"})) as store:
            options = SearchOptions(top_k=1, metadata_filter={"lang": "en"})
            assert keys(await _searchable(store).sparse_search(_QUERY, options)) == [("one", 0)]

    async def test_sparse_search_has_a_floor(self) -> None:
        """`min_score` is a dot product here; 0.0 is none."""
        async with self.opened(encoded("a", 0, {9: 1.0}), encoded("b", 0, {9: 0.25})) as store:
            for floor, wanted in ((0.0, ["a", "b"]), (2.0, ["a"]), (40.0, [])):
                found = await _searchable(store).sparse_search(_QUERY, SearchOptions(top_k=5, min_score=floor))
                assert [key.document_id for key in keys(found)] == wanted

    async def test_sparse_vectors_are_replaced_with_their_chunks(self) -> None:
        """A chunk that is stored again with another sparse vector is found by that one alone."""
        async with self.opened(encoded("a", 0, {2: 1.0})) as store:
            await store.store([encoded("a", 0, {9: 1.0})])
            [hit] = await _searchable(store).sparse_search(_QUERY, SearchOptions(top_k=5))
            assert hit.score == pytest.approx(4.0, abs=self.tolerance)

    async def test_sparse_vectors_go_with_their_document(self) -> None:
        """A delete leaves nothing, and nor does a replacement, of the old sparse vectors."""
        chunks = [encoded(name, n, {9: 1.0 + n}) for name in ("a", "b") for n in range(3)]
        async with self.opened(*chunks) as store:
            searchable = _searchable(store)
            await store.delete_by_document_id("a")
            found = await searchable.sparse_search(_QUERY, SearchOptions(top_k=10))
            assert keys(found) == [("b", 2), ("b", 1), ("b", 0)]
            if isinstance(store, DocumentReplaceable):
                await store.replace_document("b", [encoded("b", 1, {2: 1.0})])
                found = await searchable.sparse_search(_QUERY, SearchOptions(top_k=10))
                assert keys(found) == [("b", 1)]
                assert found[0].score == pytest.approx(1.0, abs=self.tolerance)
                await store.replace_document("b", [embedded("b", 1, (1, 0))])
                assert await searchable.sparse_search(_QUERY, SearchOptions(top_k=10)) == []


def _searchable(store: VectorStore) -> SparseSearchable:
    if not isinstance(store, SparseSearchable):
        pytest.skip("not SparseSearchable")
    return store

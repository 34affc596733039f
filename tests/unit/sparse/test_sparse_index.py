"""The index's face: writes, pages, filters, and what is refused."""

import math
import threading
import time

import pytest

from ragstone import SparseHit, SparseIndex, SparseVector
from ragstone.errors import ConfigurationError, InvalidInputError, MetadataError


def vector(**weights: float) -> SparseVector:
    return SparseVector.from_dict({ord(term): weight for term, weight in weights.items()})


def found(index: SparseIndex, query: SparseVector, **options: object) -> list[tuple[str | int, int]]:
    return [(hit.document_id, hit.chunk_index) for hit in index.search(query, **options)]  # type: ignore[arg-type]


@pytest.mark.row("B2")
@pytest.mark.case("S-014")
def test_the_order_of_ids_does_not_matter() -> None:
    index = SparseIndex()
    index.add("d", 0, SparseVector.from_arrays([9, 2], [0.5, 2.0]))
    for ids, weights in [([2, 9], [1.0, 4.0]), ([9, 2], [4.0, 1.0])]:
        assert index.search(SparseVector.from_arrays(ids, weights)) == [SparseHit("d", 0, 4.0)]
    assert repr(index) == "SparseIndex(chunks=1)"


@pytest.mark.row("B2")
def test_writes_show_at_once() -> None:
    index, red = SparseIndex(), vector(r=1.0)
    index.add("a", 0, red)
    index.add("a", 1, red)
    index.add(7, 0, red)
    assert found(index, red) == [(7, 0), ("a", 0), ("a", 1)]
    index.replace_document("a", [5], [red])
    assert found(index, red) == [(7, 0), ("a", 5)]
    assert (index.remove("a"), index.remove("a"), index.remove("7")) == (1, 0, 0)
    assert found(index, red) == [(7, 0)]
    index.replace_document(7, [], [])
    assert (len(index), found(index, red)) == (0, [])
    index.add_many([], [], [])
    index.add("b", 0, red)
    index.clear()
    assert (len(index), found(index, red)) == (0, [])
    index.add_many(["c", "c"], [0, 0], [vector(x=1), red], [{"n": 1}, {"n": 2}])  # of one key the later stays
    assert (len(index), found(index, vector(x=1))) == (1, [])
    assert found(index, red, metadata_filter={"n": 1}) == []
    assert found(index, red, metadata_filter={"n": 2}) == [("c", 0)]


@pytest.mark.row("B2")
def test_chunks_that_share_no_term_are_absent() -> None:
    index = SparseIndex()
    index.add_many(["a", "b", "empty"], [0, 0, 0], [vector(x=1e-38), vector(y=3.0), vector()])
    assert found(index, vector(x=1e-38)) == [("a", 0)]  # however low the score
    assert found(index, vector(x=1, y=1)) == [("b", 0), ("a", 0)]
    assert found(index, vector(z=1)) == found(index, vector()) == []
    assert index.search_many([]) == []
    assert len(index) == 3


@pytest.mark.row("B2")
def test_filters_and_thresholds_apply_before_the_cut() -> None:
    index = SparseIndex()
    for number in range(100):
        index.add(number, 0, vector(x=100 - number), {"odd": number % 2 == 1, "number": number})
    query = vector(x=0.5)
    assert found(index, query, top_k=2, metadata_filter={"odd": True}) == [(1, 0), (3, 0)]
    assert found(index, query, metadata_filter={"odd": 1}) == found(index, query, metadata_filter={"absent": 1}) == []
    assert found(index, query, metadata_filter={"odd": True, "number": 99.0}) == [(99, 0)]
    assert found(index, query, top_k=1000, min_score=49.5) == [(0, 0), (1, 0)]
    assert len(found(index, query, top_k=10**30, min_score=-1.0)) == 100
    assert found(index, query, top_k=0) == []
    index.add(1, 0, vector(x=99), {"odd": False})
    assert found(index, query, top_k=1, metadata_filter={"odd": True}) == [(3, 0)]


@pytest.mark.row("B2")
def test_arguments_that_do_not_fit_store_nothing() -> None:
    index, red = SparseIndex(), vector(r=1.0)
    index.add("a", 0, red)
    calls = [
        lambda: index.add_many(["a", "b"], [0], [red]),
        lambda: index.add_many(["a"], [0], [red, red]),
        lambda: index.add_many(["a"], [0], [red], []),
        lambda: index.add_many(["a", "b"], [0, -1], [red, red]),
        lambda: index.add_many(["a", "b"], [0, 0], [red, {1: 1.0}]),
        lambda: index.add("b", 0, [1.0]),
        lambda: index.replace_document("a", [0, 1], [red]),
        lambda: index.search({1: 1.0}),
        lambda: index.search_many([red, None]),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError):
            call()
    with pytest.raises(MetadataError, match="'tags'"):
        index.add_many(["a", "b"], [0, 0], [red, red], [{}, {"tags": ["no", "lists"]}])
    with pytest.raises(MetadataError):
        index.search(red, metadata_filter={"key": None})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="document id"):
        index.add(1.5, 0, red)  # type: ignore[arg-type]
    for options in ({"top_k": -1}, {"top_k": 1.5}, {"min_score": math.nan}, {"min_score": "1"}):
        with pytest.raises(ConfigurationError):
            index.search(red, **options)
    assert index.search(red) == [SparseHit("a", 0, 1.0)]


@pytest.mark.row("B2")
def test_no_search_sees_half_a_document() -> None:
    index, stop, red = SparseIndex(), threading.Event(), vector(r=1.0)
    pages: set[int] = set()

    def watch() -> None:
        while not stop.is_set():
            pages.add(len(index.search(red, top_k=100)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    end, version = time.monotonic() + 30, 0
    # A thread may be slow to start: write until both states were seen, and five hundred times at least.
    while version < 500 or (not {0, 7} <= pages and time.monotonic() < end):
        version += 1
        index.replace_document("d", range(7), [vector(r=version)] * 7)
        if version % 3 == 0:
            index.remove("d")
    stop.set()
    watcher.join()
    assert pages == {0, 7}

"""The vector index through its public face."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ragstone.engine.dense import VectorHit, VectorIndex
from ragstone.errors import (
    ConfigurationError,
    DimensionMismatchError,
    InvalidInputError,
    InvalidVectorError,
    MetadataError,
)

NAN, INF = float("nan"), float("inf")


def build(vectors, metadata=None, ids=None) -> VectorIndex:
    index = VectorIndex()
    index.upsert(ids or [f"d{n}" for n in range(len(vectors))], [0] * len(vectors), vectors, metadata)
    return index


def ids(hits: list[VectorHit]) -> list[str | int]:
    return [hit.document_id for hit in hits]


@pytest.mark.row("D1", "C7")
def test_scores_are_cosines_whatever_the_lengths():
    index = build([[3, 4], [0, 0.001], [-1e6, 0]])
    hits = index.search([2, 0])
    assert [(hit.document_id, hit.chunk_index) for hit in hits] == [("d0", 0), ("d1", 0), ("d2", 0)]
    assert [hit.score for hit in hits] == pytest.approx([0.6, 0, -1], abs=1e-7)


@pytest.mark.row("D1")
@pytest.mark.parametrize("vector", [[3e38, 3e38], [1e-45, 1e-45], [1e38, 1e38]])
def test_norms_neither_overflow_nor_vanish(vector):
    [hit] = build([vector]).search([1, 0])
    assert hit.score == pytest.approx(np.sqrt(0.5), abs=1e-7)
    assert build([[1, 0]]).search(vector)[0].score == pytest.approx(np.sqrt(0.5), abs=1e-7)


@pytest.mark.row("D1", "A6")
def test_ties_go_by_document_then_chunk_and_integers_come_first():
    index = VectorIndex()
    keys = [("b", 1), ("b", 0), (10, 0), ("a", 7), (9, 0), ("B", 0)]
    index.upsert([key[0] for key in keys], [key[1] for key in keys], [[1.0, 0.0]] * len(keys))
    wanted = [(9, 0), (10, 0), ("B", 0), ("a", 7), ("b", 0), ("b", 1)]
    assert [hit[:2] for hit in index.search([1, 0])] == wanted
    assert [hit[:2] for hit in index.search([1, 0], top_k=3)] == wanted[:3]


@pytest.mark.row("D1")
def test_upsert_replaces_and_handles_name_versions():
    index = VectorIndex()
    assert index.upsert(["a", "b"], [0, 0], [[1, 0], [0, 1]]) == [0, 1]
    assert index.upsert(["a"], [0], [[-1, 0]]) == [2]
    assert index.search([1, 0]) == [("b", 0, 0.0, 1), ("a", 0, -1.0, 2)]
    assert index.upsert(["c", "c"], [5, 5], [[1, 0], [0, 1]]) == [3, 4]
    assert [hit.handle for hit in index.search([1, 0])] == [1, 4, 2]
    assert len(index) == 3


@pytest.mark.row("D1")
def test_replacing_and_removing_documents():
    index = VectorIndex()
    index.upsert(["a", "a", "b"], range(3), [[1, 0], [1, 0], [1, 0]])
    index.replace_document("a", [9], [[0, 1]], [{"new": True}])
    assert [hit[:2] for hit in index.search([1, 0])] == [("b", 2), ("a", 9)]
    assert ids(index.search([1, 0], metadata_filter={"new": True})) == ["a"]
    assert (index.remove("a"), index.remove("a"), len(index)) == (1, 0, 1)
    index.replace_document("b", [], [])
    assert len(index) == 0


@pytest.mark.row("D1")
def test_clear_forgets_inferred_dimensions_only():
    index, fixed = VectorIndex(), VectorIndex(3)
    index.upsert(["a"], [0], [[1, 0]])
    assert (index.dimensions, fixed.dimensions) == (2, 3)
    index.clear()
    fixed.clear()
    assert (len(index), index.dimensions, fixed.dimensions) == (0, None, 3)
    assert index.search([1, 2, 3, 4]) == []


@pytest.mark.row("D1")
def test_search_many_equals_searches():
    rng = np.random.default_rng(1)
    index = build(rng.standard_normal((50, 7)))
    queries = rng.standard_normal((9, 7))
    assert index.search_many(queries, top_k=4) == [index.search(query, top_k=4) for query in queries]
    assert index.search_many([]) == []


@pytest.mark.row("D1")
def test_vectors_are_given_back_at_unit_length():
    index = build([[3, 4], [0, 0]])
    missing, a, zero, also_missing = index.vectors([("d9", 0), ("d0", 0), ("d1", 0), ("d0", 1)])
    assert missing is None
    assert also_missing is None
    assert a.dtype == np.float32
    assert a.tolist() == pytest.approx([0.6, 0.8])
    assert zero.tolist() == [0, 0]
    assert index.vectors([]) == []


@pytest.mark.row("D1")
@pytest.mark.parametrize(
    "vectors",
    [
        np.array([[3, 4], [4, 3]], dtype=np.float64),
        np.array([[3, 4], [4, 3]], dtype=np.int8),
        np.array([[3, 4], [4, 3]], dtype=">f4"),
        np.asfortranarray(np.array([[3, 4], [4, 3]], dtype=np.float32)),
        np.array([[3, 0, 4, 0], [4, 0, 3, 0]], dtype=np.float32)[:, ::2],
        np.frombuffer(b"x" + np.array([3, 4, 4, 3], dtype=np.float32).tobytes(), np.float32, 4, 1).reshape(2, 2),
        [[3, 4], [4, 3]],
    ],
    ids=["float64", "int8", "big-endian", "fortran", "strided", "unaligned", "lists"],
)
def test_any_numbers_are_taken(vectors):
    assert [hit.score for hit in build(vectors).search(vectors[0])] == pytest.approx([1.0, 0.96], abs=1e-7)


@pytest.mark.row("D1")
def test_float32_arrays_are_not_copied():
    vectors = np.random.default_rng(2).standard_normal((20_000, 128)).astype(np.float32)
    vectors.flags.writeable = False
    index, peaks = VectorIndex(), []
    for given in (vectors, vectors.astype(np.float64)):
        tracemalloc.start()
        index.upsert(["d"] * len(given), range(len(given)), given)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < vectors.nbytes / 4
    assert peaks[1] > vectors.nbytes


@pytest.mark.row("D2")
@pytest.mark.parametrize(
    ("min_score", "wanted"),
    [(0.0, "abc"), (-0.0, "abc"), (0.5, "a"), (-0.5, "ab"), (-1.0, "abc"), (1e-9, "a"), (2.0, "")],
)
def test_zero_is_no_threshold_and_anything_else_is(min_score, wanted):
    index = build([[0.8, 0.6], [-0.1, 1.0], [-1.0, 0.2]], ids=["a", "b", "c"])
    assert "".join(ids(index.search([1, 0], min_score=min_score))) == wanted


@pytest.mark.row("D3")
@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e300])
def test_what_is_not_finite_is_refused_by_name(bad):
    index = build([[1, 0]])
    with pytest.raises(InvalidVectorError, match=r"chunk 7 of document 'x' holds .* at position 1"):
        index.upsert(["x", "x", "d0"], [6, 7, 0], [[1, 0], [1, bad], [0, 1]])
    with pytest.raises(InvalidVectorError, match="chunk 7 of document 'd0'"):
        index.replace_document("d0", [7], [[1, bad]])
    with pytest.raises(InvalidVectorError, match="the query holds"):
        index.search([bad, 0])
    with pytest.raises(InvalidVectorError, match="query 1 holds"):
        index.search_many([[0, 1], [bad, 0]])
    assert index.search([1, 0]) == [("d0", 0, 1.0, 0)]


@pytest.mark.row("D3")
def test_wrong_dimensions_name_both():
    index = build([[1, 0]])
    for call in (
        lambda: index.upsert(["x"], [3], [[1, 0, 0]]),
        lambda: index.replace_document("d0", [3], [[1, 0, 0]]),
        lambda: index.search([1, 0, 0]),
        lambda: index.search_many([[1, 0, 0]]),
    ):
        with pytest.raises(DimensionMismatchError, match="has 3 dimensions instead of 2") as caught:
            call()
        assert (caught.value.expected, caught.value.actual) == (2, 3)
    assert index.search([1, 0]) == [("d0", 0, 1.0, 0)]
    with pytest.raises(DimensionMismatchError, match="the query"):
        VectorIndex(5).search([1])


@pytest.mark.row("D3")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [0], [[1, 0], [0, 1]]), "1 chunks and 2 vectors"),
        ((["a", "b"], [0], [[1, 0]]), "2 document ids and 1 chunk indices"),
        ((["a"], [0], [[1, 0]], []), "1 chunks and metadata for 0"),
        ((["a"], [0], [1, 0]), r"vectors must have the shape \(n, dimensions\)"),
        ((["a"], [0], [[[1]]]), r"vectors must have the shape \(n, dimensions\)"),
        ((["a", "b"], [0, 0], [[1, 0], [1]]), "vectors must be numbers"),
        ((["a"], [0], [["x"]]), "vectors must be real numbers"),
        ((["a"], [-1], [[1, 0]]), "chunk_index must be between 0 and 4294967295, not -1"),
        ((["a"], [2**32], [[1, 0]]), "chunk_index must be between"),
        ((["\ud800"], [0], [[1, 0]]), "document id '.*' is not valid Unicode"),
        (([2**63], [0], [[1, 0]]), "is beyond 64 bits"),
        ((["a"], [0], [[1, 0]], [{"k": [1]}]), "metadata 'k'"),
        ((["a"], [0], np.empty((1, 0))), "vectors must have the shape"),
    ],
)
def test_malformed_arguments(arguments, message):
    index = VectorIndex()
    with pytest.raises(InvalidInputError, match=message):
        index.upsert(*arguments)
    assert (len(index), index.dimensions) == (0, None)


@pytest.mark.parametrize("document_id", [None, True, 1.5, b"a"])
def test_ids_are_strings_or_integers(document_id):
    with pytest.raises(TypeError, match="a document id must be a string or an integer"):
        VectorIndex().upsert([document_id], [0], [[1.0]])


def test_bad_options():
    index = build([[1, 0]])
    for options in ({"min_score": NAN}, {"min_score": INF}, {"min_score": "0"}, {"top_k": 1.0}, {"top_k": True}):
        with pytest.raises(ConfigurationError, match=next(iter(options))):
            index.search([1, 0], **options)
    for dimensions in (0, -1, 2.0):
        with pytest.raises(ConfigurationError, match="dimensions"):
            VectorIndex(dimensions)
    with pytest.raises(InvalidInputError, match=r"query must have the shape \(dimensions,\)"):
        index.search([[1, 0]])


@pytest.mark.row("E7", "G5")
def test_a_filter_must_be_applicable():
    index = build([[1, 0]], [{"k": 1}])
    for bad in ({"k": None}, {"k": NAN}, {"k": object()}, {"": 1}):
        with pytest.raises(MetadataError):
            index.search([1, 0], metadata_filter=bad)
    assert index.search([1, 0], metadata_filter={"j": 1}) == []
    assert ids(index.search([1, 0], metadata_filter={})) == ["d0"]

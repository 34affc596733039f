"""Faults known from other systems, with their exact figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragstone.engine.dense import VectorIndex


def build(**chunks) -> VectorIndex:
    index = VectorIndex()
    for document_id, (vector, metadata) in chunks.items():
        index.upsert([document_id], [0], [vector], [metadata])
    return index


def found(index: VectorIndex, query=(1, 0), **options) -> dict[str | int, float]:
    return {hit.document_id: pytest.approx(hit.score, abs=1e-7) for hit in index.search(query, **options)}


def matching(index: VectorIndex, **metadata_filter) -> list[str | int]:
    return list(found(index, metadata_filter=metadata_filter))


@pytest.mark.row("D1")
@pytest.mark.case("S-007")
def test_top_k_is_never_replaced_by_a_default():
    index = VectorIndex()
    index.upsert(["d"] * 8, range(8), [[1, n] for n in range(8)])
    assert index.search([1, 0], top_k=0) == []
    assert index.search_many([[1, 0]] * 2, top_k=0) == [[], []]
    with pytest.raises(ValueError, match="top_k must be at least 0, not -1"):
        index.search([1, 0], top_k=-1)
    assert [len(index.search([1, 0], top_k=top_k)) for top_k in (1, 7, 8, 9, 10**30)] == [1, 7, 8, 8, 8]


@pytest.mark.row("D3")
@pytest.mark.case("S-022")
def test_a_zero_vector_is_never_first():
    index = build(z=((0, 0), {}), a=((0.8, 0.6), {}), b=((0.6, 0.8), {}))
    assert list(found(index, top_k=3).items()) == [("a", 0.8), ("b", 0.6), ("z", 0.0)]
    assert list(found(index, top_k=3, min_score=0.1)) == ["a", "b"]


@pytest.mark.row("D3")
@pytest.mark.case("S-082")
def test_nothing_that_is_not_finite_reaches_the_ranking():
    index = build(a=((0.8, 0.6), {}))
    with pytest.raises(ValueError, match="chunk 0 of document 'n'"):
        index.upsert(["n"], [0], [[float("nan"), 1]])
    with pytest.raises(ValueError, match="the query"):
        index.search([float("nan"), 0])
    assert index.search([0, 0]) == [("a", 0, 0.0, 0)]


@pytest.mark.row("G5")
@pytest.mark.case("S-029")
def test_true_is_not_one():
    flags = {"p1": True, "p2": 1, "p3": "true", "p4": 1.0}
    index = build(**{name: ((1, 0), {"flag": flag}) for name, flag in flags.items()})
    assert matching(index, flag=True) == ["p1"]
    assert matching(index, flag=1) == matching(index, flag=1.0) == ["p2", "p4"]
    assert matching(index, flag="true") == ["p3"]


@pytest.mark.row("G5")
@pytest.mark.case("S-030")
def test_a_filter_never_widens_the_page():
    index = build(a=((1, 0), {"good": True}), b=((1, 0), {"good": False}), c=((1, 0), {"good": True}))
    assert matching(index, good=True) == ["a", "c"]
    assert matching(index, missing_key="x") == []
    assert matching(index) == ["a", "b", "c"]


@pytest.mark.row("G5")
@pytest.mark.case("S-032")
def test_equal_instants_match_however_they_are_written():
    at = datetime(2025, 2, 3, 12, 45, 46, tzinfo=UTC)
    index = build(a=((1, 0), {"at": at}))
    assert matching(index, at=at.astimezone(timezone(timedelta(hours=2)))) == ["a"]
    assert matching(index, at=at.replace(tzinfo=None)) == ["a"]
    assert matching(index, at="2025-02-03T12:45:46Z") == []
    assert matching(index, at=at + timedelta(microseconds=1)) == []


@pytest.mark.row("G5")
@pytest.mark.case("S-034")
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_no_metadata(number):
    index = build(a=((1, 0), {"w": 1.5}))
    with pytest.raises(ValueError, match="'w'"):
        index.search([1, 0], metadata_filter={"w": number})
    with pytest.raises(ValueError, match="'w'"):
        index.upsert(["b"], [0], [[1, 0]], [{"w": number}])
    assert list(found(index)) == ["a"]

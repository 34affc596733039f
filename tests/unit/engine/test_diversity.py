"""MMR, the redundancy filter and the reading order, alone: figures, zero vectors, ties, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragstone.engine.arrays import as_matrix, as_vector
from ragstone.engine.rank import MmrPick, Twin, lost_in_the_middle, mmr, redundancy_filter
from ragstone.errors import ConfigurationError, DimensionMismatchError, InvalidInputError, InvalidVectorError

QUERY = [1.0, 0.0]


def at(*degrees):
    """Unit vectors at these angles to the query."""
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees], np.float32)


def order(picks):
    return [pick.index for pick in picks]


@pytest.mark.case("S-023")
@pytest.mark.row("C3")
@pytest.mark.parametrize(("lambda_", "expected", "second"), [(0.9, [0, 1, 2], 0.78039), (0.1, [0, 2, 1], -0.50190)])
def test_lambda_one_means_relevance(lambda_, expected, second):
    picks = mmr(QUERY, at(10, 12, -40), k=3, lambda_=lambda_)
    assert order(picks) == expected
    assert picks[1].value == pytest.approx(second, abs=5e-6)


@pytest.mark.case("S-024")
@pytest.mark.row("C3")
def test_the_result_is_in_the_order_of_picking():
    picks = mmr(QUERY, at(10, 12, -40), k=3, lambda_=0.5)
    assert order(picks) == [0, 2, 1]
    assert picks[1].value == pytest.approx(0.06163, abs=5e-6)
    assert order(mmr(QUERY, at(10, 12, -40), k=2, lambda_=0.5)) == [0, 2]


@pytest.mark.row("C3")
def test_a_pick_says_why():
    first, second = mmr(QUERY, at(10, 60), k=2, lambda_=0.25)
    assert first == MmrPick(0, pytest.approx(math.cos(math.radians(10))), 0.0, pytest.approx(0.25 * first.relevance))
    assert second.redundancy == pytest.approx(math.cos(math.radians(50)))
    assert second.value == 0.25 * second.relevance - 0.75 * second.redundancy


@pytest.mark.row("C3")
def test_both_ends_of_lambda():
    angles = at(50, 5, 30, 170)
    assert order(mmr(QUERY, angles, k=4, lambda_=1.0)) == [1, 2, 0, 3]
    # The most relevant first, then what is farthest from all that was picked.
    assert order(mmr(QUERY, angles, k=4, lambda_=0.0)) == [1, 3, 0, 2]


@pytest.mark.row("C3")
def test_duplicates_come_in_their_order_and_wait_for_others():
    assert order(mmr(QUERY, at(10, 10, 10, -60), k=4, lambda_=0.5)) == [0, 3, 1, 2]
    assert order(mmr(QUERY, at(10, 10, 10), k=2, lambda_=1.0)) == [0, 1]
    assert order(mmr(QUERY, at(0, 0), k=2, lambda_=0.0)) == [0, 1]


@pytest.mark.case("S-022")
@pytest.mark.row("C3")
@pytest.mark.parametrize("lambda_", [0.0, 0.5, 1.0])
def test_a_zero_vector_is_picked_last_and_never_as_nan(lambda_):
    vectors = [[0.0, 0.0], [-1.0, 0.0], [0.8, 0.6], [0.0, 0.0], [-0.6, 0.8]]
    picks = mmr(QUERY, vectors, k=5, lambda_=lambda_)
    assert order(picks)[0] == 2
    assert order(picks)[-2:] == [0, 3]
    assert picks[-1] == MmrPick(3, 0.0, 0.0, 0.0)
    assert not np.isnan(picks).any()


@pytest.mark.case("S-082")
@pytest.mark.row("C3")
def test_what_is_not_finite_is_refused_by_name():
    vectors = np.array([[0.8, 0.6], [math.nan, 1.0]], np.float32)
    with pytest.raises(InvalidVectorError, match="vector 1 holds NaN at position 0"):
        mmr(QUERY, vectors)
    with pytest.raises(InvalidVectorError, match="query_vector holds NaN at position 0"):
        mmr([math.nan, 0.0], vectors[:1])
    with pytest.raises(InvalidVectorError, match="vector 0 holds inf at position 1"):
        redundancy_filter([[0.0, 1e300]])


@pytest.mark.case("S-082")
@pytest.mark.row("C3")
def test_a_zero_query_has_no_relevance_and_does_not_pick_the_zero_vector():
    picks = mmr([0.0, 0.0], [[0.0, 0.0], [0.8, 0.6], [0.6, 0.8]], k=3)
    assert order(picks) == [1, 2, 0]
    assert [pick.relevance for pick in picks] == [0.0, 0.0, 0.0]


@pytest.mark.row("C3")
def test_the_length_of_a_vector_does_not_matter():
    angles = at(10, 12, -40)
    scaled = angles * np.array([[1e-30], [1e30], [7.0]], np.float32)
    for unit, other in zip(mmr(QUERY, angles, k=3), mmr([1e20, 0.0], scaled, k=3), strict=True):
        assert other == pytest.approx(unit, abs=1e-6)


@pytest.mark.row("C3")
def test_arrays_are_read_in_place_or_converted_once():
    matrix = np.random.default_rng(3).standard_normal((40, 24)).astype(np.float32)
    assert np.shares_memory(as_matrix("vectors", matrix), matrix)
    assert np.shares_memory(as_vector("query_vector", matrix[7]), matrix)
    picks = mmr(matrix[0], matrix, k=9)
    before = matrix.copy()
    matrix.flags.writeable = False
    assert mmr(matrix[0], matrix, k=9) == picks
    assert np.array_equal(matrix, before)
    for same in (
        matrix.astype(np.float64),
        np.asfortranarray(matrix),
        np.repeat(matrix, 2, axis=1)[:, ::2],
        matrix.tolist(),
    ):
        assert mmr(matrix[0], same, k=9) == picks


@pytest.mark.row("C3")
def test_more_than_there_are_picks_all():
    assert order(mmr(QUERY, at(10, 80), k=50)) == [0, 1]
    assert mmr(QUERY, []) == mmr(QUERY, np.empty((0, 2), np.float32)) == []


@pytest.mark.row("C3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"k": 2.0}, "k must be an integer"),
        ({"lambda_": 1.5}, "lambda_ must be between 0 and 1, not 1.5"),
        ({"lambda_": math.nan}, "lambda_ must be finite"),
    ],
)
def test_an_option_out_of_range_is_named(options, message):
    with pytest.raises(ConfigurationError, match=message):
        mmr(QUERY, at(10), **options)


@pytest.mark.row("C3", "C4")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mmr([QUERY], at(10)), r"query_vector must have the shape \(dimensions,\), not \(1, 2\)"),
        (lambda: mmr(QUERY, [1.0, 0.0]), r"vectors must have the shape \(n, dimensions\), not \(2,\)"),
        (lambda: mmr(QUERY, [[], []]), r"vectors must have the shape \(n, dimensions\), not \(2, 0\)"),
        (lambda: mmr(QUERY, [[1.0, 2.0], [1.0]]), "vectors must be numbers, all rows of one length"),
        (lambda: mmr(QUERY, [[1j, 0.0]]), "vectors must be real numbers, not complex128"),
        (lambda: redundancy_filter([["a", "b"]]), "vectors must be real numbers, not <U1"),
    ],
)
def test_what_is_no_array_of_vectors_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


@pytest.mark.row("C3")
def test_a_query_of_another_length_is_refused():
    with pytest.raises(DimensionMismatchError, match="query_vector has 3 dimensions instead of 2") as caught:
        mmr([1.0, 0.0, 0.0], at(10))
    assert (caught.value.expected, caught.value.actual) == (2, 3)


@pytest.mark.case("S-025")
@pytest.mark.row("C4")
def test_only_kept_vectors_make_others_redundant():
    kept, dropped = redundancy_filter(at(0, 17, 34), threshold=0.95)
    assert kept == [0, 2]
    assert dropped == [Twin(index=1, twin=0, similarity=pytest.approx(0.9563, abs=5e-5))]


@pytest.mark.row("C4")
def test_reaching_the_threshold_is_enough():
    vectors = np.random.default_rng(8).standard_normal((30, 17)).astype(np.float32)
    kept, dropped = redundancy_filter(np.concatenate([vectors, vectors]), threshold=1.0)
    assert kept == list(range(30))
    assert dropped == [Twin(30 + i, i, 1.0) for i in range(30)]


@pytest.mark.row("C4")
def test_the_twin_is_the_most_similar_of_the_better_ranked():
    assert redundancy_filter(at(0, 20, 14), threshold=0.95) == ([0, 1], [Twin(2, 1, pytest.approx(0.99452, abs=5e-6))])


@pytest.mark.row("C4")
def test_zero_vectors_resemble_nothing():
    assert redundancy_filter([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], threshold=-1.0) == ([0, 1, 2], [])
    assert redundancy_filter([]) == ([], [])


@pytest.mark.row("C4")
@pytest.mark.parametrize("threshold", [1.01, -1.5])
def test_a_threshold_that_is_no_cosine_is_refused(threshold):
    with pytest.raises(ConfigurationError, match="threshold must be between -1 and 1"):
        redundancy_filter(at(0), threshold=threshold)


@pytest.mark.case("S-028")
@pytest.mark.row("C6")
@pytest.mark.parametrize(
    ("ranked", "arranged"),
    [
        ([1, 2, 3, 4, 5, 6], [1, 3, 5, 6, 4, 2]),
        ([1, 2, 3, 4, 5], [1, 3, 5, 4, 2]),
        ([1, 2, 3, 4], [1, 3, 4, 2]),
        ([1, 2], [1, 2]),
        ([1], [1]),
        ([], []),
    ],
)
def test_the_best_stand_at_both_ends(ranked, arranged):
    before = list(ranked)
    assert lost_in_the_middle(ranked) == arranged
    assert lost_in_the_middle(iter(ranked)) == arranged
    assert ranked == before


@pytest.mark.row("C6")
def test_items_are_moved_not_copied():
    items = [object() for _ in range(7)]
    assert all(
        a is b for a, b in zip(lost_in_the_middle(items), [items[i] for i in (0, 2, 4, 6, 5, 3, 1)], strict=True)
    )

"""MMR and the redundancy filter against brute force in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragstone.engine.rank import mmr, redundancy_filter

NUMBER = st.one_of(st.integers(-2, 2).map(float), st.floats(-1, 1, width=32))


@st.composite
def problems(draw):
    rows, dimensions = draw(st.integers(1, 14)), draw(st.integers(1, 20))
    vectors = draw(hnp.arrays(np.float32, (rows, dimensions), elements=NUMBER))
    query = draw(hnp.arrays(np.float32, dimensions, elements=NUMBER))
    return query, vectors


def cosines(a, b):
    """In double precision, 0 where a vector is zero."""
    a, b = np.atleast_2d(a).astype(float), np.atleast_2d(b).astype(float)
    lengths = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)[None, :]
    return np.divide(a @ b.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


@pytest.mark.row("C3")
@given(problem=problems(), k=st.integers(1, 16), lambda_=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)))
def test_every_pick_is_the_best_that_was_left(problem, k, lambda_):
    query, vectors = problem
    relevance, among = cosines(query, vectors)[0], cosines(vectors, vectors)
    zero = ~vectors.any(axis=1)
    picks = mmr(query, vectors, k=k, lambda_=lambda_)
    assert len(picks) == len({pick.index for pick in picks}) == min(k, len(vectors))
    chosen: list[int] = []
    for pick in picks:
        redundancy = among[:, chosen].max(axis=1) if chosen else np.zeros(len(vectors))
        values = lambda_ * relevance - (1 - lambda_) * redundancy
        left = [i for i in range(len(vectors)) if i not in chosen and not zero[i]]
        if left:
            assert pick.value >= max(values[i] for i in left) - 1e-9
            assert pick[1:] == pytest.approx(
                (relevance[pick.index], redundancy[pick.index], values[pick.index]), abs=1e-9
            )
        else:
            assert pick == (next(i for i in range(len(vectors)) if zero[i] and i not in chosen), 0.0, 0.0, 0.0)
        chosen.append(pick.index)


@pytest.mark.row("C4")
@given(problem=problems(), threshold=st.floats(-1, 1))
def test_kept_ones_differ_and_dropped_ones_have_their_nearest_twin(problem, threshold):
    _, vectors = problem
    among = cosines(vectors, vectors)
    directed = vectors.any(axis=1)
    kept, dropped = redundancy_filter(vectors, threshold=threshold)
    assert sorted(kept + [twin.index for twin in dropped]) == list(range(len(vectors)))
    assert kept == sorted(kept)
    for index in kept:
        before = [other for other in kept if other < index and directed[other] and directed[index]]
        assert all(among[index, other] < threshold + 1e-9 for other in before)
    for twin in dropped:
        before = [other for other in kept if other < twin.index and directed[other]]
        assert twin.twin in before
        assert twin.similarity == pytest.approx(max(among[twin.index, other] for other in before), abs=1e-9)
        assert twin.similarity >= threshold

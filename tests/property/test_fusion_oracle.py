"""Fusion against its definition, in plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.rank import relative_score_fusion, rrf

IDS = st.one_of(
    st.integers(-3, 6), st.sampled_from(["a", "b", "é", "", "doc-1"]), st.tuples(st.just("d"), st.integers(0, 3))
)
RANKINGS = st.lists(st.lists(IDS, max_size=10), min_size=1, max_size=5)
WEIGHT = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-3, 1e3))
SCORE = st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1e6, 1e6))


def weights_for(draw, rankings):
    return draw(st.lists(WEIGHT, min_size=len(rankings), max_size=len(rankings)).filter(any))


def by_definition(rankings, weights, part):
    """(id, score, contributions) of every id that a ranking of some weight holds; ties by first appearance."""
    distinct = [list(dict.fromkeys(ranking)) for ranking in rankings]
    named = dict.fromkeys(name for ranking, weight in zip(distinct, weights, strict=True) if weight for name in ranking)
    rows = []
    for name in named:
        contributions = [
            part(i, ranking.index(name)) if weights[i] and name in ranking else 0.0
            for i, ranking in enumerate(distinct)
        ]
        score = 0.0
        for contribution in contributions:
            score += contribution
        rows.append((name, score, tuple(contributions)))
    return sorted(rows, key=lambda row: -row[1])


@pytest.mark.row("C1")
@given(rankings=RANKINGS, k=st.one_of(st.just(60), st.floats(1, 1000)), data=st.data())
def test_rrf_is_its_definition(rankings, k, data):
    weights = weights_for(data.draw, rankings)
    fused = rrf(rankings, k=k, weights=weights)
    assert [tuple(item) for item in fused] == by_definition(
        rankings, weights, lambda i, place: weights[i] / (k + (place + 1))
    )


@pytest.mark.row("C8")
@given(rankings=RANKINGS, data=st.data())
def test_relative_score_fusion_is_its_definition(rankings, data):
    weights = weights_for(data.draw, rankings)
    scores = [data.draw(st.lists(SCORE, min_size=len(r), max_size=len(r))) for r in rankings]
    firsts = [dict(reversed(list(zip(r, s, strict=True)))) for r, s in zip(rankings, scores, strict=True)]
    total = 0.0
    for weight in weights:
        total += weight

    def part(i, place):
        column = [firsts[i][name] for name in dict.fromkeys(rankings[i])]
        low, high = min(column), max(column)
        return weights[i] / total * (1.0 if low == high else (column[place] - low) / (high - low))

    fused = relative_score_fusion(rankings, scores, weights=weights)
    assert [tuple(item) for item in fused] == by_definition(rankings, weights, part)
    assert all(0.0 <= item.score <= 1.0 + 1e-12 for item in fused)

"""Merging the rankings of several queries, and the mean of hypotheses, against plain arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ragstone.models import RankingEvidence, ScoreScale, TextChunk
from ragstone.retrieval.candidate import Candidate, Candidates
from ragstone.retrieval.rankings import NamedRanking, merge
from ragstone.retrieval.stages.hyde import unit_mean

KEYS = st.tuples(st.sampled_from(["a", "b", "ä", "c"]), st.integers(0, 4))


def candidates(keys, *, stage=None):
    made = [Candidate(TextChunk("text", *key), 1.0 - place / 100, ScoreScale.BM25) for place, key in enumerate(keys)]
    return made if stage is None else [candidate.dropped(stage, "why") for candidate in made]


@st.composite
def rankings(draw):
    made = []
    for number in range(draw(st.integers(1, 5))):
        keys = draw(st.lists(KEYS, unique=True, max_size=12))
        cut = draw(st.integers(0, len(keys)))
        found = Candidates(
            kept=candidates(keys[:cut]),
            dropped=candidates(keys[cut:], stage=f"stage {number}"),
            exhausted=draw(st.booleans()),
            bounded=draw(st.booleans()),
            warnings=tuple(draw(st.lists(st.sampled_from(["x", "y"]), max_size=2))),
        )
        made.append(NamedRanking(f"query {number}", found))
    return made


@pytest.mark.row("F2")
@pytest.mark.row("F7")
@given(rankings(), st.booleans())
def test_merging_adds_up_reciprocal_ranks(made, complete):
    merged = merge("sub_query", made, complete=complete)
    scores: dict[tuple[str, int], float] = {}
    for ranking in made:
        for rank, candidate in enumerate(ranking.found.kept, start=1):
            scores[candidate.key] = scores.get(candidate.key, 0.0) + 1 / (60 + rank)
    if any(ranking.found.kept for ranking in made[1:]):
        assert [candidate.key for candidate in merged.kept] == sorted(scores, key=lambda key: (-scores[key], key))
        for candidate in merged.kept:
            evidence = [item for item in candidate.evidence if isinstance(item, RankingEvidence)]
            assert candidate.score == scores[candidate.key]
            assert [item.name for item in evidence] == [
                ranking.name for ranking in made if candidate.key in {held.key for held in ranking.found.kept}
            ]
            total = 0.0
            for item in evidence:
                total += item.contribution
            assert total == candidate.score
    else:
        assert merged.kept == made[0].found.kept
        assert merged.dropped == made[0].found.dropped
    kept, dropped = {c.key for c in merged.kept}, [c.key for c in merged.dropped]
    assert len(dropped) == len(set(dropped))
    assert not kept & set(dropped)
    assert merged.exhausted == (complete and all(ranking.found.exhausted for ranking in made))
    assert merged.bounded == all(ranking.found.exhausted or ranking.found.bounded for ranking in made)
    assert set(merged.warnings) == {warning for ranking in made for warning in ranking.found.warnings}
    assert len(set(merged.warnings)) == len(merged.warnings)


VECTORS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.floats(-1e3, 1e3, width=32, allow_nan=False),
)


@pytest.mark.row("F1")
@given(VECTORS)
def test_the_mean_has_unit_length_or_there_is_none(vectors):
    mean = [math.fsum(map(float, column)) / len(vectors) for column in vectors.T]
    length = math.sqrt(math.fsum(value * value for value in mean))
    longest = max(math.sqrt(math.fsum(float(value) ** 2 for value in row)) for row in vectors)
    unit = unit_mean(vectors)
    if length > 1.01e-6 * longest:
        assert unit is not None
        assert unit == pytest.approx([value / length for value in mean], abs=1e-5)
        assert unit.dtype == np.float32
    elif length < 0.99e-6 * longest or longest == 0.0:
        assert unit is None

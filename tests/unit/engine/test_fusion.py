"""Reciprocal rank fusion and relative score fusion, alone: figures, ties, ids of every kind, and what is refused."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from ragstone.engine.rank import Fused, relative_score_fusion, rrf
from ragstone.errors import ConfigurationError, InvalidInputError
from ragstone.models import ChunkKey, TextChunk


def scores(fused):
    return {item.id: pytest.approx(item.score, abs=5e-9) for item in fused}


def ids(fused):
    return [item.id for item in fused]


@pytest.mark.case("S-015")
@pytest.mark.row("C1")
def test_ranks_count_from_one():
    assert scores(rrf([["A", "B", "C"]])) == {"A": 0.01639344, "B": 0.01612903, "C": 0.01587302}
    both = rrf([["A", "B"], ["B", "A"]])
    assert scores(both) == {"A": 0.03252247, "B": 0.03252247}
    assert ids(both) == ["A", "B"]


@pytest.mark.case("S-016")
@pytest.mark.row("C2")
def test_weights_reach_every_contribution():
    dense, keyword = ["A", "B", "C"], ["C", "D", "A"]
    fused = rrf([dense, keyword], weights=[0.7, 0.3])
    assert ids(fused) == ["A", "C", "B", "D"]
    assert scores(fused) == {"A": 0.01623731, "C": 0.01602914, "B": 0.01129032, "D": 0.00483871}
    equal = scores(rrf([dense, keyword]))
    assert equal["A"] == equal["C"] == 0.03226646
    assert ids(rrf([dense, keyword], weights=[0.3, 0.7])) == ["C", "A", "D", "B"]


@pytest.mark.case("S-017")
@pytest.mark.row("C1")
def test_identity_is_the_key_never_the_text():
    text = "Returns accepted for 30 days"
    d1, d2 = TextChunk(text, "d1", 0, metadata={"region": "eu"}), TextChunk(text, "d2", 0, metadata={"region": "us"})
    other = TextChunk("Opening hours", "e", 0)
    chunks = {chunk.key: chunk for chunk in (d1, d2, other)}
    fused = rrf([[d1.key, other.key], [d2.key, d1.key]])
    assert scores(fused) == {d1.key: 0.03252247, d2.key: 0.01639344, other.key: 0.01612903}
    assert [chunks[key].metadata.get("region") for key in ids(fused)] == ["eu", "us", None]


@pytest.mark.case("S-018")
@pytest.mark.row("C1")
def test_equal_keys_of_different_number_types_are_one_id():
    raw = [ChunkKey("h", 4), ChunkKey("h", np.int64(4)), ChunkKey("h", 4.0)]
    fused = rrf([[key] for key in raw])
    assert [(item.id, item.score) for item in fused] == [(("h", 4), pytest.approx(3 / 61))]
    through_chunks = rrf([[TextChunk("t", "h", key.chunk_index).key] for key in raw])
    assert scores(through_chunks) == {ChunkKey("h", 4): 0.04918033}


@pytest.mark.case("S-019")
@pytest.mark.row("C1")
def test_a_ranking_counts_an_id_once():
    fused = rrf([["D", "D", "E"], ["E"]])
    assert ids(fused) == ["E", "D"]
    assert scores(fused) == {"E": 1 / 62 + 1 / 61, "D": 0.01639344}


@pytest.mark.case("S-020")
@pytest.mark.row("C1")
def test_ties_come_out_the_same_in_every_process():
    program = (
        "from ragstone.engine.rank import rrf\n"
        "for rankings in ([['A', 'B', 'x'], ['B', 'A', 'y'], ['z']], [list('cafed')] * 3):\n"
        "    print(*(item.id for item in rrf(rankings)))\n"
    )
    path = os.pathsep.join(sys.path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(20)
    ]
    printed = {process.communicate(timeout=120)[0] for process in processes}
    assert printed == {"A B z x y\nc a f e d\n"}


@pytest.mark.case("S-021")
@pytest.mark.row("C1")
def test_what_one_arm_alone_found_is_kept():
    dense = [key for key, similarity in [("x", 0.90), ("y", 0.65), ("w", 0.30)] if similarity >= 0.6]
    fused = rrf([dense, ["z", "x"]])
    assert ids(fused) == ["x", "z", "y"]
    assert scores(fused) == {"x": 0.03252247, "z": 0.01639344, "y": 0.01612903}


@pytest.mark.row("C1")
def test_the_page_is_the_head_of_the_whole():
    rankings = [["a", "b", "c"], ["c", "d"], ["b"]]
    assert rrf(rankings, top_k=2) == rrf(rankings)[:2]
    assert rrf(rankings, top_k=50) == rrf(rankings)
    assert relative_score_fusion([["a", "b"]], [[1.0, 2.0]], top_k=1) == [Fused("b", 1.0, (1.0,))]


@pytest.mark.row("C1")
def test_a_ranking_is_a_sequence_whose_items_are_made_on_demand():
    ranking = rrf([["a", "b", "c"], ["c"]])
    items = list(ranking)
    assert ranking.ids() == [item.id for item in items] == ["c", "a", "b"]
    assert ranking.scores() == [item.score for item in items]
    assert [ranking[place] for place in range(3)] == items == [ranking[place] for place in (-3, -2, -1)]
    assert ranking[1:] == items[1:]
    assert ranking[::-1] == items[::-1]
    assert isinstance(ranking[0], Fused)
    assert pickle.loads(pickle.dumps(ranking)) == items
    assert ranking != items[:2]
    assert ranking != 3
    assert repr(ranking) == repr(items)
    for place in (3, -4, 2**70):
        with pytest.raises(IndexError):
            ranking[place]


@pytest.mark.row("C1", "C8")
def test_contributions_add_up_to_the_score_exactly():
    rankings = [[f"d{(i * step) % 97}" for i in range(60)] for step in (1, 5, 11, 29)]
    weights = [0.4, 0.3, 0.7, 1.1]
    marks = [[math.sin(i * 7.0 + list_) for i in range(60)] for list_ in range(4)]
    for fused in (rrf(rankings, weights=weights), relative_score_fusion(rankings, marks, weights=weights)):
        assert len(fused) > 60
        for item in fused:
            total = 0.0
            for contribution in item.contributions:
                total += contribution
            assert total == item.score


@pytest.mark.row("C1", "C2", "C8")
def test_a_ranking_of_weight_zero_is_as_good_as_absent():
    first, second = ["n", "b", "a"], ["a", "b"]
    assert ids(rrf([first, second], weights=[0, 2])) == ["a", "b"]
    assert rrf([first, second], weights=[0, 2]) == [
        Fused("a", 2 / 61, (0.0, 2 / 61)),
        Fused("b", 2 / 62, (0.0, 2 / 62)),
    ]
    fused = relative_score_fusion([first, second], [[3.0, 2.0, 1.0], [9.0, 8.0]], weights=[0, 5])
    assert fused == [Fused("a", 1.0, (0.0, 1.0)), Fused("b", 0.0, (0.0, 0.0))]


@pytest.mark.row("C1")
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint64])
def test_integer_arrays_are_rankings(dtype):
    lists = [[3, 1, 2], [2, 9, 3, 3]]
    fused = rrf([np.array(ranking, dtype) for ranking in lists])
    assert fused == rrf(lists)
    assert {type(item.id) for item in fused} == {int}


@pytest.mark.row("C1")
def test_arrays_may_be_strided_and_stand_beside_lists():
    strided = np.array([[3, 0], [1, 0], [2, 0]])[:, 0]
    assert rrf([strided, strided[::-1]]) == rrf([[3, 1, 2], [2, 1, 3]])
    mixed = rrf([strided, ["x", 1], np.array(["x", "y"])])
    assert mixed == rrf([[3, 1, 2], ["x", 1], ["x", "y"]])
    assert {type(item.id) for item in mixed} == {int, str}
    assert rrf([np.array([2**63 + 1, 7], np.uint64)])[0].id == 2**63 + 1


@pytest.mark.row("C1")
def test_ids_of_one_hash_stay_apart():
    assert hash(-1) == hash(-2)
    assert ids(rrf([[-1, -2, 5], [-2], [-2]])) == [-2, -1, 5]


@pytest.mark.row("C1")
def test_nothing_fuses_to_nothing():
    assert rrf([]) == rrf([[], []]) == rrf([np.array([], np.int64)]) == relative_score_fusion([], []) == []
    assert ids(rrf([[], ["a"]])) == ["a"]


@pytest.mark.row("C8")
def test_relative_scores_are_scaled_weighed_and_added():
    dense, keyword = ["a", "b", "c"], ["c", "d"]
    fused = relative_score_fusion([dense, keyword], [[0.9, 0.6, 0.4], [12.0, 3.0]], weights=[3, 1])
    assert ids(fused) == ["a", "b", "c", "d"]
    assert [item.contributions for item in fused] == [
        (0.75, 0.0),
        (pytest.approx(0.75 * 0.4), 0.0),
        (0.0, 0.25),
        (0.0, 0.0),
    ]


@pytest.mark.row("C8")
def test_a_list_that_cannot_tell_its_hits_apart_gives_each_its_full_share():
    fused = relative_score_fusion([["a"], ["b", "c"], []], [[-5.0], [0.3, 0.3], []], weights=[1, 1, 2])
    assert fused == [
        Fused("a", 0.25, (0.25, 0.0, 0.0)),
        Fused("b", 0.25, (0.0, 0.25, 0.0)),
        Fused("c", 0.25, (0.0, 0.25, 0.0)),
    ]


@pytest.mark.row("C8")
def test_a_repeat_does_not_stretch_the_scale():
    fused = relative_score_fusion([["a", "b", "a"]], [np.array([4.0, 2.0, -100.0])])
    assert [(item.id, item.score) for item in fused] == [("a", 1.0), ("b", 0.0)]


@pytest.mark.row("C1", "C2")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0.5}, "k must be a finite number of at least 1, not 0.5"),
        ({"k": math.nan}, "k must be finite"),
        ({"k": "60"}, "k must be a number, not '60'"),
        ({"weights": [1.0, -2.0]}, "weights must be finite and at least 0, not -2 at position 1"),
        ({"weights": [math.inf, 1.0]}, r"weights\[0\] must be finite"),
        ({"weights": [0.0, 0]}, "weights must be above 0 for at least one ranking, not all 0"),
        ({"top_k": 0}, "top_k must be at least 1, not 0"),
    ],
)
def test_an_option_out_of_range_is_named(options, message):
    with pytest.raises(ConfigurationError, match=message):
        rrf([["a"], ["b"]], **options)


@pytest.mark.row("C1", "C8")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rrf([["a"], ["b"]], weights=[1.0]), "1 came for 2 rankings"),
        (lambda: rrf(["ab", ["b"]]), r"rankings\[0\] must be a sequence of ids, not a str"),
        (lambda: rrf([np.zeros((2, 2), int)]), r"rankings\[0\] must have one dimension, not the shape \(2, 2\)"),
        (lambda: rrf([["a"], ["b", ["c"]]]), r"rankings\[1\]\[1\] is a list: an id must be hashable"),
        (lambda: relative_score_fusion([["a"]], [[math.nan]]), r"scores\[0\]\[0\] is NaN: every score must be finite"),
        (lambda: relative_score_fusion([["a"]], [[math.inf]]), r"scores\[0\]\[0\] is inf"),
        (lambda: relative_score_fusion([["a"]], [[1.0, 2.0]]), r"scores\[0\] holds 2 scores for 1 ids"),
        (lambda: relative_score_fusion([["a"]], []), "0 came for 1 rankings"),
        (lambda: relative_score_fusion([["a"]], [["high"]]), "scores must be one list of numbers a ranking"),
        (
            lambda: relative_score_fusion([["a"]], [[[1.0]]]),
            r"scores\[0\] must have one dimension, not the shape \(1, 1\)",
        ),
    ],
)
def test_input_that_does_not_fit_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()

"""Sequences whose items are made when they are looked at, and the record that is kept in one."""

from __future__ import annotations

import copy
import pickle

import pytest

from ragstone.models import ScoreScale
from ragstone.options import RetrievalOptions
from ragstone.retrieval.lazy import LazySequence
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit


def squares(made):
    def square(number):
        made.append(number)
        return number * number

    return LazySequence(square, range(6))


def test_only_what_is_looked_at_is_made():
    made: list[int] = []
    sequence = squares(made)
    tail = sequence[2:]
    assert (len(sequence), len(tail), made) == (6, 4, [])
    assert (sequence[3], sequence[-1], tail[0]) == (9, 25, 4)
    assert made == [3, 5, 2]


def test_it_reads_like_a_tuple():
    sequence = squares([])
    assert list(sequence) == [0, 1, 4, 9, 16, 25]
    assert list(sequence[1:5:2]) == [1, 9]
    assert sequence == (0, 1, 4, 9, 16, 25) == sequence
    assert sequence != (0, 1, 4)
    assert sequence != 0
    assert 16 in sequence
    assert repr(sequence[:2]) == "(0, 1)"
    assert pickle.loads(pickle.dumps(sequence[:2])) == (0, 1) == copy.deepcopy(sequence[:2])
    with pytest.raises(IndexError):
        sequence[6]


@pytest.mark.row("C1", "I1")
async def test_the_record_of_a_hybrid_page_survives_a_pickle_whole():
    dense = [hit(f"d{i:02}", 1 - i / 100) for i in range(30)]
    keyword = [hit(f"d{i * 2:02}", 9 - i / 10, ScoreScale.BM25) for i in range(30)]
    searching = Retriever(
        RetrievalParts(
            store=ScriptedStore(dense),
            keyword_index=ScriptedKeywordIndex(keyword),
            embedder=TableEmbedder({}, default=[1.0]),
        )
    )
    page = await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, top_k=5))
    restored = pickle.loads(pickle.dumps(page))
    assert restored.to_dict() == page.to_dict()
    assert len(page.dropped) == 40
    assert [item.drop.reason for item in page.dropped[:2]] == [
        "rank 6 is beyond top_k 5",
        "rank 7 is beyond top_k 5",
    ]
    for item in page.dropped:
        total = 0.0
        for evidence in item.result.evidence:
            total += evidence.contribution
        assert total == item.result.score

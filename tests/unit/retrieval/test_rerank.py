"""Reranking: who is scored, what the scores do, and what happens when the reranker cannot."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys

import pytest

from ragstone.errors import CapabilityError, ConfigurationError
from ragstone.models import ChunkKey, RerankEvidence, ScoreScale
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.retrieval.planning import Cost
from ragstone.retrieval.stages.rerank import Reranking
from ragstone.testing import FailingReranker, ScriptedReranker
from support.parts import names, searching
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit


def ladder(count):
    return [hit(f"c{i:02}", 1 - i / 1000) for i in range(count)]


@pytest.mark.row("G4")
async def test_the_rerankers_score_takes_the_place_of_the_score_and_its_scale_is_named():
    page = await searching(ladder(3), reranker=ScriptedReranker([0.1, 7.5, -2.0])).retrieve("q", RetrievalOptions())
    assert [(r.chunk.document_id, r.score, r.score_scale) for r in page] == [
        ("c01", 7.5, ScoreScale.RERANK),
        ("c00", 0.1, ScoreScale.RERANK),
        ("c02", -2.0, ScoreScale.RERANK),
    ]
    assert page[0].evidence[-1] == RerankEvidence(
        reranker="ragstone.testing.ScriptedReranker",
        score=7.5,
        rank_before=2,
        score_before=0.999,
        scale_before=ScoreScale.SIMILARITY,
    )
    assert not page.warnings


@pytest.mark.case("S-049")
@pytest.mark.row("G4")
async def test_equal_texts_of_different_documents_keep_their_own_scores_and_metadata():
    hits = [
        hit("k1", 0.9, text="same", origin="one"),
        hit("k2", 0.8, text="same", origin="two"),
        hit("k3", 0.7, text="best", origin="three"),
    ]
    reranker = ScriptedReranker(lambda query, texts: [{"same": 0.1, "best": 0.9}[text] for text in texts])
    page = await searching(hits, reranker=reranker).retrieve("q", RetrievalOptions())
    assert [(r.chunk.key, r.score, r.chunk.metadata["origin"]) for r in page] == [
        (ChunkKey("k3", 0), 0.9, "three"),
        (ChunkKey("k1", 0), 0.1, "one"),
        (ChunkKey("k2", 0), 0.1, "two"),
    ]
    assert reranker.requests[0].texts == ("same", "same", "best")


@pytest.mark.case("S-050")
@pytest.mark.row("G4")
async def test_a_reranker_that_fails_leaves_order_scores_and_objects_with_one_warning(caplog):
    hits = [hit("c1", 0.7), hit("c2", 0.6), hit("c3", 0.5)]
    before = list(hits)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching(hits, reranker=FailingReranker()).retrieve("q", RetrievalOptions(top_k=2))
    assert [(r.chunk.document_id, r.score, r.score_scale) for r in page] == [
        ("c1", 0.7, ScoreScale.SIMILARITY),
        ("c2", 0.6, ScoreScale.SIMILARITY),
    ]
    assert hits == before
    assert page.warnings == (
        "the reranker failed and the order stays as it was: RerankError: the reranker failed, as the test told it to",
    )
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["rerank_failed"]


@pytest.mark.row("G4")
@pytest.mark.parametrize("options", [{}, {"use_redundancy_filter": True}, {"use_mmr": True}])
async def test_a_reranker_that_failed_is_not_asked_again_in_the_same_call(options):
    reranker = FailingReranker(OSError("the text of a document"))
    page = await searching(ladder(40), reranker=reranker).retrieve("q", RetrievalOptions(**options))
    assert reranker.calls == 1
    assert page.warnings == ("the reranker failed and the order stays as it was: OSError",)


@pytest.mark.case("S-086")
@pytest.mark.row("G4")
async def test_what_the_reranker_left_without_a_score_comes_last_in_its_own_order():
    partial = ScriptedReranker(lambda query, texts: [None, 0.2, None, None, 0.9])
    page = await searching(ladder(5), reranker=partial).retrieve("q", RetrievalOptions())
    assert [(r.chunk.document_id, r.score) for r in page] == [
        ("c04", 0.9),
        ("c01", 0.2),
        ("c00", 1.0),
        ("c02", 0.998),
        ("c03", 0.997),
    ]
    assert [r.score_scale for r in page] == [ScoreScale.RERANK] * 2 + [ScoreScale.SIMILARITY] * 3
    assert page.warnings == ("the reranker left 3 of 5 candidates without a score: they come last",)


@pytest.mark.case("S-086")
@pytest.mark.row("G4")
@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([0.9, 0.1], "5 texts went in and 2 scores came back"),
        ([0.9] * 6, "5 texts went in and 6 scores came back"),
        ([0.3, 0.1, math.nan, 0.2, 0.0], "a score is NaN or infinite"),
        ([0.3, 0.1, math.inf, 0.2, 0.0], "a score is NaN or infinite"),
        ([None] * 5, "no text was given a score"),
        (["high"] * 5, "ValueError"),
        (7, "TypeError"),
    ],
)
async def test_an_answer_that_does_not_fit_is_a_failure(scores, reason):
    reranker = ScriptedReranker(lambda query, texts: scores)
    page = await searching(ladder(5), reranker=reranker).retrieve("q", RetrievalOptions())
    assert names(page) == ["c00", "c01", "c02", "c03", "c04"]
    assert reason in page.warnings[0]
    assert len(page.warnings) == 1


@pytest.mark.case("S-020")
@pytest.mark.row("G4")
@pytest.mark.row("A6")
async def test_equal_scores_keep_the_incoming_order_and_are_reported():
    reranker = ScriptedReranker([0.5] * 6)
    page = await searching(ladder(6), reranker=reranker).retrieve("q", RetrievalOptions(top_k=6))
    assert names(page) == [f"c{i:02}" for i in range(6)]
    assert page.warnings == ("the reranker gave all 6 candidates the same score, so it changes nothing",)
    alone = await searching(ladder(1), reranker=reranker).retrieve("q", RetrievalOptions())
    assert not alone.warnings


@pytest.mark.case("S-020")
def test_the_order_of_equal_scores_is_the_same_in_every_process():
    program = (
        "import asyncio\n"
        "from support.parts import names, searching\n"
        "from support.retrieval import hit\n"
        "from ragstone.options import RetrievalOptions\n"
        "from ragstone.testing import ScriptedReranker\n"
        "hits = [hit(f'c{i}', 1 - i / 10) for i in range(1, 7)]\n"
        "page = searching(hits, reranker=ScriptedReranker([0.5] * 6)).retrieve('q', RetrievalOptions(top_k=6))\n"
        "print(names(asyncio.run(page)))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert printed == {"['c1', 'c2', 'c3', 'c4', 'c5', 'c6']\n"}


@pytest.mark.row("G4")
@pytest.mark.parametrize(
    ("options", "seen"),
    [({}, 15), ({"top_k": 2}, 6), ({"candidate_count": 30}, 30), ({"candidate_count": 3}, 5), ({"use_mmr": True}, 15)],
)
async def test_it_sees_three_times_top_k_candidates_or_as_many_as_told(options, seen):
    store, reranker = ScriptedStore(ladder(100)), ScriptedReranker(lambda query, texts: list(range(len(texts))))
    page = await searching([], store=store, reranker=reranker).retrieve("q", RetrievalOptions(**options))
    assert [search.top_k for search in store.searches] == [seen]
    assert [len(request.texts) for request in reranker.requests] == [seen]
    assert len(page) == options.get("top_k", 5)
    assert page[0].chunk.document_id == f"c{seen - 1:02}"


@pytest.mark.row("G4")
async def test_only_what_was_scored_competes_and_the_rest_is_dropped():
    keyword = ScriptedKeywordIndex([hit(f"k{i:02}", 9 - i / 10, ScoreScale.BM25) for i in range(50)])
    reranker = ScriptedReranker(lambda query, texts: [-9.0 - i for i in range(len(texts))])
    options = RetrievalOptions(top_k=2, use_hybrid_search=True)
    page = await searching(ladder(50), keyword_index=keyword, reranker=reranker).retrieve("q", options)
    assert [len(request.texts) for request in reranker.requests] == [6]
    assert {r.score_scale for r in page} == {ScoreScale.RERANK}
    by = [(d.drop.stage, d.drop.reason) for d in page.dropped]
    assert by.count(("rerank", "not among the 6 that were reranked")) == 94
    assert not page.exhausted


@pytest.mark.row("G4")
async def test_a_stage_outside_that_runs_short_gets_more_scored_and_nothing_twice():
    hits = [hit(f"c{i:02}", 1 - i / 1000) for i in range(60)]
    table = {h.chunk.text: (1.0, 0.0) if i < 30 else (math.cos(i), math.sin(i)) for i, h in enumerate(hits)}
    reranker = ScriptedReranker(lambda query, texts: [-float(text[-2:]) for text in texts])
    retriever = searching(hits, embedder=TableEmbedder(table), reranker=reranker)
    page = await retriever.retrieve("q", RetrievalOptions(top_k=5, use_redundancy_filter=True))
    assert len(page) == 5
    texts = [text for request in reranker.requests for text in request.texts]
    assert len(texts) == len(set(texts)) == 60
    assert [len(request.texts) for request in reranker.requests] == [15, 45]
    scores = [r.score for r in page]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.row("G4")
async def test_a_full_window_does_not_end_the_search_while_candidates_wait_unscored():
    """Forty chunks are all there is; the first pool is of twins, the others were found and not scored."""
    hits = [hit(f"c{i:02}", 1 - i / 1000) for i in range(40)]
    table = {h.chunk.text: (1.0, 0.0) if i < 30 else (math.cos(i), math.sin(i)) for i, h in enumerate(hits)}
    retriever = searching(
        hits, embedder=TableEmbedder(table), keyword_index=ScriptedKeywordIndex([]), reranker=ScriptedReranker()
    )
    options = RetrievalOptions(top_k=3, use_redundancy_filter=True, use_hybrid_search=True)
    assert len(await retriever.retrieve("q", options)) == 3


@pytest.mark.row("G4")
async def test_candidate_count_means_nothing_without_a_reranker_or_when_it_is_switched_off():
    store, reranker = ScriptedStore(ladder(100)), ScriptedReranker()
    without = searching([], store=store)
    await without.retrieve("q", RetrievalOptions(candidate_count=50))
    off = searching([], store=store, reranker=reranker)
    page = await off.retrieve("q", RetrievalOptions(candidate_count=50, use_reranking=False))
    assert [search.top_k for search in store.searches] == [5, 5]
    assert reranker.calls == 0
    assert {r.score_scale for r in page} == {ScoreScale.SIMILARITY}
    for count in (0, -1, 2.5, True):
        with pytest.raises(ConfigurationError, match="candidate_count"):
            RetrievalOptions(candidate_count=count)


@pytest.mark.row("G4")
async def test_an_empty_page_asks_nobody():
    reranker = ScriptedReranker()
    page = await searching([], reranker=reranker).retrieve("q", RetrievalOptions())
    assert (len(page), reranker.calls, page.warnings) == (0, 0, ())


class Illiterate(ScriptedReranker):
    def __init__(self, share):
        super().__init__([0.3, 0.2, 0.1])
        self.share = share
        self.asked = []

    def unknown_share(self, texts):
        self.asked.append(tuple(texts))
        return self.share


@pytest.mark.row("G4")
@pytest.mark.parametrize(("share", "warned"), [(0.5, False), (0.51, True), (1.0, True)])
async def test_a_model_that_knows_few_of_the_words_is_reported(share, warned, caplog):
    reranker = Illiterate(share)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching(ladder(3), reranker=reranker).retrieve("wie lang?", RetrievalOptions())
    assert reranker.asked == [("wie lang?", "text of c00", "text of c01", "text of c02")]
    assert names(page) == ["c00", "c01", "c02"]
    assert bool(page.warnings) is warned
    assert ("rerank_unknown_words" in caplog.text) is warned
    if warned:
        assert f"{share:.0%} of the tokens are unknown to the reranker" in page.warnings[0]


@pytest.mark.row("G4")
@pytest.mark.parametrize("error", [CapabilityError("the model file is gone"), ConfigurationError("no such model")])
async def test_a_fault_of_the_set_up_is_not_papered_over(error):
    with pytest.raises(type(error), match=str(error)):
        await searching(ladder(3), reranker=FailingReranker(error)).retrieve("q", RetrievalOptions())


@pytest.mark.row("G4")
async def test_the_explanation_tells_the_rank_before():
    page = await searching(ladder(3), reranker=ScriptedReranker([0.1, 0.2, 0.3])).retrieve("q", RetrievalOptions())
    assert "reranked 0.3, was rank 3 (0.998 similarity)" in " ".join(str(page.explain()).split())


def test_the_cost_is_one_request_at_the_depth_of_the_pool():
    depths = []

    def inner(depth):
        depths.append(depth)
        return Cost(embedding_calls=1)

    stage = Reranking(ScriptedReranker(), 15)
    assert stage.cost(5, inner) == stage.cost(60, inner) == Cost(rerank_calls=1, embedding_calls=1)
    assert depths == [15, 60]


async def test_a_window_of_the_caller_bounds_the_pool():
    options = RetrievalOptions(use_hybrid_search=True, ensemble_options=EnsembleOptions(window=4))
    reranker = ScriptedReranker()
    await searching(ladder(50), reranker=reranker).retrieve("c", options)
    assert [len(request.texts) for request in reranker.requests] == [4]

"""The arms, their fusion, and what happens when one of them fails."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import CapabilityError, DimensionMismatchError, InvalidInputError, StoreError
from ragstone.models import ArmEvidence, ScoreScale, SearchResult, TextChunk
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.retrieval.fusion import ArmHits, fuse
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit

BM25 = ScoreScale.BM25
HYBRID = RetrievalOptions(use_hybrid_search=True)


def hybrid(dense, keyword):
    store = dense if isinstance(dense, ScriptedStore) else ScriptedStore(dense)
    index = keyword if isinstance(keyword, ScriptedKeywordIndex) else ScriptedKeywordIndex(keyword)
    return Retriever(RetrievalParts(store=store, keyword_index=index, embedder=TableEmbedder({})))


def ids(page):
    return [result.chunk.document_id for result in page]


@pytest.mark.row("E6")
@pytest.mark.case("S-021")
async def test_the_threshold_cuts_the_dense_arm_and_neither_keywords_nor_fused_scores():
    searching = hybrid([hit("x", 0.90), hit("y", 0.65), hit("w", 0.30)], [hit("z", 5.0, BM25), hit("x", 4.0, BM25)])
    page = await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, min_score=0.6))
    assert [(r.chunk.document_id, pytest.approx(r.score, abs=5e-9)) for r in page] == [
        ("x", 0.03252247),
        ("z", 0.01639344),
        ("y", 0.01612903),
    ]


@pytest.mark.row("C2")
@pytest.mark.case("S-016")
@pytest.mark.parametrize(("weights", "order"), [((0.7, 0.3), ["A", "C", "B", "D"]), ((0.3, 0.7), ["C", "A", "D", "B"])])
async def test_weights_reach_each_arms_contribution(weights, order):
    searching = hybrid(
        [hit("A", 0.9), hit("B", 0.8), hit("C", 0.7)], [hit("C", 3.0, BM25), hit("D", 2.0, BM25), hit("A", 1.0, BM25)]
    )
    ensemble = EnsembleOptions(dense_weight=weights[0], bm25_weight=weights[1])
    page = await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, ensemble_options=ensemble))
    assert ids(page) == order
    if weights == (0.7, 0.3):
        assert [r.score for r in page] == pytest.approx([0.01623731, 0.01602914, 0.01129032, 0.00483871], abs=5e-9)


@pytest.mark.case("S-017")
async def test_equal_texts_of_two_documents_stay_two_results_with_their_own_metadata():
    text = "Returns accepted for 30 days"
    searching = hybrid(
        [hit("d1", 0.9, text=text, region="eu"), hit("e", 0.8)],
        [hit("d2", 3.0, BM25, text=text, region="us"), hit("d1", 3.0, BM25, text=text, region="eu")],
    )
    page = await searching.retrieve("q", HYBRID)
    assert [(r.chunk.document_id, r.score, r.chunk.metadata.get("region")) for r in page] == [
        ("d1", pytest.approx(0.03252247, abs=5e-9), "eu"),
        ("d2", pytest.approx(0.01639344, abs=5e-9), "us"),
        ("e", pytest.approx(0.01612903, abs=5e-9), None),
    ]


@pytest.mark.case("S-018")
def test_an_index_that_comes_back_as_another_number_type_is_the_same_chunk():
    arms = [
        ArmHits.of(name, 1.0, [SearchResult(TextChunk("t", "h", index), 0.5)])
        for name, index in (("dense", 4), ("bm25", np.int64(4)), ("sparse", 4.0))
    ]
    (candidate,) = fuse(arms, EnsembleOptions())
    assert candidate.score == pytest.approx(0.04918033, abs=5e-9)
    assert [e.arm for e in candidate.evidence if isinstance(e, ArmEvidence)] == ["dense", "bm25", "sparse"]


@pytest.mark.case("S-018")
def test_an_index_that_is_no_whole_number_is_refused():
    for index in (4.5, -1, float("nan")):
        with pytest.raises(ValueError, match=r"chunk_index|NaN"):
            TextChunk("t", "h", index)


@pytest.mark.case("S-019")
async def test_a_chunk_that_an_arm_lists_twice_counts_once():
    page = await hybrid([hit("D", 0.9), hit("D", 0.9), hit("E", 0.8)], [hit("E", 2.0, BM25)]).retrieve("q", HYBRID)
    assert [(r.chunk.document_id, r.score) for r in page] == [
        ("E", pytest.approx(0.03252247, abs=5e-9)),
        ("D", pytest.approx(0.01639344, abs=5e-9)),
    ]


async def test_equal_fused_scores_are_ordered_by_document_then_chunk():
    page = await hybrid([hit("b#1", 0.9), hit("a#2", 0.8)], [hit("a#2", 3.0, BM25), hit("b#1", 2.0, BM25)]).retrieve(
        "q", HYBRID
    )
    assert [r.chunk.key for r in page] == [("a", 2), ("b", 1)]
    assert page[0].score == page[1].score


@pytest.mark.row("C2")
async def test_an_arm_of_weight_zero_is_left_out():
    store = ScriptedStore([hit("a", 0.9)])
    page = await hybrid(store, [hit("z", 3.0, BM25)]).retrieve(
        "q", RetrievalOptions(use_hybrid_search=True, ensemble_options=EnsembleOptions(dense_weight=0))
    )
    assert ids(page) == ["z"]
    assert not store.searches


@pytest.mark.row("C2")
async def test_arms_fetch_deeper_than_the_page_and_a_window_of_top_k_gives_pages():
    store, index = ScriptedStore([hit(f"d{i:03}", 1 - i / 1000) for i in range(300)]), ScriptedKeywordIndex([])
    searching = hybrid(store, index)
    await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, top_k=5))
    await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, top_k=40))
    await searching.retrieve(
        "q", RetrievalOptions(use_hybrid_search=True, top_k=10, ensemble_options=EnsembleOptions(window=10))
    )
    assert [s.top_k for s in store.searches] == [50, 120, 10]
    assert [depth for _, depth in index.searches] == [50, 120, 10]


@pytest.mark.row("C8")
async def test_relative_fusion_scales_each_arm_within_its_window():
    ensemble = EnsembleOptions(fusion="relative", dense_weight=1, bm25_weight=3)
    page = await hybrid(
        [hit("a", 0.9), hit("b", 0.7), hit("c", 0.5)], [hit("c", 12.0, BM25), hit("a", 4.0, BM25), hit("d", 2.0, BM25)]
    ).retrieve("q", RetrievalOptions(use_hybrid_search=True, ensemble_options=ensemble))
    assert {r.score_scale for r in page} == {ScoreScale.RELATIVE}
    assert [(r.chunk.document_id, r.score) for r in page] == [
        ("c", pytest.approx(0.75)),
        ("a", pytest.approx(0.25 + 0.75 * 0.2)),
        ("b", pytest.approx(0.125)),
        ("d", pytest.approx(0.0)),
    ]


@st.composite
def _arms(draw):
    names = st.sampled_from("abcdefgh")
    arms = []
    for arm in ("dense", "bm25", "sparse"):
        ranked = draw(st.lists(names, unique=True, max_size=8))
        weight = draw(st.floats(0.01, 10))
        scores = sorted(draw(st.lists(st.floats(0.001, 50), min_size=len(ranked), max_size=len(ranked))), reverse=True)
        arms.append(ArmHits.of(arm, weight, [hit(n, s) for n, s in zip(ranked, scores, strict=True)]))
    return arms


@pytest.mark.row("C1")
@pytest.mark.row("C8")
@given(arms=_arms(), fusion=st.sampled_from(["rrf", "relative"]))
def test_the_contributions_on_record_add_up_to_the_score_exactly(arms, fusion):
    for candidate in fuse(arms, EnsembleOptions(fusion=fusion)):
        total = 0.0
        for evidence in candidate.evidence:
            assert isinstance(evidence, ArmEvidence)
            total += evidence.contribution
        assert total == candidate.score


@pytest.mark.row("C1")
@given(arms=_arms(), k=st.integers(1, 100))
def test_reciprocal_rank_fusion_equals_the_plain_sum(arms, k):
    expected = {}
    for arm in arms:
        for rank, key in enumerate(arm.hits, start=1):
            expected[key] = expected.get(key, 0.0) + arm.weight / (k + rank)
    fused = fuse(arms, EnsembleOptions(k=k))
    assert {c.key: c.score for c in fused} == expected
    assert [c.key for c in fused] == sorted(expected, key=lambda key: (-expected[key], key))


@pytest.mark.case("S-061")
async def test_a_failing_keyword_arm_is_recorded_and_the_dense_arm_serves(caplog):
    searching = hybrid([hit("a", 0.9)], ScriptedKeywordIndex(fail=RuntimeError("boom")))
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching.retrieve("q", HYBRID)
    assert [(r.chunk.document_id, r.score) for r in page] == [("a", pytest.approx(0.01639344, abs=5e-9))]
    assert [(arm.arm, arm.status) for arm in page.arms] == [("dense", "ok"), ("bm25", "failed")]
    assert page.arms[1].error == "StoreError: the bm25 search failed: RuntimeError"
    assert len(page.warnings) == 1
    assert len(caplog.records) == 1


@pytest.mark.case("S-061")
async def test_a_failing_store_is_recorded_and_keywords_serve():
    page = await hybrid(ScriptedStore(fail=StoreError("down")), [hit("b", 2.0, BM25)]).retrieve("q", HYBRID)
    assert ids(page) == ["b"]
    assert "down" in page.warnings[0]


@pytest.mark.case("S-061")
async def test_empty_arms_are_not_failed_arms():
    page = await hybrid([], []).retrieve("q", HYBRID)
    assert list(page) == []
    assert not page.warnings
    assert page.exhausted


async def test_when_every_arm_fails_the_error_names_each():
    with pytest.raises(StoreError, match=r"dense.*down.*bm25.*RuntimeError"):
        await hybrid(ScriptedStore(fail=StoreError("down")), ScriptedKeywordIndex(fail=RuntimeError("boom"))).retrieve(
            "q", HYBRID
        )


async def test_a_fault_of_the_set_up_is_no_degradation():
    fault = DimensionMismatchError("the query has 2 dimensions, the index holds vectors of 3", expected=3, actual=2)
    with pytest.raises(DimensionMismatchError):
        await hybrid(ScriptedStore(fail=fault), [hit("b", 2.0, BM25)]).retrieve("q", HYBRID)


async def test_a_failing_store_fails_a_dense_call():
    with pytest.raises(StoreError, match="KeyError"):
        await hybrid(ScriptedStore(fail=KeyError("x")), []).retrieve("q", RetrievalOptions())


@pytest.mark.case("S-060")
@pytest.mark.row("L4")
@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_cancelling_a_hanging_arm_is_a_cancellation_and_no_fallback(how, caplog):
    store = ScriptedStore(hang=True)
    searching = hybrid(store, [hit("b", 2.0, BM25)])
    if how == "cancel":
        task = asyncio.create_task(searching.retrieve("q", HYBRID))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(searching.retrieve("q", HYBRID), 0.05)
    assert store.cancelled == 1
    assert not caplog.records


async def test_an_empty_query_is_refused():
    for text in ("", "  \n"):
        with pytest.raises(InvalidInputError, match="empty"):
            await hybrid([hit("a", 0.9)], []).retrieve(text, RetrievalOptions())


async def test_hybrid_without_a_keyword_index_is_a_clear_error():
    searching = Retriever(
        RetrievalParts(store=ScriptedStore([hit("a", 0.9)]), keyword_index=None, embedder=TableEmbedder({}))
    )
    with pytest.raises(CapabilityError, match="keyword index"):
        await searching.retrieve("q", HYBRID)

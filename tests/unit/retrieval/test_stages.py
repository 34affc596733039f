"""The stages around the search: filter, redundancy, MMR, cut, budget, reordering, and their order."""

from __future__ import annotations

import logging
import math

import pytest

from ragstone.errors import ConfigurationError
from ragstone.models import MmrEvidence, ScoreScale, TokenEvidence, TwinEvidence
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from ragstone.specifications import DocumentIdSpec, HasTagSpec, MinScoreSpec
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit


def at(degrees):
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def dense(hits, table=None):
    store = ScriptedStore(hits)
    embedder = TableEmbedder({h.chunk.text: v for h, v in zip(hits, table or [], strict=False)})
    return (
        Retriever(RetrievalParts(store=store, keyword_index=ScriptedKeywordIndex([]), embedder=embedder)),
        store,
        embedder,
    )


def names(page):
    return [r.chunk.document_id for r in page]


@pytest.mark.case("S-024")
@pytest.mark.row("C3")
@pytest.mark.parametrize(("top_k", "order"), [(3, ["A", "C", "B"]), (2, ["A", "C"])])
async def test_mmr_returns_the_order_of_its_picks(top_k, order):
    searching, _, _ = dense([hit("A", 0.98), hit("B", 0.97), hit("C", 0.77)], [at(10), at(12), at(-40)])
    page = await searching.retrieve("q", RetrievalOptions(top_k=top_k, use_mmr=True, mmr_lambda=0.5))
    assert names(page) == order
    evidence = [next(e for e in r.evidence if isinstance(e, MmrEvidence)) for r in page]
    assert [e.position for e in evidence] == list(range(1, top_k + 1))
    assert evidence[1].value == pytest.approx(0.06163, abs=5e-5)
    assert {r.score for r in page} <= {0.98, 0.97, 0.77}
    assert [d.result.chunk.document_id for d in page.dropped] == ([] if top_k == 3 else ["B"])


@pytest.mark.case("S-023")
@pytest.mark.row("C3")
@pytest.mark.parametrize(("lambda_", "order"), [(0.9, ["A", "B", "C"]), (0.1, ["A", "C", "B"]), (1.0, ["A", "B", "C"])])
async def test_lambda_one_is_relevance_and_lambda_zero_diversity(lambda_, order):
    searching, _, _ = dense([hit("A", 0.98), hit("B", 0.97), hit("C", 0.77)], [at(10), at(12), at(-40)])
    page = await searching.retrieve("q", RetrievalOptions(top_k=3, use_mmr=True, mmr_lambda=lambda_))
    assert names(page) == order


@pytest.mark.row("C3")
async def test_mmr_chooses_from_three_times_top_k_unless_told_otherwise():
    hits = [hit(f"d{i:02}", 1 - i / 100) for i in range(60)]
    searching, store, _ = dense(hits)
    await searching.retrieve("q", RetrievalOptions(top_k=4, use_mmr=True))
    await searching.retrieve("q", RetrievalOptions(top_k=4, use_mmr=True, mmr_candidate_count=30))
    assert [s.top_k for s in store.searches] == [12, 30]


@pytest.mark.row("C3")
async def test_vectors_come_from_one_embedding_batch_when_the_store_gives_none():
    searching, _, embedder = dense([hit("A", 0.9), hit("B", 0.8), hit("C", 0.7)], [at(10), at(12), at(-40)])
    await searching.retrieve("q", RetrievalOptions(top_k=3, use_mmr=True, use_redundancy_filter=True))
    assert [len(call) for call in embedder.calls] == [1, 3]


@pytest.mark.case("S-025")
@pytest.mark.row("C4")
async def test_redundancy_compares_with_kept_chunks_only():
    searching, _, _ = dense([hit("X", 0.9), hit("Y", 0.8), hit("Z", 0.7)], [at(0), at(17), at(34)])
    page = await searching.retrieve("q", RetrievalOptions(use_redundancy_filter=True))
    assert names(page) == ["X", "Z"]
    (dropped,) = page.dropped
    assert dropped.drop.stage == "redundancy"
    twin = next(e for e in dropped.result.evidence if isinstance(e, TwinEvidence))
    assert twin.twin == ("X", 0)
    assert twin.similarity == pytest.approx(0.9563, abs=5e-5)


@pytest.mark.row("C4")
async def test_redundancy_is_off_by_default_and_its_threshold_is_the_callers():
    searching, _, _ = dense([hit("X", 0.9), hit("Y", 0.8)], [at(0), at(17)])
    assert names(await searching.retrieve("q", RetrievalOptions())) == ["X", "Y"]
    strict = RetrievalOptions(use_redundancy_filter=True, redundancy_threshold=0.96)
    assert names(await searching.retrieve("q", strict)) == ["X", "Y"]
    for threshold in (1.1, -1.5, float("nan")):
        with pytest.raises(ConfigurationError, match="redundancy_threshold"):
            RetrievalOptions(redundancy_threshold=threshold)


@pytest.mark.row("G7")
async def test_a_specification_that_drops_much_is_filled_from_deeper_and_a_short_page_says_why():
    hits = [hit(f"d{i:03}", 1 - i / 1000, dept="law" if i % 50 == 49 else "hr") for i in range(400)]
    searching, store, _ = dense(hits)
    page = await searching.retrieve("q", RetrievalOptions(top_k=5, filter=HasTagSpec("dept", "law")))
    assert names(page) == ["d049", "d099", "d149", "d199", "d249"]
    assert not page.exhausted
    assert len(store.searches) > 1
    short = await searching.retrieve("q", RetrievalOptions(top_k=20, filter=HasTagSpec("dept", "law")))
    assert len(short) == 8
    assert short.exhausted


@pytest.mark.row("G7")
async def test_specifications_compose_and_any_callable_is_one():
    hits = [hit("a", 0.9, dept="hr"), hit("b", 0.8, dept="law"), hit("c", 0.4, dept="law"), hit("d", 0.3)]
    searching, _, _ = dense(hits)

    async def found(specification):
        return names(await searching.retrieve("q", RetrievalOptions(filter=specification)))

    assert await found(MinScoreSpec(0.8)) == ["a", "b"]
    assert await found(DocumentIdSpec("c")) == ["c"]
    assert await found(HasTagSpec("dept", "hr") | DocumentIdSpec("d")) == ["a", "d"]
    assert await found(HasTagSpec("dept", "law") & MinScoreSpec(0.5)) == ["b"]
    assert await found(~HasTagSpec("dept", "law")) == ["a", "d"]
    assert await found(lambda result: result.chunk.document_id in "bd") == ["b", "d"]
    assert str(HasTagSpec("dept", "law") & ~MinScoreSpec(0.5)) == "(dept = 'law' and not score >= 0.5)"
    with pytest.raises(ConfigurationError, match="filter"):
        RetrievalOptions(filter="dept = law")
    with pytest.raises(ConfigurationError, match="threshold"):
        MinScoreSpec(float("nan"))


@pytest.mark.row("G7")
async def test_the_reason_of_a_drop_names_the_specification():
    searching, _, _ = dense([hit("a", 0.9), hit("b", 0.2)])
    page = await searching.retrieve("q", RetrievalOptions(filter=MinScoreSpec(0.5)))
    assert [(d.result.chunk.document_id, d.drop.stage, d.drop.reason) for d in page.dropped] == [
        ("b", "filter", "does not satisfy score >= 0.5")
    ]


def _tokens(count):
    return " ".join(["hello"] * count)


@pytest.mark.case("S-027")
@pytest.mark.row("C5")
async def test_the_budget_drops_whole_chunks_lowest_ranked_first(caplog):
    hits = [hit(n, s, text=_tokens(c)) for n, s, c in (("a", 0.9, 50), ("b", 0.8, 80), ("c", 0.7, 10))]
    searching, _, _ = dense(hits)
    with caplog.at_level(logging.INFO, logger="ragstone"):
        page = await searching.retrieve("q", RetrievalOptions(max_context_tokens=100))
    assert names(page) == ["a"]
    assert page[0].chunk.text == _tokens(50)
    assert [(d.result.chunk.document_id, d.drop.stage) for d in page.dropped] == [("b", "budget"), ("c", "budget")]
    assert "dropped 2 of 3 chunks (90 of 140 tokens)" in caplog.text
    (spent,) = [e for e in page[0].evidence if isinstance(e, TokenEvidence)]
    assert (spent.tokens, spent.total, spent.budget) == (50, 50, 100)


@pytest.mark.case("S-026")
@pytest.mark.row("C5")
@pytest.mark.parametrize(("budget", "kept"), [(8, 1), (7, 0)])
async def test_a_text_that_spells_a_special_token_is_counted_as_text(budget, kept):
    searching, _, _ = dense([hit("a", 0.9, text="a <|endoftext|> b")])
    assert len(await searching.retrieve("q", RetrievalOptions(max_context_tokens=budget))) == kept


@pytest.mark.row("C5")
async def test_a_first_chunk_over_the_budget_leaves_an_empty_page_and_a_warning(caplog):
    searching, _, _ = dense([hit("a", 0.9, text=_tokens(50)), hit("b", 0.8, text=_tokens(5))])
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching.retrieve("q", RetrievalOptions(max_context_tokens=10))
    assert len(page) == 0
    assert "50 tokens" in page.warnings[0]
    assert len(caplog.records) == 1
    for budget in (0, -1, 1.5):
        with pytest.raises(ConfigurationError, match="max_context_tokens"):
            RetrievalOptions(max_context_tokens=budget)


@pytest.mark.row("C5")
async def test_a_budget_that_fits_changes_nothing_and_is_off_by_default():
    searching, _, _ = dense([hit("a", 0.9), hit("b", 0.8)])
    page = await searching.retrieve("q", RetrievalOptions(max_context_tokens=1000))
    assert names(page) == ["a", "b"]
    assert not page.warnings
    off = await searching.retrieve("q", RetrievalOptions())
    assert not any(isinstance(e, TokenEvidence) for r in off for e in r.evidence)


@pytest.mark.case("S-028")
@pytest.mark.row("C6")
@pytest.mark.parametrize(("count", "order"), [(6, "135642"), (5, "13542"), (4, "1342"), (2, "12"), (1, "1"), (0, "")])
async def test_the_best_stand_at_both_ends_with_their_own_scores(count, order):
    searching, _, _ = dense([hit(str(i), 1 - i / 10) for i in range(1, count + 1)])
    page = await searching.retrieve("q", RetrievalOptions(top_k=6, use_lost_in_the_middle_reordering=True))
    assert names(page) == list(order)
    assert all(r.score == 1 - int(r.chunk.document_id) / 10 for r in page)


@pytest.mark.row("G9")
async def test_the_budget_decides_by_rank_before_the_page_is_arranged():
    hits = [hit(str(i), 1 - i / 10, text=_tokens(10)) for i in range(1, 7)]
    searching, _, _ = dense(hits)
    page = await searching.retrieve(
        "q", RetrievalOptions(top_k=6, max_context_tokens=40, use_lost_in_the_middle_reordering=True)
    )
    assert names(page) == ["1", "3", "4", "2"]


@pytest.mark.row("G9")
async def test_the_order_of_the_stages_is_redundancy_mmr_cut_budget_reordering():
    searching, _, _ = dense([hit("a", 0.9), hit("b", 0.8)], [at(0), at(80)])
    page = await searching.retrieve(
        "q",
        RetrievalOptions(
            use_mmr=True,
            use_redundancy_filter=True,
            use_lost_in_the_middle_reordering=True,
            max_context_tokens=100,
            filter=MinScoreSpec(0.1),
        ),
    )
    assert list(page.timings) == ["reorder", "budget", "cut", "mmr", "redundancy", "filter", "search"]
    plain = await searching.retrieve("q", RetrievalOptions())
    assert list(plain.timings) == ["cut", "search"]


async def test_a_window_set_by_the_caller_bounds_the_search():
    hits = [hit(f"d{i:02}", 1 - i / 100, keep=i == 30) for i in range(60)]
    searching, store, _ = dense(hits)
    ensemble = EnsembleOptions(window=20)
    page = await searching.retrieve(
        "q", RetrievalOptions(use_hybrid_search=True, ensemble_options=ensemble, filter=HasTagSpec("keep", value=True))
    )
    assert len(page) == 0
    assert not page.exhausted
    assert [s.top_k for s in store.searches] == [20]


@pytest.mark.case("S-007")
def test_top_k_of_zero_is_an_error_and_never_the_default():
    for top_k in (0, -1, True, 2.0):
        with pytest.raises(ConfigurationError, match="top_k"):
            RetrievalOptions(top_k=top_k)


async def test_a_page_is_a_sequence_whose_scale_is_the_stores():
    searching, _, _ = dense([hit("a", 0.9), hit("b", 0.8), hit("c", 0.7)])
    page = await searching.retrieve("q", RetrievalOptions(top_k=2))
    assert len(page) == 2
    assert page[0] == page.results[0]
    assert page[-1].chunk.document_id == "b"
    assert names(page[:1]) == ["a"]
    assert page[0] in page
    assert page[0].score_scale == ScoreScale.SIMILARITY

"""Time weighting: the factor, the timestamps it is made of, and what it never does."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragstone import DocumentMetadata, RagPipeline
from ragstone.errors import ConfigurationError
from ragstone.models import DecayEvidence, ScoreScale
from ragstone.options import RetrievalOptions, TimeWeightedOptions
from ragstone.ports import Clock
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from ragstone.retrieval.time_weighting import parse_instant
from ragstone.testing import HashEmbedder, SettableClock
from support.retrieval import ScriptedHybridStore, ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)


def searching(hits, *, now=NOW, store=ScriptedStore, keywords=(), **options):
    store = store(hits)
    parts = RetrievalParts(
        store=store,
        keyword_index=ScriptedKeywordIndex(keywords),
        embedder=TableEmbedder({}),
        time_weighting=TimeWeightedOptions(**options),
        clock=SettableClock(now),
    )
    return Retriever(parts), store


def decay(result):
    (evidence,) = [e for e in result.evidence if isinstance(e, DecayEvidence)]
    return evidence


def names(page):
    return [result.chunk.document_id for result in page]


@pytest.mark.row("F9")
@pytest.mark.case("S-055")
async def test_an_offset_is_heeded():
    retriever, _ = searching([hit("a", 0.5, updated_at="2026-03-01T12:00:00+09:00")])
    (result,) = await retriever.retrieve("q", RetrievalOptions())
    assert result.score == pytest.approx(0.393314, abs=5e-7)
    assert result.score == 0.5 * math.exp(-0.01 * 24)
    assert result.score_scale is ScoreScale.DECAYED
    evidence = decay(result)
    assert (evidence.age_hours, evidence.key, evidence.score_before, evidence.scale_before) == (
        24.0,
        "updated_at",
        0.5,
        ScoreScale.SIMILARITY,
    )


@pytest.mark.row("F9")
@pytest.mark.case("S-056")
async def test_a_date_alone_a_fraction_and_the_future():
    hits = [
        hit("date", 0.9, updated_at="2025-02-03"),
        hit("fraction", 0.9, updated_at="2025-02-03T00:00:00.435816Z"),
        hit("future", 0.9, updated_at="2025-02-07T00:00:00Z"),
    ]
    retriever, _ = searching(hits, now=datetime(2025, 2, 5, tzinfo=UTC))
    page = await retriever.retrieve("q", RetrievalOptions())
    assert {r.chunk.document_id: r.score for r in page} == {
        "date": pytest.approx(0.556905, abs=5e-7),
        "fraction": pytest.approx(0.556906, abs=5e-7),
        "future": 0.9,
    }
    assert names(page) == ["future", "fraction", "date"]
    assert decay(page[0]).age_hours == 0.0


@pytest.mark.row("F9")
@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"updated_at": "2026-03-01", "created_at": "2026-02-01", "lastmod": "2026-01-01"}, "updated_at"),
        ({"created_at": "2026-02-01", "published_at": "2026-01-01"}, "created_at"),
        ({"updated_at": "last week", "created_at": "2026-02-01"}, "created_at"),
        ({"received_at": "2026-02-01", "lastmod": "2026-01-01"}, "lastmod"),
        ({"published_at": datetime(2026, 1, 1, tzinfo=UTC)}, "published_at"),
        ({"date": "2026-01-01"}, None),
        ({"updated_at": 20260101, "lastmod": True}, None),
        ({}, None),
    ],
)
async def test_the_first_key_that_holds_a_time_counts(metadata, key):
    retriever, _ = searching([hit("a", 0.5, **metadata)])
    (result,) = await retriever.retrieve("q", RetrievalOptions())
    assert decay(result).key == key
    assert (result.score == 0.5) is (key is None)


@pytest.mark.row("F9")
async def test_other_keys_are_tried_when_they_are_named():
    retriever, _ = searching([hit("a", 0.5, date="2026-03-02")], fallback_metadata_keys=("date",))
    (result,) = await retriever.retrieve("q", RetrievalOptions())
    assert decay(result).key == "date"


@pytest.mark.row("F9")
@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2026-03-01", "2026-03-01T00:00:00+00:00"),
        ("20260301T120000Z", "2026-03-01T12:00:00+00:00"),
        ("2026-03-01T12:00:00", "2026-03-01T12:00:00+00:00"),
        (" 2026-03-01 12:00:00.123456789-05:30 ", "2026-03-01T17:30:00.123456+00:00"),
        ("2026-03-01t12:00:00z", "2026-03-01T12:00:00+00:00"),
        (datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=9))), "2026-03-01T03:00:00+00:00"),
        ("0001-01-01T00:00:00+09:00", None),
        ("yesterday", None),
        ("", None),
        ("1700000000", None),
        (3.5, None),
        (None, None),
    ],
)
def test_what_is_read_as_an_instant(value, instant):
    parsed = parse_instant(value)
    assert (None if parsed is None else parsed.isoformat()) == instant


@pytest.mark.row("F9")
async def test_a_fresher_chunk_below_the_cut_can_rise():
    hits = [hit(f"old{i}", 0.9 - i / 100, updated_at="2025-01-01") for i in range(5)]
    retriever, store = searching([*hits, hit("new", 0.5, updated_at="2026-03-02")])
    page = await retriever.retrieve("q", RetrievalOptions(top_k=2))
    assert names(page) == ["new", "old0"]
    assert store.searches[0].top_k == 6
    assert [(d.result.chunk.document_id, d.drop.stage) for d in page.dropped if d.drop.stage == "time_weighting"] == [
        (f"old{i}", "time_weighting") for i in range(1, 5)
    ]


@pytest.mark.row("F9")
async def test_equal_scores_keep_their_order_however_old():
    hits = [hit(name, score, updated_at="1990-01-01") for name, score in [("b", 0.9), ("a", 0.9), ("c", 0.8)]]
    retriever, _ = searching(hits)
    page = await retriever.retrieve("q", RetrievalOptions())
    assert [r.score for r in page] == [0.0, 0.0, 0.0]
    assert names(page) == ["b", "a", "c"]


@pytest.mark.row("F9")
async def test_a_score_is_never_raised():
    hits = [hit(name, score, updated_at="2026-01-01") for name, score in [("a", 0.5), ("z", 0.0), ("n", -0.4)]]
    retriever, _ = searching(hits)
    page = await retriever.retrieve("q", RetrievalOptions())
    assert names(page) == ["a", "z", "n"]
    assert page[0].score < 0.5
    assert [r.score for r in page[1:]] == [0.0, -0.4]
    assert decay(page[2]).factor == 1.0


@pytest.mark.row("F9")
async def test_a_fused_page_is_decayed_on_its_fused_scores_and_says_so():
    dense = [hit("a", 0.9, updated_at="2026-01-01"), hit("b", 0.8, updated_at="2026-03-02")]
    retriever, _ = searching(dense, keywords=[hit("a", 2.0, ScoreScale.BM25, updated_at="2026-01-01")])
    page = await retriever.retrieve("q", RetrievalOptions(use_hybrid_search=True))
    assert names(page) == ["b", "a"]
    assert decay(page[1]).score_before == 2 / 61
    assert page.notes["time_weighting"] == "decayed scores on the scale rrf"
    assert page.warnings == ()


@pytest.mark.row("F9")
async def test_a_page_that_the_store_fused_is_left_as_it_is():
    hits = [hit("a", 0.9, updated_at="2020-01-01"), hit("b", 0.8, updated_at="2026-03-02")]
    retriever, _ = searching(hits, store=ScriptedHybridStore)
    page = await retriever.retrieve("q", RetrievalOptions(use_hybrid_search=True, top_k=1))
    assert [(r.chunk.document_id, r.score, r.score_scale) for r in page] == [("a", 0.9, ScoreScale.BACKEND)]
    assert "time weighting did nothing" in page.warnings[0]


@pytest.mark.row("F9")
async def test_a_call_can_switch_it_off():
    retriever, store = searching([hit("a", 0.5, updated_at="2020-01-01")])
    (result,) = await retriever.retrieve("q", RetrievalOptions(use_time_weighting=False))
    assert (result.score, result.score_scale) == (0.5, ScoreScale.SIMILARITY)
    assert store.searches[0].top_k == 5


@pytest.mark.row("F9")
async def test_the_page_is_arranged_after_it_was_ranked_anew():
    hits = [hit(f"d{i}", 0.9 - i / 100) for i in range(1, 7)]
    retriever, _ = searching(hits)
    for top_k, order in [(6, "1 3 5 6 4 2"), (4, "1 3 4 2")]:
        page = await retriever.retrieve("q", RetrievalOptions(top_k=top_k, use_lost_in_the_middle_reordering=True))
        assert names(page) == [f"d{i}" for i in order.split()]


@pytest.mark.row("F9")
async def test_what_maximal_marginal_relevance_chose_is_only_ordered_anew():
    hits = [hit("a", 0.9, updated_at="2025-01-01"), hit("b", 0.8, updated_at="2026-03-02"), hit("c", 0.7)]
    parts = RetrievalParts(
        store=ScriptedStore(hits),
        embedder=TableEmbedder({"q": (1, 0.3), "text of a": (1, 0.01), "text of b": (1, 0), "text of c": (0.7, 0.7)}),
        time_weighting=TimeWeightedOptions(),
        clock=SettableClock(NOW),
    )
    page = await Retriever(parts).retrieve("q", RetrievalOptions(top_k=2, use_mmr=True))
    assert names(page) == ["c", "a"]


@pytest.mark.row("F9")
@pytest.mark.parametrize(
    ("field", "value"),
    [("decay_rate", -0.1), ("decay_rate", float("nan")), ("decay_rate", float("inf")), ("fallback_metadata_keys", "d")],
)
def test_bad_options_are_refused_where_they_are_written(field, value):
    with pytest.raises(ConfigurationError, match=field):
        TimeWeightedOptions(**{field: value})


@pytest.mark.row("F9")
async def test_the_pipeline_decays_by_the_dates_of_documents_and_its_own_clock():
    clock = SettableClock(NOW)
    assert isinstance(clock, Clock)
    rag = RagPipeline(embedder=HashEmbedder(), time_weighting=TimeWeightedOptions(), clock=clock)
    for name, age in [("old", 100), ("new", 1)]:
        await rag.ingest_text("paid leave", DocumentMetadata(document_id=name, updated_at=NOW - timedelta(hours=age)))
    page = await rag.retrieve("paid leave")
    assert {r.chunk.document_id: r.score for r in page} == {
        "new": pytest.approx(math.exp(-0.01)),
        "old": pytest.approx(math.exp(-1.0)),
    }
    assert "decayed by 0.368: 100 h since updated_at" in page.explain().of("old", 0)
    clock.advance(hours=100)
    assert (await rag.retrieve("paid leave"))[0].score == pytest.approx(math.exp(-1.01))


@pytest.mark.row("F9")
async def test_without_a_clock_the_systems_time_counts():
    rag = RagPipeline(embedder=HashEmbedder(), time_weighting=TimeWeightedOptions(decay_rate=1.0))
    written = datetime.now(UTC) - timedelta(hours=1)
    await rag.ingest_text("paid leave", DocumentMetadata(document_id="a", updated_at=written))
    assert (await rag.retrieve("paid leave"))[0].score == pytest.approx(math.exp(-1.0), rel=1e-2)

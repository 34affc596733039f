"""Which way a call searches, and what is refused."""

from __future__ import annotations

import logging

import pytest

from ragstone.errors import CapabilityError
from ragstone.models import ScoreScale
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from support.retrieval import (
    PlainDecorator,
    ScriptedHybridStore,
    ScriptedKeywordIndex,
    ScriptedStore,
    TableEmbedder,
    hit,
)

BM25 = ScoreScale.BM25


def retriever(store, *, keyword=None, embedder=True):
    return Retriever(
        RetrievalParts(
            store=store,
            keyword_index=ScriptedKeywordIndex([hit("z", 3.0, BM25)]) if keyword is None else keyword,
            embedder=TableEmbedder({}) if embedder else None,
        )
    )


@pytest.mark.row("E1")
async def test_a_store_with_hybrid_search_of_its_own_serves_a_plain_hybrid_call_in_one_call(caplog):
    store = ScriptedHybridStore([hit("a", 0.9), hit("b", 0.5)])
    with caplog.at_level(logging.DEBUG, logger="ragstone"):
        page = await retriever(store).retrieve("q", RetrievalOptions(use_hybrid_search=True, metadata_filter={"x": 1}))
    assert page.path == "native"
    assert [r.chunk.document_id for r in page] == ["a", "b"]
    assert {r.score_scale for r in page} == {ScoreScale.BACKEND}
    assert len(store.hybrid_searches) == 1
    assert not store.searches
    assert store.hybrid_searches[0][1].metadata_filter == {"x": 1}
    events = [record for record in caplog.records if "ensemble_native_hybrid" in record.message]
    assert len(events) == 1
    assert events[0].levelno == logging.DEBUG
    assert "ScriptedHybridStore" in events[0].message


@pytest.mark.row("E2")
@pytest.mark.parametrize(
    "options",
    [
        RetrievalOptions(use_hybrid_search=True, ensemble_options=EnsembleOptions()),
        RetrievalOptions(use_hybrid_search=True, min_score=0.1),
        RetrievalOptions(use_hybrid_search=True, min_score=-0.5),
    ],
    ids=["ensemble options, default ones too", "a threshold", "a negative threshold"],
)
async def test_what_the_store_cannot_express_keeps_the_fusion_here(options):
    store = ScriptedHybridStore([hit("a", 0.9)])
    page = await retriever(store).retrieve("q", options)
    assert page.path == "client"
    assert not store.hybrid_searches
    assert [(r.chunk.document_id, r.score_scale) for r in page] == [("a", ScoreScale.RRF), ("z", ScoreScale.RRF)]


@pytest.mark.row("E2")
async def test_a_store_without_hybrid_search_is_fused_here():
    page = await retriever(ScriptedStore([hit("a", 0.9)])).retrieve("q", RetrievalOptions(use_hybrid_search=True))
    assert page.path == "client"
    assert [arm.arm for arm in page.arms] == ["dense", "bm25"]


@pytest.mark.row("E3")
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (RetrievalOptions(), ["use_hybrid_search is not set"]),
        (RetrievalOptions(min_score=0.5), ["use_hybrid_search is not set", "min_score is 0.5"]),
        (
            RetrievalOptions(use_hybrid_search=True, min_score=0.5, ensemble_options=EnsembleOptions()),
            ["ensemble_options are given", "min_score is 0.5"],
        ),
    ],
)
async def test_a_declared_native_only_capability_is_never_passed_by(options, named):
    store = ScriptedHybridStore([hit("a", 0.9)], native_only="semantic ranking")
    with pytest.raises(CapabilityError, match="semantic ranking") as refused:
        await retriever(store).retrieve("q", options)
    for setting in named:
        assert setting in str(refused.value)
    assert not store.searches
    assert not store.hybrid_searches


@pytest.mark.row("E3")
async def test_a_declared_native_only_capability_is_used_when_nothing_blocks_it():
    store = ScriptedHybridStore([hit("a", 0.9)], native_only="semantic ranking")
    page = await retriever(store).retrieve("q", RetrievalOptions(use_hybrid_search=True))
    assert page.path == "native"


@pytest.mark.row("E3")
async def test_an_undeclared_capability_blocks_nothing():
    store = ScriptedHybridStore([hit("a", 0.9)], native_only=None)
    page = await retriever(store).retrieve("q", RetrievalOptions())
    assert page.path == "dense"


@pytest.mark.row("E4")
async def test_a_decorator_that_hides_hybrid_search_is_warned_of_once(caplog):
    store = PlainDecorator(PlainDecorator(ScriptedHybridStore([hit("a", 0.9)])))
    searching = retriever(store)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        for _ in range(2):
            page = await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True))
    assert page.path == "client"
    warnings = [r.message for r in caplog.records if "native_hybrid_hidden_by_decorator" in r.message]
    assert len(warnings) == 1
    assert "ScriptedHybridStore" in warnings[0]


@pytest.mark.row("E4")
async def test_a_decorator_around_a_plain_store_is_not_warned_of(caplog):
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        await retriever(PlainDecorator(ScriptedStore([hit("a", 0.9)]))).retrieve(
            "q", RetrievalOptions(use_hybrid_search=True)
        )
    assert not caplog.records


async def test_without_an_embedder_the_pipeline_searches_keywords():
    page = await retriever(None, embedder=False).retrieve("q", RetrievalOptions())
    assert page.path == "keyword"
    assert [(r.chunk.document_id, r.score, r.score_scale) for r in page] == [("z", 3.0, BM25)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (RetrievalOptions(use_hybrid_search=True), "needs an embedder"),
        (RetrievalOptions(min_score=0.4), "min_score=0.4"),
        (RetrievalOptions(use_mmr=True), "needs an embedder"),
    ],
)
async def test_without_an_embedder_what_needs_one_is_a_clear_error(options, message):
    with pytest.raises(CapabilityError, match=message):
        await retriever(None, embedder=False).retrieve("q", options)


@pytest.mark.row("C7")
async def test_a_threshold_on_an_opaque_scale_is_an_error_and_not_an_empty_page():
    class Opaque(ScriptedStore):
        score_scale = ScoreScale.RRF

    store = Opaque([hit("a", 0.016, ScoreScale.RRF)])
    with pytest.raises(CapabilityError, match="'rrf', which bears no threshold"):
        await retriever(store).retrieve("q", RetrievalOptions(min_score=0.5))
    page = await retriever(store).retrieve("q", RetrievalOptions())
    assert page[0].score_scale == ScoreScale.RRF

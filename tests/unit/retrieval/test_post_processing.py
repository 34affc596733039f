"""The order of the stages after fusion, seen from what each of them is given."""

from __future__ import annotations

import pytest

from ragstone.options import RetrievalOptions
from ragstone.specifications import HasTagSpec
from ragstone.testing import HashEmbedder, ScriptedReranker, ScriptedWebSearch
from support.parts import ScriptedCompressor, ScriptedGuard, names, searching
from support.retrieval import hit

EVERYTHING = RetrievalOptions(
    top_k=2,
    use_lost_in_the_middle_reordering=True,
    max_context_tokens=1000,
    use_compression=True,
    use_mmr=True,
    use_redundancy_filter=True,
    use_crag=True,
    filter=~HasTagSpec("state", "draft"),
)


@pytest.mark.row("G9")
async def test_each_stage_stands_at_its_place():
    guard = ScriptedGuard(lambda result: "no" if result.chunk.document_id == "guarded" else None)
    compressor, reranker = ScriptedCompressor(), ScriptedReranker()
    found = [
        hit("draft", 0.9, text="leave draft", state="draft"),
        hit("guarded", 0.8, text="is leave guarded"),
        hit("once", 0.7, text="is leave for parents. Else"),
        hit("twice", 0.6, text="is leave for parents. Else"),
        hit("other", 0.5, text="how long is leave. More"),
        hit("third", 0.4, text="lunch at noon"),
    ]
    page = await searching(
        found,
        embedder=HashEmbedder(512),
        guards=[guard],
        reranker=reranker,
        compressor=compressor,
        web_search=ScriptedWebSearch(),
    ).retrieve("how long is leave", EVERYTHING)
    assert list(page.timings) == [
        *("reorder", "budget", "compression", "cut", "mmr", "redundancy", "rerank", "guards", "crag", "filter"),
        "search",
    ]
    assert guard.seen[0] == ["guarded", "once", "twice", "other", "third"]
    assert page.notes["crag_triggered"] == "false"
    assert reranker.requests[0].texts == tuple(h.chunk.text for h in found[2:])
    assert {d.result.chunk.document_id: d.drop.stage for d in page.dropped} == {
        "draft": "filter",
        "guarded": "guards",
        "twice": "redundancy",
        "third": "mmr",
    }
    assert compressor.requests == [("how long is leave", ("how long is leave. More", "is leave for parents. Else"))]
    assert names(page) == ["other", "once"]
    assert [result.text for result in page] == ["how long is leave", "is leave for parents"]


@pytest.mark.row("G9")
async def test_each_stage_can_be_switched_off_for_a_call_and_then_does_not_exist():
    parts = {"reranker": ScriptedReranker(), "compressor": ScriptedCompressor(), "web_search": ScriptedWebSearch()}
    options = RetrievalOptions(use_reranking=False, use_compression=False, use_crag=False)
    page = await searching([hit("a", 0.9)], **parts).retrieve("q", options, asking=True)
    assert list(page.timings) == ["cut", "search"]

"""The spans of ingesting, retrieving and asking: what they carry, and what they never do unless it is asked for."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest

from ragstone import DocumentMetadata, RagPipeline
from ragstone.errors import RagError
from ragstone.models import ChatDelta, ChatReply, ScoreScale, TokenUsage
from ragstone.observability import ask_span, capture_text, span
from ragstone.options import CachingOptions, RetrievalOptions
from ragstone.testing import HashEmbedder
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, hit
from support.spans import recorded_spans

SECRET = "wages of Ms Miller"


@pytest.fixture
def spans():
    with recorded_spans() as exporter:
        yield exporter


@pytest.fixture
def captured():
    capture_text()
    yield
    capture_text(False)


def named(spans, name):
    (found,) = [s for s in spans.get_finished_spans() if s.name == name]
    return found


async def payroll(**parts):
    rag = RagPipeline(embedder=HashEmbedder(), **parts)
    for number in range(8):
        await rag.ingest_text(f"{SECRET} {number}", DocumentMetadata(document_id=f"d{number}"))
    return rag


@pytest.mark.row("E5")
async def test_ingesting_is_a_span(spans):
    rag = await payroll()
    await rag.ingest_text(f"{SECRET} 0", DocumentMetadata(document_id="d0"))
    found = [dict(s.attributes) for s in spans.get_finished_spans() if s.name == "ragstone.ingest"]
    assert found[0] == {"ragstone.document_id": "d0", "ragstone.ingest.status": "stored", "ragstone.ingest.chunks": 1}
    assert found[-1]["ragstone.ingest.status"] == "unchanged"


@pytest.mark.row("E5")
async def test_a_retrieval_tells_its_path_its_hits_and_their_scores(spans):
    rag = await payroll()
    page = await rag.retrieve(SECRET, RetrievalOptions(top_k=3, use_hybrid_search=True))
    attributes = dict(named(spans, "ragstone.retrieve").attributes)
    assert json.loads(attributes.pop("gen_ai.retrieval.documents")) == [
        {"id": f"{r.chunk.document_id}#0", "score": r.score, "score_scale": "rrf"} for r in page
    ]
    assert attributes == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.top_k": 3,
        "retrieval.hybrid.path": "client",
        "retrieval.path": "client",
        "retrieval.results": 3,
        "retrieval.dropped": 5,
        "retrieval.exhausted": False,
        "retrieval.warnings": 0,
    }


@pytest.mark.row("E5")
async def test_each_stage_is_a_span_inside_the_one_around_it(spans):
    rag = await payroll()
    options = RetrievalOptions(top_k=3, use_hybrid_search=True, use_mmr=True, max_context_tokens=12)
    await rag.retrieve(SECRET, options)
    found = {s.name.removeprefix("ragstone.retrieve."): s for s in spans.get_finished_spans() if "retrieve." in s.name}
    order = ["budget", "cut", "mmr", "search"]
    assert set(found) == set(order)
    assert found["budget"].parent.span_id == named(spans, "ragstone.retrieve").context.span_id
    for outer, inner in pairwise(order):
        assert found[inner].parent.span_id == found[outer].context.span_id
    assert {
        name: (s.attributes["retrieval.candidates"], s.attributes.get("retrieval.dropped")) for name, s in found.items()
    } == {
        "budget": (1, 2),
        "cut": (3, 0),
        "mmr": (3, 5),
        "search": (8, None),
    }
    assert found["search"].attributes["retrieval.arm.bm25.hits"] == 8
    assert found["search"].attributes["retrieval.arm.dense.status"] == "ok"


@pytest.mark.row("E5")
async def test_the_documents_on_a_span_are_bounded(spans):
    store = ScriptedStore([hit(f"d{i:03}", 1 - i / 1000) for i in range(200)])
    await RagPipeline(embedder=HashEmbedder(), store=store).retrieve("q", RetrievalOptions(top_k=200))
    attributes = named(spans, "ragstone.retrieve").attributes
    assert len(json.loads(attributes["gen_ai.retrieval.documents"])) == 50
    assert attributes["retrieval.results"] == 200


@pytest.mark.row("E5")
async def test_a_span_tells_whether_the_page_was_remembered(spans):
    rag = await payroll(caching=CachingOptions())
    for _ in range(2):
        await rag.retrieve(SECRET)
    found = [s.attributes["retrieval.cache"] for s in spans.get_finished_spans() if s.name == "ragstone.retrieve"]
    assert found == ["miss", "hit"]


async def everything():
    rag = await payroll()
    await rag.retrieve(SECRET, RetrievalOptions(use_hybrid_search=True, use_mmr=True, use_redundancy_filter=True))
    broken = RagPipeline(embedder=HashEmbedder(), store=ScriptedStore(fail=OSError(SECRET)))
    with pytest.raises(RagError):
        await broken.retrieve(SECRET)
    with ask_span(model="m") as current:
        current.asked([{"role": "user", "content": SECRET}], sources=2)
        current.answered(ChatReply(text=SECRET))
        current.said(SECRET)


@pytest.mark.row("E5")
async def test_no_text_stands_in_a_span(spans):
    await everything()
    assert SECRET.lower() not in "".join(s.to_json().lower() for s in spans.get_finished_spans())
    assert len(spans.get_finished_spans()) > 10


@pytest.mark.row("E5")
async def test_text_stands_in_spans_for_those_who_ask_for_it(spans, captured):
    await everything()
    page, *_ = [s.attributes for s in spans.get_finished_spans() if s.name == "ragstone.retrieve"]
    assert page["gen_ai.retrieval.query.text"] == SECRET
    assert json.loads(page["gen_ai.retrieval.documents"])[0]["content"].startswith(SECRET)
    asked = named(spans, "ragstone.ask").attributes
    assert json.loads(asked["gen_ai.input.messages"]) == [{"role": "user", "content": SECRET}]
    assert json.loads(asked["gen_ai.output.messages"]) == [{"role": "assistant", "content": SECRET}]


@pytest.mark.row("E5")
async def test_a_failure_is_told_by_its_type(spans):
    rag = RagPipeline(embedder=HashEmbedder(), store=ScriptedStore(fail=OSError("down")))
    with pytest.raises(RagError):
        await rag.retrieve("q")
    for name in ("ragstone.retrieve", "ragstone.retrieve.cut", "ragstone.retrieve.search"):
        found = named(spans, name)
        assert found.attributes["error.type"] == "StoreError"
        assert not found.status.is_ok
        assert found.events == ()


@pytest.mark.row("E5")
@pytest.mark.row("L4")
async def test_a_cancelled_call_ends_its_spans(spans):
    store = ScriptedStore([], hang=True)
    rag = RagPipeline(embedder=HashEmbedder(), store=store, keyword_index=ScriptedKeywordIndex([]))
    task = asyncio.create_task(rag.retrieve("q", RetrievalOptions(use_hybrid_search=True)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert named(spans, "ragstone.retrieve").attributes["error.type"] == "CancelledError"


@pytest.mark.row("E5")
async def test_asking_is_a_span_in_the_terms_of_the_conventions(spans):
    with ask_span(model="small", temperature=0.5) as current:
        with span("inside"):
            pass
        current.asked([{"role": "user", "content": "q"}], sources=3)
        usage = TokenUsage(prompt_tokens=7, completion_tokens=3)
        current.answered(ChatReply(text="a", model="small-1", finish_reason="stop", usage=usage))
    found = named(spans, "ragstone.ask")
    assert dict(found.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.request.stream": False,
        "gen_ai.request.temperature": 0.5,
        "ragstone.ask.messages": 1,
        "ragstone.ask.sources": 3,
        "gen_ai.response.model": "small-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    }
    assert named(spans, "inside").parent.span_id == found.context.span_id


@pytest.mark.row("E5")
async def test_the_span_of_a_streamed_answer_is_not_that_of_its_reader(spans):
    async def streamed():
        with ask_span(model="small", streaming=True) as current:
            yield "a"
            current.answered(ChatDelta(finish_reason="stop"))
            yield "b"

    deltas = streamed()
    await anext(deltas)
    with span("reader"):
        pass
    await deltas.aclose()
    assert named(spans, "reader").parent is None
    ended = named(spans, "ragstone.ask")
    assert ended.status.is_ok or ended.status.is_unset
    assert "error.type" not in ended.attributes


@pytest.mark.row("E5")
async def test_without_a_provider_nothing_is_recorded_and_nothing_found_out():
    with span("ragstone.retrieve") as one, span("other") as two:
        assert one is two
        assert not one.recording
    with ask_span(model="m") as current:
        assert not current.recording
    page = await RagPipeline(embedder=HashEmbedder(), store=ScriptedStore([hit("a", 0.9)])).retrieve("q")
    assert page[0].score_scale is ScoreScale.SIMILARITY

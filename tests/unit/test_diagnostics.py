"""Traces: each request leaves one, however it ends; texts are shown only where asked for."""

from __future__ import annotations

import asyncio
import json

import pytest

import ragstone as rs
from ragstone.errors import ChatError, ConfigurationError, InvalidInputError
from ragstone.testing import FailingChat, HangingChat, HashEmbedder, ScriptedChat

SECRET = "the salary of Jane Doe"
ANSWER = "It is 16 weeks [Source 1]."


async def traced(chat=None, capacity=50):
    traces = rs.TraceStore(capacity)
    rag = rs.RagPipeline(chat=chat, traces=traces)
    await rag.ingest_text(f"Paid leave. {SECRET}.", rs.DocumentMetadata(document_id="leave", tags={"topic": SECRET}))
    await rag.ingest_text("Paid car.", rs.DocumentMetadata(document_id="car"))
    return rag, traces


@pytest.mark.row("I10")
async def test_each_kind_of_request_leaves_a_trace_with_every_stage_and_candidate():
    rag, traces = await traced(ScriptedChat(ANSWER))
    options = {"top_k": 2, "max_context_tokens": 10}
    page = await rag.retrieve("paid leave", rs.RetrievalOptions(**options))
    response = await rag.ask("paid leave", rs.RagOptions(**options))
    streamed = [update async for update in rag.ask_streaming("paid leave", rs.RagOptions(**options))]
    assert [(trace.kind, trace.status, trace.error) for trace in traces] == [
        ("retrieve", "ok", None),
        ("ask", "ok", None),
        ("ask_streaming", "ok", None),
    ]
    first, second, third = traces
    assert (first.page, first.messages, first.reply) == (page, (), None)
    assert first.page.timings.keys() == {"budget", "cut", "search"}
    assert [item.drop.stage for item in first.page.dropped] == ["budget"]
    assert second.messages == response.messages
    assert (second.reply.text, second.reply.usage) == (ANSWER, response.usage)
    assert third.reply.text == streamed[-1].response.answer == ANSWER
    assert third.page.results == streamed[0].sources
    assert traces.last is third
    assert all(trace.seconds >= 0 and trace.started.tzinfo is not None for trace in traces)


@pytest.mark.row("I10")
async def test_a_ring_keeps_the_latest():
    rag, traces = await traced(capacity=2)
    for query in ("paid", "leave", "car"):
        await rag.retrieve(query)
    assert [trace.query for trace in traces] == ["leave", "car"]
    assert len(traces) == 2
    traces.clear()
    assert (len(traces), traces.last, list(traces)) == (0, None, [])
    assert len(rs.TraceStore()) == 0
    with pytest.raises(ConfigurationError, match="capacity must be at least 1, not 0"):
        rs.TraceStore(0)


@pytest.mark.row("I10")
async def test_fifty_are_kept_by_default():
    rag, traces = await traced()
    for place in range(60):
        await rag.retrieve(f"paid {place}")
    assert [trace.query for trace in traces] == [f"paid {place}" for place in range(10, 60)]


@pytest.mark.row("I10")
async def test_failed_requests_leave_what_they_got_to():
    rag, traces = await traced(FailingChat(ChatError("model down"), said="It is"))
    with pytest.raises(InvalidInputError):
        await rag.retrieve(" ")
    with pytest.raises(ChatError):
        await rag.ask("paid leave")
    with pytest.raises(ChatError):
        [update async for update in rag.ask_streaming("paid leave")]
    empty, asked, streamed = traces
    assert (empty.status, empty.page) == ("failed", None)
    assert empty.error == "InvalidInputError: the query is empty: give it at least one word"
    assert (asked.status, asked.error, asked.reply) == ("failed", "ChatError: model down", None)
    assert len(asked.messages) == 2
    assert (streamed.status, streamed.reply.text) == ("failed", "It is")


@pytest.mark.row("I10")
async def test_a_request_without_a_chat_model_is_traced_too():
    rag, traces = await traced()
    with pytest.raises(ConfigurationError):
        await rag.ask("paid leave")
    assert traces.last.error.startswith("CapabilityError: asking needs a chat model")


@pytest.mark.row("I10")
async def test_a_stream_that_is_closed_early_says_how_far_it_came():
    rag, traces = await traced(ScriptedChat(ANSWER, chunk_size=3))
    updates = rag.ask_streaming("paid leave")
    for _ in range(3):
        await anext(updates)
    assert len(traces) == 0
    await updates.aclose()
    assert (traces.last.status, traces.last.reply.text) == ("closed", ANSWER[:6])


@pytest.mark.row("I10")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_cancelled_request(stream):
    chat = HangingChat(said="It is ")
    rag, traces = await traced(chat)

    async def ask():
        if stream:
            return [update async for update in rag.ask_streaming("paid leave")]
        return await rag.ask("paid leave")

    asking = asyncio.create_task(ask())
    await chat.started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (traces.last.status, traces.last.error) == ("cancelled", None)
    assert (traces.last.reply.text if stream else traces.last.reply) == ("It is " if stream else None)


@pytest.mark.row("I10")
async def test_a_trace_reads_well_and_shows_prompt_and_answer_only_when_asked():
    rag, traces = await traced(ScriptedChat(ANSWER))
    await rag.ask("paid leave", rs.RagOptions(system_prompt="Be brief.", send_sources_as_tool_result=True))
    short, long = str(traces.last), traces.last.format(texts=True)
    assert short.startswith("ask at 20")
    assert "Prompt, system: 9 characters" in short
    assert f"Answer: {len(ANSWER)} characters (scripted, stop, " in short
    assert "keyword search: 2 of 2 candidates" in short
    assert ANSWER not in short
    assert "Prompt, system: \nBe brief.\n" in long
    assert ANSWER in long
    assert "search_documents" in long


@pytest.mark.row("I10")
async def test_an_export_holds_texts_only_when_asked():
    rag, traces = await traced(FailingChat(after=1, replies=f"{ANSWER} {SECRET}"))
    await rag.ask(SECRET, rs.RagOptions(top_k=1))
    with pytest.raises(ChatError):
        await rag.ask(SECRET)
    plain, whole = traces.to_jsonl(), traces.to_jsonl(texts=True)
    assert SECRET not in plain
    first, second = map(json.loads, plain.splitlines())
    assert (first["kind"], first["status"], second["status"]) == ("ask", "ok", "failed")
    assert first["reply"]["characters"] == len(f"{ANSWER} {SECRET}")
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    (result,) = first["page"]["results"]
    assert (result["document_id"], result["characters"]) == ("leave", len(f"Paid leave. {SECRET}."))
    assert result["evidence"][0]["kind"] == "arm"
    assert first["page"]["timings"]
    shown = json.loads(whole.splitlines()[0])
    assert shown["query"] == SECRET
    assert shown["messages"][-1]["content"].endswith(f"Question: {SECRET}")
    assert shown["page"]["results"][0]["text"] == f"Paid leave. {SECRET}."
    assert shown["reply"]["text"] == f"{ANSWER} {SECRET}"


@pytest.mark.row("I10")
async def test_an_export_holds_no_wording_of_a_variant_and_no_tag_that_was_found():
    traces = rs.TraceStore()
    rag = rs.RagPipeline(
        embedder=HashEmbedder(),
        chat=ScriptedChat("1. wages of everybody"),
        multi_query=rs.MultiQueryOptions(variant_count=1),
        tag_retrieval=rs.TagRetrievalOptions(min_score=0.0),
        traces=traces,
    )
    await rag.ingest_text("Paid leave.", rs.DocumentMetadata(document_id="leave", tags={"topic": SECRET}))
    page = await rag.retrieve(SECRET)
    assert [arm.query for arm in page.arms] == [None, "wages of everybody"]
    assert SECRET in page.notes["tags"]
    plain, whole = traces.to_jsonl(), traces.to_jsonl(texts=True)
    for text in (SECRET, "wages"):
        assert text not in plain
        assert text in whole


def test_nothing_traced_is_an_empty_export():
    assert rs.TraceStore().to_jsonl() == ""

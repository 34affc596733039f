"""Asking a real, small chat model over HTTP: SmolLM2-135M behind OpenAI's API, started here."""

from __future__ import annotations

import asyncio
import time

import pytest

import ragstone as rs
from ragstone.errors import ChatError
from support.chat_server import running_chat_server

LEAVE = "Paid leave is 16 weeks."
QUESTION = "How long is paid leave?"
GREEDY = rs.RagOptions(top_k=1, temperature=0.0)


@pytest.fixture(scope="module")
def url():
    with running_chat_server() as url:
        yield url


@pytest.fixture
async def chat(url):
    async with rs.OpenAIChat(model="smollm2", base_url=url, fields={"max_tokens": 12}) as chat:
        yield chat


@pytest.fixture
async def rag(chat):
    async with rs.RagPipeline(chat=chat) as rag:
        await rag.ingest_text(LEAVE, rs.DocumentMetadata(document_id="leave"))
        await rag.ingest_text("The brown fox is quick.", rs.DocumentMetadata(document_id="fox"))
        yield rag


@pytest.mark.row("I1")
@pytest.mark.row("I8")
async def test_a_real_model_answers_from_the_context(rag):
    response = await rag.ask(QUESTION, GREEDY)
    assert "16 weeks" in response.answer
    assert [hit.chunk.document_id for hit in response.sources] == ["leave"]
    assert response.usage.prompt_tokens > 40
    assert 0 < response.usage.completion_tokens <= 12
    assert response.model
    assert response.finish_reason in {"stop", "length"}


@pytest.mark.row("I5")
@pytest.mark.row("I8")
async def test_a_real_stream_says_what_the_whole_answer_says(rag):
    whole = await rag.ask(QUESTION, GREEDY)
    updates = [update async for update in rag.ask_streaming(QUESTION, GREEDY)]
    deltas = [update.text_delta for update in updates[1:-1]]
    assert updates[0].sources == whole.sources
    assert len(deltas) > 3
    assert "".join(deltas) == updates[-1].response.answer == whole.answer
    assert updates[-1].response.usage == whole.usage
    assert updates[-1].response.finish_reason == whole.finish_reason


@pytest.mark.row("I4")
async def test_a_real_model_takes_sources_as_a_tools_result(rag):
    options = rs.RagOptions(top_k=1, temperature=0.0, send_sources_as_tool_result=True)
    assert (await rag.ask(QUESTION, options)).answer.strip()


@pytest.mark.row("I3")
async def test_a_real_model_takes_a_history(rag):
    history = [{"role": "user", "content": "My name is Ada."}, {"role": "assistant", "content": "Hello Ada."}]
    options = rs.RagOptions(top_k=1, temperature=0.0, conversation_history=history)
    with_history, without = await rag.ask(QUESTION, options), await rag.ask(QUESTION, GREEDY)
    assert with_history.usage.prompt_tokens > without.usage.prompt_tokens + 8


@pytest.mark.row("I5")
async def test_closing_a_real_stream_early_frees_the_model(url):
    async with rs.OpenAIChat(model="smollm2", base_url=url, fields={"max_tokens": 1500}) as talkative:
        rag = rs.RagPipeline(chat=talkative)
        await rag.ingest_text(LEAVE, rs.DocumentMetadata(document_id="leave"))
        others = asyncio.all_tasks()
        updates = rag.ask_streaming("Count from one to a thousand, in words.", rs.RagOptions(temperature=0.0))
        for _ in range(4):
            await anext(updates)
        await updates.aclose()
        await asyncio.sleep(0.05)
        assert asyncio.all_tasks() == others
    async with rs.OpenAIChat(model="smollm2", base_url=url, fields={"max_tokens": 1}, timeout=30) as brief:
        # The server has one slot: it answers only once it has stopped talking to the client that left.
        started = time.monotonic()
        await brief.complete([{"role": "user", "content": "hi"}])
        assert time.monotonic() - started < 10


@pytest.mark.row("L4")
async def test_cancelling_a_real_answer(url):
    async with rs.OpenAIChat(model="smollm2", base_url=url, fields={"max_tokens": 1500}) as talkative:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(talkative.complete([{"role": "user", "content": "Tell me a long story."}]), 0.5)
        async with rs.OpenAIChat(model="smollm2", base_url=url, fields={"max_tokens": 1}) as brief:
            await brief.complete([{"role": "user", "content": "hi"}])


@pytest.mark.row("I8")
async def test_a_real_servers_refusal_is_told(chat):
    with pytest.raises(ChatError, match=r"openai:127\.0\.0\.1:\d+/smollm2/settings@\w+: HTTP 4\d\d: "):
        await chat.complete([{"role": "user", "content": "word " * 5000}])

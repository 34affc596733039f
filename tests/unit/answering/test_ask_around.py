"""What surrounds asking in a pipeline: its span, and the cache of answers."""

from __future__ import annotations

from contextlib import aclosing

import pytest

import ragstone as rs
from ragstone.errors import ChatError
from ragstone.testing import FailingChat, ScriptedChat, SettableClock
from support.spans import recorded_spans

SECRET = "wages of Ms Miller"


@pytest.fixture
def spans():
    with recorded_spans() as exporter:
        yield exporter


async def pipeline(chat, **parts):
    rag = rs.RagPipeline(chat=chat, **parts)
    await rag.ingest_text(f"{SECRET}: 100", rs.DocumentMetadata(document_id="wages"))
    return rag


def asked(spans):
    (found,) = [span for span in spans.get_finished_spans() if span.name == "ragstone.ask"]
    return found


@pytest.mark.row("E5")
async def test_an_answer_is_a_span_around_its_retrieval_without_any_text(spans):
    rag = await pipeline(ScriptedChat(f"{SECRET} [Source 1]"))
    await rag.ask(SECRET, rs.RagOptions(temperature=0.5))
    span = asked(spans)
    assert span.attributes["gen_ai.request.model"] == "ragstone.testing.ScriptedChat"
    assert span.attributes["gen_ai.request.temperature"] == 0.5
    assert span.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert span.attributes["gen_ai.usage.output_tokens"] == 6
    assert (span.attributes["ragstone.ask.messages"], span.attributes["ragstone.ask.sources"]) == (2, 1)
    (retrieval,) = [each for each in spans.get_finished_spans() if each.name == "ragstone.retrieve"]
    assert retrieval.parent.span_id == span.context.span_id
    assert not any(SECRET in str(each.attributes) for each in spans.get_finished_spans())


@pytest.mark.row("E5")
async def test_a_streamed_answer_is_a_span_that_ends_with_it(spans):
    rag = await pipeline(ScriptedChat("one two three"))
    async with aclosing(rag.ask_streaming(SECRET)) as updates:
        await anext(updates)
        await anext(updates)
        assert not [span for span in spans.get_finished_spans() if span.name == "ragstone.ask"]
    span = asked(spans)
    assert span.attributes["gen_ai.request.stream"] is True
    assert "error.type" not in span.attributes


@pytest.mark.row("E5")
async def test_an_answer_that_fails_is_told_by_the_kind_of_the_error(spans):
    rag = await pipeline(FailingChat(ChatError(SECRET)))
    with pytest.raises(ChatError):
        await rag.ask(SECRET)
    assert asked(spans).attributes["error.type"] == "ChatError"
    assert SECRET not in str(asked(spans).attributes)


@pytest.mark.row("I1")
async def test_answers_are_remembered_where_that_is_asked_for():
    chat, clock = ScriptedChat(["first", "second", "third"]), SettableClock()
    rag = await pipeline(chat, caching=rs.CachingOptions(answer_ttl=60), clock=clock)
    assert [(await rag.ask("wages")).answer for _ in range(2)] == ["first", "first"]
    streamed = [update async for update in rag.ask_streaming("wages")]
    assert streamed[-1].response.answer == "first"
    assert (await rag.ask("wages", rs.RagOptions(system_prompt="S"))).answer == "second"
    clock.advance(61)
    assert (await rag.ask("wages")).answer == "third"


@pytest.mark.row("I1")
async def test_answers_are_asked_for_anew_by_default():
    chat = ScriptedChat(["first", "second"])
    rag = await pipeline(chat, caching=rs.CachingOptions())
    assert [(await rag.ask("wages")).answer for _ in range(2)] == ["first", "second"]

"""Asking in one piece: what the model is sent, what comes back, and what fails how."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

import ragstone as rs
from ragstone.answering.engine import AnswerEngine
from ragstone.diagnostics import Recording
from ragstone.errors import CapabilityError, ChatError, ConfigurationError, EmbeddingError, InvalidInputError
from ragstone.models import ChatReply, SearchResult, TextChunk, TokenUsage
from ragstone.testing import FailingChat, FailingEmbedder, HashEmbedder, ScriptedChat

TEXTS = {"leave": "Paid leave is 16 weeks.", "fox": "The quick brown fox."}
SECRET = "the salary of Jane Doe"


async def pipeline(chat=None, **parts):
    rag = rs.RagPipeline(chat=chat, **parts)
    for document_id, text in TEXTS.items():
        await rag.ingest_text(text, rs.DocumentMetadata(document_id=document_id))
    return rag


class Seen:
    """An observer that takes notes."""

    def __init__(self):
        self.prompts = []

    def on_prompt(self, messages):
        self.prompts.append(messages)


@pytest.mark.row("I1")
async def test_an_answer_from_what_was_retrieved():
    chat = ScriptedChat(["16 weeks [Source 1]."])
    rag = await pipeline(chat)
    response = await rag.ask("how long is paid leave?")
    assert isinstance(response, rs.RagResponse)
    assert response.answer == "16 weeks [Source 1]."
    ((messages, temperature),) = chat.requests
    assert messages[-1]["content"] == f"Context:\n[Source 1]\n{TEXTS['leave']}\n\nQuestion: how long is paid leave?"
    assert temperature is None
    assert response.messages == messages
    assert response.warnings == ()


@pytest.mark.row("I1")
async def test_every_option_takes_effect():
    chat = ScriptedChat("ok")
    rag = await pipeline(chat, embedder=HashEmbedder(256))
    history = [{"role": "system", "content": "H"}, {"role": "user", "content": "u1"}]
    options = rs.RagOptions(
        top_k=2,
        use_hybrid_search=True,
        use_lost_in_the_middle_reordering=True,
        system_prompt="S",
        temperature=0.25,
        conversation_history=history,
        send_sources_as_tool_result=True,
    )
    history.clear()
    response = await rag.ask("paid leave", options)
    ((messages, temperature),) = chat.requests
    assert [m["role"] for m in messages] == ["system", "system", "user", "user", "assistant", "tool"]
    assert temperature == 0.25
    assert response.page.path == "client"
    assert len(response.sources) == 2


@pytest.mark.row("I1")
async def test_without_a_chat_model_asking_is_a_clear_error():
    rag = await pipeline()
    with pytest.raises(CapabilityError, match="asking needs a chat model: give the pipeline chat="):
        await rag.ask("paid leave")
    with pytest.raises(CapabilityError, match="chat="):
        await anext(rag.ask_streaming("paid leave"))


@pytest.mark.row("I1")
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("temperature", 2.5, "temperature must be between 0 and 2, not 2.5"),
        ("temperature", -0.1, "temperature must be between 0 and 2"),
        ("temperature", "hot", "temperature must be a number"),
        ("system_prompt", 3, "system_prompt must be a string or None, not int"),
        ("send_sources_as_tool_result", 1, "send_sources_as_tool_result must be True or False"),
        ("conversation_history", "hello", "conversation_history must be a list of messages, not str"),
        ("conversation_history", {"role": "user", "content": "x"}, "must be a list of messages, not dict"),
        ("conversation_history", ["hello"], r"conversation_history\[0\] must be a mapping with role and content"),
        (
            "conversation_history",
            [{"role": "user", "content": "x"}, {"role": "robot", "content": "x"}],
            r"conversation_history\[1\] must have one of the roles system, .*, not 'robot'",
        ),
        ("conversation_history", [{"content": "x"}], r"\[0\] must have one of the roles .*, not None"),
        ("conversation_history", [{"role": "user"}], r"\[0\] must have a string or a list of parts as content"),
        ("conversation_history", [{"role": "user", "content": 3}], r"\[0\] must have a string .* not int"),
        ("conversation_history", [{"role": "user", "content": "x", "at": object()}], r"\[0\] holds a object"),
        ("conversation_history", [{"role": "user", "content": "x", 3: "y"}], r"\[0\] has a key that is no string: 3"),
    ],
)
def test_options_of_asking_are_checked(field, value, message):
    with pytest.raises(ConfigurationError, match=message):
        rs.RagOptions(**{field: value})


def test_a_history_is_copied_to_its_depths():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": (call,)}
    options = rs.RagOptions(conversation_history=(message,))
    call["id"] = "changed"
    assert options.conversation_history[0]["tool_calls"][0]["id"] == "c"
    assert json.dumps(options.conversation_history)
    assert replace(options, top_k=2).conversation_history == options.conversation_history
    assert type(options.retrieval()) is rs.RetrievalOptions
    assert rs.RagOptions(top_k=3, use_mmr=True).retrieval() == rs.RetrievalOptions(top_k=3, use_mmr=True)


@pytest.mark.row("I2")
async def test_nothing_retrieved_is_asked_without_context():
    chat = ScriptedChat("I cannot tell.")
    response = await (await pipeline(chat)).ask("zebra")
    assert chat.requests[0].messages[-1]["content"] == "Context:\n\n\nQuestion: zebra"
    assert (response.sources, response.answer) == ((), "I cannot tell.")


@pytest.mark.row("I6")
async def test_observers_see_the_exact_messages_before_the_call_and_cannot_change_them():
    seen, order = Seen(), []

    class Meddling:
        def on_prompt(self, messages):
            order.append("observed")
            messages[0]["content"] = "changed"

    chat = ScriptedChat(lambda messages: order.append("asked") or "ok")
    rag = await pipeline(chat, observers=[Meddling(), seen])
    await rag.ask("paid leave")
    async for _ in rag.ask_streaming("paid leave"):
        pass
    assert order == ["observed", "asked"] * 2
    assert [tuple(prompt) for prompt in seen.prompts] == [request.messages for request in chat.requests]
    assert json.dumps(seen.prompts[0])


@pytest.mark.row("I6")
async def test_an_observer_that_raises_is_logged_and_breaks_nothing(caplog):
    class Broken:
        def on_prompt(self, messages):
            raise RuntimeError(messages[-1]["content"])

    seen = Seen()
    rag = await pipeline(ScriptedChat("ok"), observers=[Broken(), seen])
    with caplog.at_level(logging.WARNING):
        assert (await rag.ask(SECRET)).answer == "ok"
    assert [record.getMessage() for record in caplog.records] == [
        "prompt_observer_failed: Broken raised RuntimeError and is passed over"
    ]
    assert SECRET not in caplog.text
    assert len(seen.prompts) == 1


@pytest.mark.row("I7")
async def test_a_response_carries_complete_sources_usage_and_record():
    text = "Filler. " * 10 + "Paid leave is 16 weeks."
    reply = ChatReply(
        text="So [Source 1] and [Source 9].",
        model="m",
        finish_reason="length",
        usage=TokenUsage(prompt_tokens=7, completion_tokens=5),
    )
    rag = rs.RagPipeline(chat=ScriptedChat([reply]), chunker=rs.RecursiveChunker(max_size=30, overlap=0))
    await rag.ingest_text(text, rs.DocumentMetadata(document_id="leave"))
    response = await rag.ask("paid leave", rs.RagOptions(top_k=1))
    (citation,) = response.citations
    start, end = citation.document_span
    assert text[start:end] == response.sources[0].chunk.text
    assert "Paid leave" in text[start:end]
    assert start > 0
    assert (response.model, response.finish_reason, response.usage.total_tokens) == ("m", "length", 12)
    assert response.sources[0].score > 0
    assert response.page.timings.keys() >= {"search"}
    assert response.warnings == (
        "the answer cites sources that there are not: 9 of 1",
        "the answer was cut off at the model's limit of tokens",
    )
    data = json.loads(json.dumps(response.to_dict()))
    assert data["citations"] == [
        {
            "source": 1,
            "start": 3,
            "end": 13,
            "document_id": "leave",
            "chunk_index": citation.chunk.chunk_index,
            "document_start": start,
            "document_end": end,
        }
    ]
    assert data["page"]["results"][0]["text"] == response.sources[0].chunk.text


@pytest.mark.row("I1")
@pytest.mark.parametrize("failure", [ChatError("down"), OSError("unplugged")])
async def test_a_model_that_fails_fails_the_call(failure):
    rag = await pipeline(FailingChat(failure))
    with pytest.raises(type(failure), match=str(failure)):
        await rag.ask("paid leave")


async def test_a_retrieval_that_fails_asks_nothing():
    chat = ScriptedChat("ok")
    rag = rs.RagPipeline(chat=chat, embedder=FailingEmbedder(after=0))
    with pytest.raises(EmbeddingError):
        await rag.ask("paid leave")
    with pytest.raises(InvalidInputError, match="empty"):
        await rag.ask(" ")
    assert chat.calls == 0


@pytest.mark.row("I7")
async def test_compressed_text_is_what_the_model_reads_and_the_source_stays_complete():
    whole = TextChunk("Paid leave is 16 weeks. Much more follows.", "leave", 0, 0, 42)
    hit = SearchResult(whole, 0.5, compressed_text="Paid leave is 16 weeks.")
    calls = []

    async def retrieve(text, options, *, asking):
        calls.append((text, type(options), asking))
        return rs.SearchPage(query=text, results=(hit,), warnings=("the reranker failed",))

    chat = ScriptedChat("ok")
    response = await AnswerEngine(retrieve, chat).ask("paid leave?", rs.RagOptions(), Recording())
    assert calls == [("paid leave?", rs.RetrievalOptions, True)]
    assert "[Source 1]\nPaid leave is 16 weeks.\n\nQuestion:" in chat.requests[0].messages[-1]["content"]
    (source,) = response.sources
    assert (source.chunk.text, source.compressed_text) == (whole.text, "Paid leave is 16 weeks.")
    assert response.warnings == ("the reranker failed",)

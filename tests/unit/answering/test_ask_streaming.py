"""Asking piece by piece: what comes in which order, and that stopping early leaves nothing open."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import aclosing

import pytest

import ragstone as rs
from ragstone.errors import ChatError, ConfigurationError
from ragstone.models import ChatDelta
from ragstone.testing import FailingChat, HangingChat, HangingEmbedder, ScriptedChat

HUNDRED = "".join(f"{n:03} " for n in range(100))


def with_leave(rag):
    return rag.ingest_text("Paid leave is 16 weeks.", rs.DocumentMetadata(document_id="leave"))


async def pipeline(chat, **parts):
    rag = rs.RagPipeline(chat=chat, **parts)
    await with_leave(rag)
    return rag


@pytest.mark.row("I5")
async def test_sources_first_then_text_then_the_response():
    chat = ScriptedChat(["16 weeks [Source 1]."], chunk_size=5)
    rag = await pipeline(chat)
    updates = [update async for update in rag.ask_streaming("paid leave", rs.RagOptions(temperature=0.5))]
    assert [hit.chunk.document_id for hit in updates[0].sources] == ["leave"]
    assert "".join(update.text_delta for update in updates[1:-1]) == "16 weeks [Source 1]."
    assert len(updates) == 6
    response = updates[-1].response
    assert (response.answer, response.citations[0].document_id) == ("16 weeks [Source 1].", "leave")
    assert response.usage.completion_tokens == 4
    assert chat.requests[0].temperature == 0.5
    assert chat.open_streams == 0
    for update in updates:
        assert [update.text_delta, update.sources, update.response].count(None) == 2


@pytest.mark.row("I5")
async def test_a_stream_sends_what_ask_sends():
    chat = ScriptedChat("ok")
    rag = await pipeline(chat)
    options = rs.RagOptions(send_sources_as_tool_result=True)
    whole = await rag.ask("paid leave", options)
    streamed = [update async for update in rag.ask_streaming("paid leave", options)][-1].response
    assert chat.requests[0] == chat.requests[1]
    assert streamed.messages == whole.messages
    assert (streamed.answer, streamed.usage, streamed.model) == (whole.answer, whole.usage, whole.model)


class HundredDeltas:
    """A model whose stream tells when its `finally` runs."""

    identity = "hundred"

    def __init__(self):
        self.closed = 0

    async def complete(self, messages, *, temperature=None):
        raise NotImplementedError

    async def stream(self, messages, *, temperature=None):
        try:
            for n in range(100):
                yield ChatDelta(text=f"{n:03} ")
        finally:
            await asyncio.sleep(0)
            self.closed += 1


@pytest.mark.row("I5")
@pytest.mark.case("S-062")
async def test_stopping_early_closes_the_models_stream_before_aclose_returns():
    chat = HundredDeltas()
    rag = await pipeline(chat)
    others = asyncio.all_tasks()
    updates = rag.ask_streaming("paid leave")
    got = [await anext(updates) for _ in range(4)]
    assert [update.text_delta for update in got] == [None, "000 ", "001 ", "002 "]
    assert sum(update.sources is not None for update in got) == 1
    assert chat.closed == 0
    await updates.aclose()
    assert chat.closed == 1
    assert asyncio.all_tasks() == others
    with pytest.raises(StopAsyncIteration):
        await anext(updates)
    await updates.aclose()
    assert chat.closed == 1


@pytest.mark.row("I5")
@pytest.mark.case("S-062")
def test_stopping_a_synchronous_stream_early_closes_the_models_stream():
    chat = HundredDeltas()
    with rs.sync(rs.RagPipeline(chat=chat)) as rag:
        rag.ingest_text("Paid leave is 16 weeks.", rs.DocumentMetadata(document_id="leave"))
        updates = rag.ask_streaming("paid leave")
        got = [next(updates) for _ in range(4)]
        assert [update.text_delta for update in got] == [None, "000 ", "001 ", "002 "]
        updates.close()
        assert chat.closed == 1
        updates.close()
        assert "".join(update.text_delta or "" for update in rag.ask_streaming("paid leave")) == HUNDRED
        assert chat.closed == 2


@pytest.mark.row("I5")
def test_a_synchronous_stream_that_is_left_open_ends_with_the_block():
    chat = HundredDeltas()
    with rs.sync(rs.RagPipeline(chat=chat)) as rag:
        rag.ingest_text("Paid leave is 16 weeks.", rs.DocumentMetadata(document_id="leave"))
        updates = rag.ask_streaming("paid leave")
        next(updates)
        next(updates)
    assert chat.closed == 1
    updates.close()
    with pytest.raises(ConfigurationError, match="with block"):
        next(rag.ask_streaming("paid leave"))


@pytest.mark.row("I5")
@pytest.mark.row("L5")
def test_ctrl_c_while_a_synchronous_stream_waits_ends_the_models_stream():
    chat = HangingChat(said="half ")
    with rs.sync(rs.RagPipeline(chat=chat)) as rag:
        updates = rag.ask_streaming("paid leave")
        assert [next(updates).text_delta for _ in range(2)] == [None, "half "]
        main = threading.main_thread().ident
        threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(updates)
        assert (chat.cancelled, chat.open_streams) == (1, 0)
        with pytest.raises(StopIteration):
            next(updates)


@pytest.mark.row("L5")
def test_asking_without_async():
    with rs.sync(rs.RagPipeline(chat=ScriptedChat("16 weeks [Source 1]"))) as rag:
        rag.ingest_text("Paid leave is 16 weeks.", rs.DocumentMetadata(document_id="leave"))
        assert rag.ask("paid leave", rs.RagOptions(top_k=1)).citations[0].document_id == "leave"
    with rs.sync(rs.RagPipeline(chat=FailingChat())) as rag, pytest.raises(ChatError):
        list(rag.ask_streaming("paid leave"))


@pytest.mark.row("I5")
async def test_a_stream_closed_before_or_at_its_first_update_asks_nothing():
    chat = ScriptedChat("ok")
    rag = await pipeline(chat)
    updates = rag.ask_streaming("paid leave")
    await updates.aclose()
    async with aclosing(rag.ask_streaming("paid leave")) as updates:
        assert (await anext(updates)).sources is not None
    assert chat.calls == 0


async def read_into(got, rag):
    async for update in rag.ask_streaming("paid leave"):
        got.append(update)


@pytest.mark.row("I5")
async def test_a_stream_that_breaks_raises_after_what_came():
    chat = FailingChat(OSError("unplugged"), said="half ")
    rag = await pipeline(chat)
    got = []
    with pytest.raises(OSError, match="unplugged"):
        await read_into(got, rag)
    assert [update.text_delta for update in got] == [None, "half "]
    assert chat.open_streams == 0


@pytest.mark.row("I5")
@pytest.mark.row("L4")
@pytest.mark.parametrize("where", ["embedder", "before the first piece", "in the middle"])
async def test_cancelling_anywhere_leaves_no_task_and_no_stream(where):
    hanging = HangingEmbedder() if where == "embedder" else HangingChat(said="half " if "middle" in where else "")
    parts = {"embedder": hanging, "chat": ScriptedChat("ok")} if where == "embedder" else {"chat": hanging}
    rag = rs.RagPipeline(**parts)
    if where != "embedder":
        await with_leave(rag)
    others, got = asyncio.all_tasks(), []
    reading = asyncio.create_task(read_into(got, rag))
    await hanging.started.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert hanging.cancelled == 1
    assert len(got) == {"embedder": 0, "before the first piece": 1, "in the middle": 2}[where]
    assert getattr(hanging, "open_streams", 0) == 0
    assert asyncio.all_tasks() == others


async def test_a_client_whose_stream_cannot_be_closed_works_too():
    class Plain:
        identity = "plain"

        async def complete(self, messages, *, temperature=None):
            raise NotImplementedError

        def stream(self, messages, *, temperature=None):
            pieces = iter([ChatDelta(text="o"), ChatDelta(text="k", finish_reason="stop")])

            class Iterator:
                def __aiter__(self):
                    return self

                async def __anext__(self):
                    try:
                        return next(pieces)
                    except StopIteration:
                        raise StopAsyncIteration from None

            return Iterator()

    rag = await pipeline(Plain())
    assert [update async for update in rag.ask_streaming("paid leave")][-1].response.answer == "ok"

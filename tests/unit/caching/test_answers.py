"""The answer cache: keyed on every message, the client and the temperature; nothing half is remembered."""

from __future__ import annotations

import asyncio

import pytest

from ragstone.caching import CachingChat
from ragstone.errors import ChatError
from ragstone.models import ChatDelta, ChatReply
from ragstone.ports import ChatClient
from ragstone.testing import FailingChat, HangingChat, ScriptedChat, SettableClock
from support.backends import DictBackend

ASKED = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]


def remembering(chat, **options):
    return CachingChat(chat, **{"ttl": 60.0, "clock": SettableClock(), **options})


async def streamed(chat, messages=ASKED):
    return [delta async for delta in chat.stream(messages)]


def text(deltas):
    return "".join(delta.text for delta in deltas)


@pytest.mark.row("G10")
async def test_the_same_messages_are_answered_once():
    inner = ScriptedChat(["one", "two", "three", "four", "five", "six"])
    chat = remembering(inner)
    assert isinstance(chat, ChatClient)
    assert chat.identity == inner.identity
    first = await chat.complete(ASKED)
    again = await chat.complete([dict(message) for message in ASKED])
    assert (first.text, again.text, inner.calls) == ("one", "one", 1)
    assert again.usage is None
    others = [
        (ASKED, 0.0),
        (ASKED, 0.5),
        ([ASKED[1], ASKED[0]], None),
        ([*ASKED[:1], {"role": "user", "content": "q"}], None),
        ([ASKED[0], {**ASKED[1], "name": "x"}], None),
    ]
    for messages, temperature in others:
        await chat.complete(messages, temperature=temperature)
    assert inner.calls == 6


@pytest.mark.row("G10")
async def test_another_client_has_its_own_answers():
    class Named(ScriptedChat):
        identity = "another"  # type: ignore[assignment]

    backend = DictBackend()
    assert (await remembering(ScriptedChat(["a"]), backend=backend).complete(ASKED)).text == "a"
    assert (await remembering(Named(["b"]), backend=backend).complete(ASKED)).text == "b"
    assert (await remembering(ScriptedChat([]), backend=backend).complete(ASKED)).text == "a"


@pytest.mark.row("G10")
async def test_a_stream_is_remembered_whole_and_replayed_in_one_piece():
    inner = ScriptedChat(["an answer of several pieces"], chunk_size=5)
    chat = remembering(inner)
    first = await streamed(chat)
    assert len(first) > 2
    replayed = await streamed(chat)
    assert [delta.text for delta in replayed] == [text(first)] == ["an answer of several pieces"]
    assert replayed[0].usage is None
    assert (await chat.complete(ASKED)).text == text(first)
    assert inner.calls == 1


@pytest.mark.row("G10")
@pytest.mark.row("L4")
async def test_a_stream_that_is_broken_off_is_closed_and_not_remembered():
    closed = []

    class Watched(ScriptedChat):
        async def stream(self, messages, *, temperature=None):
            try:
                for piece in "abc":
                    yield ChatDelta(text=piece)
            finally:
                closed.append(True)

    chat = remembering(Watched(["abc"]))
    deltas = chat.stream(ASKED)
    assert (await anext(deltas)).text == "a"
    await deltas.aclose()
    assert closed == [True]
    assert text(await streamed(chat)) == "abc"
    assert closed == [True, True]


@pytest.mark.row("G10")
async def test_a_failure_and_a_truncated_or_empty_answer_are_not_remembered():
    failing = FailingChat()
    chat = remembering(failing)
    for _ in range(2):
        with pytest.raises(ChatError):
            await chat.complete(ASKED)
    assert failing.calls == 2

    class Cut(ScriptedChat):
        async def complete(self, messages, *, temperature=None):
            reply = await super().complete(messages, temperature=temperature)
            return ChatReply(text=reply.text, finish_reason="length" if reply.text else "stop")

    inner = Cut(["half", "", "half"])
    chat = remembering(inner)
    assert [(await chat.complete(ASKED)).text for _ in range(3)] == ["half", "", "half"]


@pytest.mark.row("G10")
@pytest.mark.row("L4")
async def test_cancellation_passes_through():
    inner = HangingChat()
    task = asyncio.create_task(remembering(inner).complete(ASKED))
    await inner.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inner.cancelled == 1


@pytest.mark.row("G10")
async def test_an_answer_expires_and_messages_that_are_no_data_are_not_kept():
    clock, inner = SettableClock(), ScriptedChat(["one", "two", "three", "four"])
    chat = CachingChat(inner, ttl=10, clock=clock)
    await chat.complete(ASKED)
    clock.advance(10.1)
    assert (await chat.complete(ASKED)).text == "two"
    odd = [{"role": "user", "content": object()}]
    assert [(await chat.complete(odd)).text for _ in range(2)] == ["three", "four"]


@pytest.mark.row("G10")
async def test_a_damaged_answer_in_the_backend_is_asked_for_again():
    backend, inner = DictBackend(), ScriptedChat(["one", "two"])
    await remembering(inner, backend=backend).complete(ASKED)
    (key,) = backend.entries
    assert key.startswith("answer:")
    backend.entries[key] = backend.entries[key].replace(b'"one"', b"1234 ")
    assert (await remembering(inner, backend=backend).complete(ASKED)).text == "two"

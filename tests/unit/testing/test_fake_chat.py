"""The chat models for tests."""

from __future__ import annotations

import asyncio

import pytest

from ragstone.errors import ChatError, ConfigurationError
from ragstone.models import ChatDelta, ChatReply, TokenUsage
from ragstone.ports import ChatClient
from ragstone.testing import FailingChat, HangingChat, ScriptedChat

ASKED = [{"role": "user", "content": "is it so?"}]


async def text_of(chat, messages=ASKED):
    return "".join([delta.text async for delta in chat.stream(messages)])


def test_each_is_a_chat_client():
    assert all(isinstance(chat, ChatClient) for chat in (ScriptedChat(), FailingChat(), HangingChat()))
    assert ScriptedChat().identity == "ragstone.testing.ScriptedChat"


async def test_a_script_is_followed_to_its_end_and_calls_are_on_record():
    chat = ScriptedChat(["yes", ValueError("own"), ChatReply(text="no", finish_reason="length")])
    messages = [{"role": "user", "content": "a"}]
    first = await chat.complete(messages, temperature=0.5)
    assert first == ChatReply(
        text="yes", model="scripted", finish_reason="stop", usage=TokenUsage(prompt_tokens=1, completion_tokens=1)
    )
    messages[0]["content"] = "changed afterwards"
    assert chat.requests == [(({"role": "user", "content": "a"},), 0.5)]
    with pytest.raises(ValueError, match="own"):
        await chat.complete(ASKED)
    assert (await chat.complete(ASKED)).finish_reason == "length"
    with pytest.raises(ChatError, match="holds 3 replies, and this is call 4"):
        await chat.complete(ASKED)
    assert chat.calls == 4


async def test_one_text_answers_every_call_and_a_function_is_given_the_messages():
    chat = ScriptedChat("yes")
    assert [(await chat.complete(ASKED)).text for _ in range(3)] == ["yes"] * 3
    assert await text_of(ScriptedChat(lambda messages: messages[-1]["content"].upper())) == "IS IT SO?"


async def test_a_stream_comes_in_pieces_and_ends_with_the_rest():
    chat = ScriptedChat(["abcdefg"], chunk_size=3)
    deltas = [delta async for delta in chat.stream(ASKED, temperature=0.0)]
    assert [delta.text for delta in deltas] == ["abc", "def", "g", ""]
    assert deltas[-1] == ChatDelta(
        model="scripted", finish_reason="stop", usage=TokenUsage(prompt_tokens=3, completion_tokens=1)
    )
    assert chat.requests[0].temperature == 0.0
    with pytest.raises(ConfigurationError, match="chunk_size"):
        ScriptedChat(chunk_size=0)


async def test_a_stream_is_open_until_it_is_closed():
    chat = ScriptedChat("abcdefgh")
    stream = chat.stream(ASKED)
    assert (await anext(stream)).text == "abcd"
    assert chat.open_streams == 1
    await stream.aclose()
    assert chat.open_streams == 0


async def test_failing_after_some_calls_whole_and_in_the_middle_of_a_stream():
    chat = FailingChat(after=1, replies="fine")
    assert (await chat.complete(ASKED)).text == "fine"
    with pytest.raises(ChatError):
        await chat.complete(ASKED)
    broken = FailingChat(OSError("unplugged"), said="half")
    said = []
    with pytest.raises(OSError, match="unplugged"):
        said.extend([delta.text async for delta in _into(said, broken.stream(ASKED))])
    assert (said, broken.open_streams, broken.calls) == (["half"], 0, 1)


async def _into(said, stream):
    async for delta in stream:
        said.append(delta.text)
        yield delta


@pytest.mark.parametrize("ask", [lambda chat: chat.complete(ASKED), text_of], ids=["complete", "stream"])
async def test_hanging_until_released_or_cancelled(ask):
    chat = HangingChat("late", said="")
    cancelled = asyncio.create_task(ask(chat))
    await chat.started.wait()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert (chat.cancelled, chat.open_streams, chat.calls) == (1, 0, 1)
    waiting = asyncio.create_task(ask(chat))
    chat.release.set()
    answer = await waiting
    assert (answer if isinstance(answer, str) else answer.text) == "late"


async def test_hanging_in_the_middle_of_a_stream():
    chat = HangingChat(said="first ")
    stream = chat.stream(ASKED)
    assert (await anext(stream)).text == "first "
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(stream), 0.01)
    assert (chat.cancelled, chat.open_streams) == (1, 0)

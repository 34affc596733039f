"""The OpenAI chat client against a strict double of the service on loopback."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import httpx
import pytest

from ragstone import extras
from ragstone.chat import OpenAIChat
from ragstone.errors import ChatError, ConfigurationError, MissingDependencyError
from ragstone.models import ChatDelta, ChatReply, TokenUsage
from ragstone.ports import ChatClient
from support.chat_service import DONE, Stream, completion, event, running_chat_service
from support.embedding_service import KEY, Reply, refusal

ASKED = [{"role": "user", "content": "hi {x}"}]
SECRET = "the salary of Jane Doe is not for everyone"
PRIVATE = [{"role": "user", "content": SECRET}]
TEXT = event("so")
END = event(choice={"finish_reason": "stop"})


@pytest.fixture
def service():
    with running_chat_service() as service:
        yield service


@pytest.fixture
async def make(service):
    made = []

    def make(**options):
        defaults = {"model": "m", "api_key": KEY, "base_url": service.url, "retry_pause": 0.001, "timeout": 5.0}
        chat = OpenAIChat(**{**defaults, **options})
        made.append(chat)
        return chat

    yield make
    for chat in made:
        await chat.aclose()


async def whole(chat, messages=ASKED):
    return (await chat.complete(messages)).text


async def streamed(chat, messages=ASKED):
    return "".join([delta.text async for delta in chat.stream(messages)])


BOTH = pytest.mark.parametrize("ask", [whole, streamed])


@pytest.mark.row("I8")
async def test_an_answer_in_one_piece(make, service):
    chat = make(fields={"max_tokens": 9})
    assert isinstance(chat, ChatClient)
    assert await chat.complete(ASKED, temperature=0.0) == ChatReply(
        text="echo: hi {x}",
        model="m-1",
        finish_reason="stop",
        usage=TokenUsage(prompt_tokens=3, completion_tokens=2),
    )
    assert service.requests == [
        {"path": "/v1/chat/completions", "model": "m", "max_tokens": 9, "messages": ASKED, "temperature": 0.0}
    ]


@pytest.mark.row("I8")
async def test_an_answer_in_pieces(make, service):
    deltas = [delta async for delta in make().stream(ASKED)]
    assert [delta.text for delta in deltas] == ["", *"echo: hi {x}", "", ""]
    assert deltas[-2] == ChatDelta(model="m-1", finish_reason="stop")
    assert deltas[-1] == ChatDelta(model="m-1", usage=TokenUsage(prompt_tokens=3, completion_tokens=2))
    assert service.requests[0]["stream_options"] == {"include_usage": True}
    assert "temperature" not in service.requests[0]


@pytest.mark.row("I8")
async def test_token_counts_of_streams_are_asked_for_unless_switched_off(make, service):
    service.replies = [refusal(400, "unknown field stream_options")]
    with pytest.raises(ChatError, match="HTTP 400: unknown field stream_options"):
        await streamed(make())
    assert await streamed(make(stream_usage=False)) == "echo: hi {x}"
    assert "stream_options" not in service.requests[1]


@pytest.mark.row("I4")
@BOTH
async def test_tool_calls_and_parts_go_through(make, service, ask):
    call = {"id": "retrieval", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = (
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "retrieval", "content": "result"},
    )
    assert await ask(make(), messages) == "echo: result"
    assert service.requests[0]["messages"] == list(messages)
    with pytest.raises(ChatError, match="a tool message must answer a preceding tool call"):
        await ask(make(), messages[2:])


@pytest.mark.row("I8")
async def test_content_in_parts_is_joined(make, service):
    parts = [{"type": "text", "text": "so "}, {"type": "reasoning"}, {"type": "text", "text": "it is"}]
    service.replies = [Reply(200, completion(parts))]
    assert await whole(make()) == "so it is"


@pytest.mark.row("I8")
@BOTH
@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
async def test_an_overloaded_or_failing_service_is_asked_again(make, service, ask, status, caplog):
    service.replies = [refusal(status, "busy", retry_after="0")] * 2
    with caplog.at_level(logging.WARNING):
        assert await ask(make(), [{"role": "user", "content": SECRET}]) == f"echo: {SECRET}"
    assert len(service.requests) == 3
    assert caplog.text.count("service_retry") == 2
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.row("I8")
@BOTH
@pytest.mark.parametrize(
    ("reply", "message", "requests"),
    [
        (refusal(400, "context too long"), "HTTP 400: context too long", 1),
        (refusal(401, f"bad key {KEY}"), "HTTP 401: the API key was refused: check api_key", 1),
        (refusal(404, "no model m"), "HTTP 404: no model m", 1),
        (refusal(500, "down"), "HTTP 500: down", 3),
        (Reply(503, b"<html>gateway</html>"), "HTTP 503$", 3),
        (Reply(drop=True), "the request failed", 3),
        (refusal(429, "quota", retry_after="3600"), "HTTP 429: quota", 1),
        (refusal(400, f"bad input: {SECRET}"), "HTTP 400: its message is withheld since it quotes the request", 1),
    ],
)
async def test_a_service_that_goes_on_failing_is_an_error(make, service, ask, reply, message, requests):  # noqa: PLR0917  fixtures and parameters
    service.replies = [reply] * 3
    with pytest.raises(ChatError, match=message) as raised:
        await ask(make(max_retries=2), PRIVATE)
    assert str(raised.value).startswith("openai:127.0.0.1")
    assert SECRET not in str(raised.value)
    assert KEY not in str(raised.value)
    assert len(service.requests) == requests


@pytest.mark.row("I8")
@BOTH
async def test_a_service_that_does_not_answer_in_time(make, service, ask):
    release = threading.Event()
    service.replies = [Reply(200, completion("late"), wait=release)] * 2
    with pytest.raises(ChatError, match="no answer in time: raise timeout"):
        await ask(make(timeout=0.05, max_retries=1))
    release.set()
    assert len(service.requests) == 2


@pytest.mark.row("I8")
@BOTH
async def test_no_service_at_all(ask):
    async with OpenAIChat(model="m", base_url="http://127.0.0.1:9/v1", max_retries=0) as chat:
        with pytest.raises(ChatError, match="no connection: check base_url"):
            await ask(chat)


@pytest.mark.row("I8")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (completion(None, refusal="I will not speak of " + SECRET), "the model refused to answer"),
        (completion(None), r"the answer holds no text \(finish_reason: stop\)"),
        (completion(""), "holds no text"),
        (completion(" \n"), "holds no text"),
        (completion([{"type": "image"}]), "holds no text"),
        ({"choices": []}, "not in the form of OpenAI's chat completions"),
        ({"choices": [{"message": None}]}, "not in the form"),
        ([], "not in the form"),
        (b"not json", "not in the form"),
        (b"[" * 100_000, "not in the form"),
    ],
)
async def test_an_answer_without_text_is_an_error(make, service, body, message):
    service.replies = [Reply(200, body)]
    with pytest.raises(ChatError, match=message) as raised:
        await make().complete(PRIVATE)
    assert SECRET not in str(raised.value)
    assert len(service.requests) == 1


async def test_counts_that_are_none_are_left_out(make, service):
    service.replies = [Reply(200, {**completion("a"), "usage": usage}) for usage in (None, {}, {"prompt_tokens": "3"})]
    assert [(await make().complete(ASKED)).usage for _ in range(3)] == [None, None, None]


@pytest.mark.row("I8")
@pytest.mark.parametrize(
    ("pieces", "said", "message"),
    [
        ([TEXT, b'data: {"error": {"message": "cuda ran out"}}\n\n'], "so", "the answer broke off: cuda ran out"),
        ([TEXT, b'event: error\ndata: {"error": "down"}\n\n'], "so", "the answer broke off: down"),
        ([TEXT, f'data: {{"error": "{SECRET}"}}\n\n'.encode()], "so", "broke off: its message is withheld"),
        ([TEXT, b"data: {]\n\n"], "so", "an event that is not JSON"),
        ([TEXT, b'data: {"a": "\xff"}\n\n'], "so", "not UTF-8"),
        ([TEXT, b'data: {"choices": [3]}\n\n'], "so", "not in the form of OpenAI's"),
        ([TEXT, b"data: 3\n\n"], "so", "not in the form of OpenAI's"),
        ([TEXT], "so", "the stream ended before the model did"),
        ([TEXT, DONE], "so", "the stream ended before the model did"),
        ([END, DONE], "", r"the answer holds no text \(finish_reason: stop\)"),
        ([event(choice={"delta": {"refusal": "no"}}), END, DONE], "", "the model refused to answer"),
        ([], "", "the answer holds no text"),
    ],
)
async def test_a_stream_that_breaks_off_is_never_asked_for_again(make, service, pieces, said, message):
    service.replies = [Stream(pieces)]
    got = []
    with pytest.raises(ChatError, match=message) as raised:
        await read_into(got, make().stream(PRIVATE))
    assert "".join(delta.text for delta in got) == said
    assert SECRET not in str(raised.value)
    assert len(service.requests) == 1


async def read_into(got, stream):
    async for delta in stream:
        got.append(delta)


@pytest.mark.row("I8")
async def test_a_connection_that_breaks_in_the_middle(make, service):
    service.replies = [Stream([TEXT], broken=True)]
    got = []
    with pytest.raises(ChatError, match="the answer broke off: the request failed"):
        await read_into(got, make().stream(ASKED))
    assert [delta.text for delta in got] == ["so"]
    assert len(service.requests) == 1


@pytest.mark.row("I8")
async def test_a_stream_that_falls_silent(make, service):
    release = threading.Event()
    service.replies = [Reply(200, b"", wait=release)]
    with pytest.raises(ChatError, match="no answer in time"):
        await streamed(make(timeout=0.05, max_retries=0))
    release.set()


@pytest.mark.row("I8")
async def test_comments_empty_choices_and_line_ends_of_every_kind(make, service):
    chunk = json.dumps({"choices": [{"delta": {"content": "a\u2028b"}}]}, ensure_ascii=False)
    first, second = chunk[:20], chunk[20:]
    pieces = [
        b": ping\r\n\r\n",
        b"id: 1\r\nevent: message\r\ndata: " + chunk.encode() + b"\r\n\r\n",
        f"data: {first}".encode(),
        f"{second}\r\r".encode(),
        event(choices=[]),
        b"retry: 10\n\n",
        END.rstrip(b"\n"),
    ]
    service.replies = [Stream(pieces)]
    assert await streamed(make()) == "a\u2028b" * 2


@pytest.mark.row("I8")
@pytest.mark.row("I5")
async def test_closing_a_stream_early_closes_its_connection(make, service):
    service.replies = [Stream([TEXT], wait=threading.Event())]
    chat = make()
    stream = chat.stream(ASKED)
    assert (await anext(stream)).text == "so"
    await stream.aclose()
    assert await asyncio.to_thread(service.gone.wait, 5)
    assert await streamed(chat) == "echo: hi {x}"


@pytest.mark.row("L4")
@BOTH
async def test_cancelling_closes_the_connection(make, service, ask):
    if ask is streamed:
        service.replies = [Stream([TEXT], wait=threading.Event())]
    else:
        service.replies = [Reply(200, completion("late"), wait=threading.Event())]
    others = asyncio.all_tasks()
    asking = asyncio.create_task(ask(make()))
    await asyncio.to_thread(service.asked.wait, 5)
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == others
    if ask is streamed:
        assert await asyncio.to_thread(service.gone.wait, 5)


async def test_a_client_that_was_handed_in_stays_open(service):
    async with httpx.AsyncClient() as client:
        async with OpenAIChat(model="m", api_key=KEY, base_url=service.url, client=client) as chat:
            assert await whole(chat) == "echo: hi {x}"
            assert await streamed(chat) == "echo: hi {x}"
        assert not client.is_closed


def test_the_identity_names_host_model_and_settings_but_no_key():
    url = "http://user:pass@localhost:8080/v1"
    plain = OpenAIChat(model="m", base_url=url, api_key=KEY)
    assert plain.identity == "openai:localhost:8080/m"
    assert repr(plain) == "OpenAIChat('openai:localhost:8080/m')"
    one, two = (OpenAIChat(model="m", base_url=url, fields={"max_tokens": n}).identity for n in (1, 2))
    assert one.startswith("openai:localhost:8080/m/settings@")
    assert one != two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must be the name of a model"),
        ({"fields": {"messages": [], "stream": True}}, "fields must leave out messages, stream"),
        ({"stream_usage": "yes"}, "stream_usage must be True or False"),
        ({"timeout": 0}, "timeout must be between"),
        ({"max_retries": -1}, "max_retries must be at least 0"),
        ({"base_url": "localhost"}, "base_url must be a URL"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        OpenAIChat(**{"model": "m", "base_url": "http://localhost/v1", **options})


def test_openai_itself_needs_a_key_which_no_other_service_gets(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        OpenAIChat(model="m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIChat(model="m").identity == "openai:api.openai.com/m"
    assert OpenAIChat(model="m", base_url="http://localhost/v1")._service._headers.get("authorization") is None


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    real = extras.importlib.import_module

    def fail(name, *rest):
        if name == "httpx":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(extras.importlib, "import_module", fail)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragstone\[http\]'"):
        OpenAIChat(model="m", base_url="http://localhost/v1")

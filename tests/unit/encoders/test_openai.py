"""The OpenAI embedder against a strict double of the service on loopback."""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import numpy as np
import pytest

from ragstone import extras
from ragstone.encoders import EmbeddingUsage, OpenAIEmbedder, embed_checked
from ragstone.errors import ConfigurationError, EmbeddingError, MissingDependencyError
from ragstone.ports import Embedder
from support.embedding_service import KEY, answer, refusal, running_service, vector_of
from support.loopback import Reply
from support.stalls import longest_stall

SECRET = "the salary of Jane Doe is not for everyone"


@pytest.fixture
def service():
    with running_service() as service:
        yield service


@pytest.fixture
async def make(service):
    made = []

    def make(**options):
        defaults = {"model": "m", "api_key": KEY, "base_url": service.url, "retry_pause": 0.001, "timeout": 5.0}
        embedder = OpenAIEmbedder(**{**defaults, **options})
        made.append(embedder)
        return embedder

    yield make
    for embedder in made:
        await embedder.aclose()


@pytest.mark.parametrize("encoding_format", ["base64", "float"])
async def test_one_vector_a_text_in_order(make, service, encoding_format):
    service.shuffle = True
    embedder = make(encoding_format=encoding_format)
    assert isinstance(embedder, Embedder)
    vectors = await embed_checked(embedder, ["a", "bcd", ""])
    assert vectors.tolist() == [vector_of("a"), vector_of("bcd"), vector_of("")]
    assert vectors.dtype == np.float32
    assert service.requests == [
        {"path": "/v1/embeddings", "model": "m", "input": ["a", "bcd", ""], "encoding_format": encoding_format}
    ]


async def test_no_texts_make_no_request(make, service):
    assert (await make(dimensions=2).embed([])).shape == (0, 2)
    assert service.requests == []


@pytest.mark.case("S-057")
async def test_250_texts_at_a_limit_of_100_are_three_requests(make, service):
    service.max_inputs = 100
    texts = ["x" * i for i in range(250)]
    vectors = await make(batch_size=100).embed(texts)
    assert [len(request["input"]) for request in service.requests] == [100, 100, 50]
    assert vectors.tolist() == [vector_of(text) for text in texts]


@pytest.mark.case("S-057")
async def test_a_request_that_fails_midway_fails_the_whole_call(make, service):
    service.refuse = lambda texts: refusal(500, "down") if texts[0] == "t100" else None
    with pytest.raises(EmbeddingError, match="HTTP 500: down"):
        await make(batch_size=100, max_retries=0).embed([f"t{i}" for i in range(250)])


async def test_requests_keep_to_the_token_limit_counted_in_bytes(make, service):
    await make(max_batch_tokens=6).embed(["abc", "def", "g", "äö", "longer than six", "h"])
    assert [request["input"] for request in service.requests] == [
        ["abc", "def"], ["g", "äö"], ["longer than six"], ["h"]
    ]  # fmt: skip


async def test_a_request_too_large_for_the_service_is_halved(make, service):
    service.max_inputs = 3
    texts = [str(i) * i for i in range(1, 10)]
    assert (await make().embed(texts)).tolist() == [vector_of(text) for text in texts]
    assert sorted(len(request["input"]) for request in service.requests) == [2, 2, 2, 3, 4, 5, 9]


@pytest.mark.case("S-087")
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_the_one_text_that_the_service_refuses_is_named(make, service, status):
    service.refuse = lambda texts: refusal(status, "maximum context length exceeded") if "bad" in texts else None
    with pytest.raises(EmbeddingError, match=rf"text 12 of 20 was refused: HTTP {status}: maximum context") as raised:
        await make(batch_size=8).embed([*"abcdefghijkl", "bad", *"mnopqrs"])
    assert raised.value.text_index == 12


async def test_usage_is_counted(make):
    embedder = make(batch_size=2)
    assert embedder.usage == EmbeddingUsage(0, 0, 0)
    await embedder.embed(["a", "bcd", "ef"])
    assert embedder.usage == EmbeddingUsage(requests=2, texts=3, tokens=6)


async def test_dimensions_are_asked_for_or_learned(make, service):
    learning, asking = make(), make(dimensions=2)
    assert (learning.dimensions, asking.dimensions) == (None, 2)
    await learning.embed(["a"])
    await asking.embed(["a"])
    assert learning.dimensions == 2
    assert [request.get("dimensions") for request in service.requests] == [None, 2]


@pytest.mark.row("D3")
async def test_another_length_than_asked_for_names_both(make):
    with pytest.raises(EmbeddingError, match="vectors of 2 dimensions came back instead of 3"):
        await make(dimensions=3).embed(["a"])


async def test_prefixes_and_further_fields_go_with_their_kind_of_text(make, service):
    embedder = make(
        query_prefix="query: ",
        document_prefix="passage: ",
        query_fields={"input_type": "query"},
        document_fields={"input_type": "passage"},
    )
    await embedder.embed(["a"], input_type="query")
    await embedder.embed(["a"])
    sent = [(request["input"], request["input_type"]) for request in service.requests]
    assert sent == [(["query: a"], "query"), (["passage: a"], "passage")]


@pytest.mark.parametrize(
    "reply",
    [
        refusal(429, "slow down", Retry_After="0"),
        refusal(429, "slow down", Retry_After="soon"),
        refusal(503, "starting", Retry_After=format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)),
        refusal(408, "too slow"),
        refusal(500, "oops"),
        Reply(502, b"<html>bad gateway</html>"),
        Reply(drop=True),
    ],
    ids=["429", "429-unreadable", "503-dated", "408", "500", "502-html", "dropped"],
)
async def test_a_passing_failure_is_retried_with_a_warning(make, service, reply, caplog):
    service.replies = [reply, reply]
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        assert (await make().embed([SECRET])).tolist() == [vector_of(SECRET)]
    assert len(service.requests) == 3
    assert [record.getMessage().split()[0] for record in caplog.records] == ["service_retry"] * 2
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


async def test_retries_end(make, service):
    service.replies = [refusal(429, "quota exceeded")] * 9
    with pytest.raises(EmbeddingError, match="HTTP 429: quota exceeded"):
        await make(max_retries=2).embed(["a"])
    assert len(service.requests) == 3


async def test_the_pause_that_the_service_asks_for_is_kept(make, service):
    service.replies = [refusal(429, "slow down", Retry_After="1")]
    before = time.monotonic()
    await make().embed(["a"])
    assert 1.0 <= time.monotonic() - before < 3.0


async def test_a_pause_of_more_than_a_minute_is_an_error_at_once(make, service):
    service.replies = [refusal(429, "come back tomorrow", Retry_After="86400")]
    with pytest.raises(EmbeddingError, match="come back tomorrow"):
        await make().embed(["a"])
    assert len(service.requests) == 1


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (refusal(404, "no such model"), "HTTP 404: no such model"),
        (Reply(404, {"message": "no such route"}), "HTTP 404: no such route"),
        (Reply(422, {"detail": "too long"}), "text 0 of 1 was refused: HTTP 422: too long"),
        (Reply(422, {"detail": [{"input": SECRET}]}), "HTTP 422$"),
        (Reply(301, b"", (("location", "http://127.0.0.1:9/"),)), "HTTP 301$"),
        (Reply(403, b"\xff\xfe"), "HTTP 403: the API key was refused: check api_key"),
        (refusal(400, f"cannot embed '{SECRET}'"), "HTTP 400: its message is withheld since it quotes the request"),
        (refusal(400, f"cannot embed '{SECRET[:-4]}…'"), "withheld"),
        (refusal(404, f"nothing for {KEY}"), "withheld"),
    ],
)
async def test_a_refusal_is_not_retried_and_quotes_neither_text_nor_key(make, service, reply, message):
    service.replies = [reply] * 2
    with pytest.raises(EmbeddingError, match=message) as raised:
        await make().embed([SECRET])
    assert len(service.requests) == 1
    assert "salary of Jane" not in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.row("L3")
async def test_a_wrong_key_says_what_to_check(make, service):
    with pytest.raises(EmbeddingError, match="HTTP 401: the API key was refused: check api_key") as raised:
        await make(api_key="sk-wrong-key").embed(["a"])
    assert "sk-" not in str(raised.value)


def numbered(*indices):
    body = answer([[1.0, 2.0]] * len(indices))
    for item, index in zip(body["data"], indices, strict=True):
        item["index"] = index
    return Reply(200, body)


@pytest.mark.case("S-058")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (numbered(0), "2 texts went in and 1 vectors came back"),
        (numbered(0, 1, 2), "2 texts went in and 3 vectors came back"),
        (numbered(0, 0), "not numbered from 0 to 1, each once"),
        (numbered(1, 2), "not numbered from 0 to 1, each once"),
        (numbered("0", "1"), "not numbered from 0 to 1, each once"),
        (Reply(200, answer([[1.0, 2.0], [math.nan, 1.0]])), "text 1 holds NaN or infinity"),
        (Reply(200, answer([[1.0, 2.0], [1e300, 1.0]])), "text 1 holds NaN or infinity"),
        (Reply(200, answer([[1.0, 2.0], [1.0]])), "different lengths"),
        (Reply(200, answer([[1.0], [None]])), "numbers are due"),
        (Reply(200, answer([["1"], ["2"]])), "numbers are due"),
        (Reply(200, answer(["AAA", "AAAA"])), "not in the form of OpenAI's embeddings"),
        (Reply(200, answer(["AAAA", "AAAA"])), "not in the form of OpenAI's embeddings"),
        (Reply(200, {"data": [{"embedding": [1.0]}]}), "not in the form of OpenAI's embeddings"),
        (Reply(200, {"data": None}), "not in the form of OpenAI's embeddings"),
        (Reply(200, []), "not in the form of OpenAI's embeddings"),
        (Reply(200, b"<html>"), "not in the form of OpenAI's embeddings"),
        (Reply(200, b"\xff"), "not in the form of OpenAI's embeddings"),
    ],
)
async def test_an_answer_that_does_not_fit_the_question_is_an_error(make, service, reply, message):
    service.replies = [reply]
    with pytest.raises(EmbeddingError, match=message):
        await make().embed(["a", "b"])
    assert len(service.requests) == 1


async def test_the_place_of_a_bad_vector_counts_over_all_requests(make, service):
    service.refuse = lambda texts: Reply(200, answer([[math.inf, 0.0]])) if texts == ["c"] else None
    with pytest.raises(EmbeddingError, match="text 2 holds") as raised:
        await make(batch_size=1).embed(["a", "b", "c"])
    assert raised.value.text_index == 2


async def test_an_answer_without_usage_counts_no_tokens(make, service):
    service.replies = [Reply(200, answer([[1.0]], usage=None))]
    embedder = make()
    await embedder.embed(["a"])
    assert embedder.usage == EmbeddingUsage(1, 1, 0)


async def test_a_slow_service_is_given_up_after_the_timeout(make, service):
    wait = threading.Event()
    service.replies = [Reply(200, answer([[1.0]]), wait=wait)] * 2
    with pytest.raises(EmbeddingError, match="no answer in time"):
        await make(timeout=0.4, max_retries=1).embed(["a"])
    wait.set()
    assert len(service.requests) == 2


async def test_a_service_that_is_not_there_says_what_to_check(make):
    with pytest.raises(EmbeddingError, match="no connection: check base_url"):
        await make(base_url="http://127.0.0.1:9/v1", max_retries=1).embed(["a"])


@pytest.mark.row("L4")
@pytest.mark.parametrize("moment", ["request", "pause"])
async def test_cancellation_is_prompt_and_never_retried(make, service, moment):
    wait = threading.Event()
    slow = Reply(200, answer([[1.0]]), wait=wait)
    service.replies = [slow if moment == "request" else refusal(429, "slow down", Retry_After="30")]
    call = asyncio.create_task(make().embed(["a"]))
    await asyncio.to_thread(service.asked.wait, 5)
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 1)
    wait.set()
    assert len(service.requests) == 1


@pytest.mark.case("S-053")
def test_identity_tells_apart_whatever_changes_the_vectors(make):
    options = [
        {},
        {"model": "n"},
        {"dimensions": 2},
        {"base_url": "https://embeddings.example/v1"},
        {"query_prefix": "query: "},
        {"document_prefix": "query: "},
        {"query_fields": {"input_type": "query"}},
        {"document_fields": {"input_type": "query"}},
    ]
    assert len({make(**each).identity for each in options}) == len(options)
    assert make(dimensions=2, base_url="https://embeddings.example/v1").identity == "openai:embeddings.example/m@2"
    assert make().identity == make(batch_size=7, timeout=1.0, api_key="another", encoding_format="float").identity


def test_neither_key_nor_password_is_shown(make):
    embedder = make(base_url="https://user:password@embeddings.example/v1")
    for shown in (repr(embedder), str(embedder), embedder.identity):
        assert KEY not in shown
        assert "password" not in shown


async def test_the_environments_key_is_for_openai_alone(monkeypatch, service, make):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIEmbedder(model="m").identity == "openai:api.openai.com/m"
    with pytest.raises(EmbeddingError, match="HTTP 401"):
        await make(api_key=None).embed(["a"])
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigurationError, match="pass api_key, or set OPENAI_API_KEY"):
        OpenAIEmbedder(model="m")


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must be the name"),
        ({"base_url": "localhost:8000"}, "base_url must be a URL"),
        ({"base_url": "ftp://host/v1"}, "base_url must be a URL"),
        ({"dimensions": 0}, "dimensions must be at least 1, not 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"max_batch_tokens": 0}, "max_batch_tokens must be at least 1, not 0"),
        ({"encoding_format": "hex"}, "encoding_format must be 'base64' or 'float', not 'hex'"),
        ({"timeout": 0}, "timeout must be between"),
        ({"max_retries": -1}, "max_retries must be at least 0, not -1"),
        ({"retry_pause": math.nan}, "retry_pause must be finite"),
        ({"query_fields": {"model": "x", "input": "y"}}, "query_fields must leave out input, model"),
        ({"document_fields": {"dimensions": 3}}, "document_fields must leave out dimensions"),
    ],
)
def test_a_bad_option_is_refused_where_it_is_written(make, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**options)


@pytest.mark.parametrize("package", ["httpx", "tenacity"])
def test_a_missing_package_is_one_pip_command(make, monkeypatch, package):
    real = extras.importlib.import_module

    def fail(name, *rest):
        if name == package:
            raise ModuleNotFoundError(name=package)
        return real(name, *rest)

    monkeypatch.setattr(extras.importlib, "import_module", fail)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragstone\[http\]'"):
        make()


async def test_a_client_that_was_handed_in_stays_open(make):
    async with httpx.AsyncClient() as client:
        async with make(client=client) as embedder:
            await embedder.embed(["a"])
        assert not client.is_closed


async def test_a_client_of_its_own_is_closed_and_made_anew(make):
    async with make() as embedder:
        await embedder.embed(["a"])
    assert (await embedder.embed(["b"])).tolist() == [vector_of("b")]


def test_one_embedder_serves_several_event_loops(service):
    embedder = OpenAIEmbedder(model="m", api_key=KEY, base_url=service.url)

    async def use():
        async with embedder:
            return await embedder.embed(["a"])

    assert asyncio.run(use()).tolist() == asyncio.run(use()).tolist()


async def test_a_large_answer_holds_up_the_loop_only_shortly(make, service):
    vectors = np.random.default_rng(1).standard_normal((256, 1536)).astype("<f4")
    reply = Reply(200, answer([base64.b64encode(row.tobytes()).decode() for row in vectors]))
    embedder = make()

    async def work():
        service.replies = [reply]
        np.testing.assert_array_equal(await embedder.embed(["x"] * 256), vectors)

    assert await longest_stall(work, limit=0.1) < 0.1

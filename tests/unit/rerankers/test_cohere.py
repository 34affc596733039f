"""The Cohere reranker against a strict double of the service, which the vendor's own client proves."""

from __future__ import annotations

import asyncio
import logging
import math
import threading

import cohere
import httpx
import pytest

import ragstone as rs
from ragstone.errors import ConfigurationError, RerankError
from ragstone.options import RetrievalOptions
from ragstone.ports import Reranker
from support.loopback import Reply, serving
from support.parts import names, searching
from support.retrieval import hit
from support.vendors import KEY, Cohere, rerank_answer

SECRET = "the salary of Jane Doe is not for everyone"
TEXTS = ["the tower is tall", "paid leave for parents", "paid lunch"]


@pytest.fixture
def service():
    with serving(Cohere) as service:
        yield service


@pytest.fixture
async def make(service):
    made = []

    def make(**options):
        defaults = {"api_key": KEY, "base_url": service.url, "retry_pause": 0.001, "timeout": 5.0}
        reranker = rs.CohereReranker(**{**defaults, **options})
        made.append(reranker)
        return reranker

    yield make
    for reranker in made:
        await reranker.aclose()


async def test_the_vendors_client_and_ours_get_the_same_scores_for_the_same_request(make, service):
    async with cohere.AsyncClientV2(api_key=KEY, base_url=service.url) as client:
        answer = await client.rerank(model="rerank-v3.5", query="paid leave", documents=TEXTS, max_tokens_per_doc=512)
    theirs = {item.index: item.relevance_score for item in answer.results}
    ours = await make(max_tokens_per_doc=512).rerank("paid leave", TEXTS)
    assert ours == [theirs[index] for index in range(3)] == [0.0, 1.0, 0.5]
    assert service.requests[0] == service.requests[1]


@pytest.mark.row("G3")
async def test_scores_are_mapped_back_by_index_in_the_order_of_the_texts(make, service):
    reranker = make(model="rerank-v4")
    assert isinstance(reranker, Reranker)
    assert await reranker.rerank("paid leave", TEXTS) == [0.0, 1.0, 0.5]
    assert service.requests == [{"path": "/v2/rerank", "model": "rerank-v4", "query": "paid leave", "documents": TEXTS}]


@pytest.mark.row("G3")
async def test_no_texts_make_no_request_and_more_than_a_thousand_several(make, service):
    assert await make().rerank("q", []) == []
    assert service.requests == []
    scores = await make().rerank("x7", [f"x{i}" for i in range(2100)])
    assert [len(request["documents"]) for request in service.requests] == [1000, 1000, 100]
    assert scores == [float(i == 7) for i in range(2100)]


@pytest.mark.case("S-086")
@pytest.mark.row("G3")
@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(7, 0.5)], "index 7 is none of the 5 texts that were sent"),
        ([(-1, 0.5)], "index -1 is none of the 5"),
        ([("0", 0.5)], "index '0' is none of the 5"),
        ([(True, 0.5)], "index True is none of the 5"),
        ([(1.0, 0.5)], "index 1.0 is none of the 5"),
        ([(2, 0.5), (2, 0.4)], "index 2 has two scores"),
        ([(2, math.nan), (0, 0.3)], "the score of index 2 is no finite number"),
        ([(2, None)], "the score of index 2 is no finite number"),
        ([(2, "0.5")], "the score of index 2 is no finite number"),
        ([(2, True)], "the score of index 2 is no finite number"),
        ([], "5 texts went in and no score came back"),
    ],
)
async def test_an_index_or_score_that_does_not_fit_is_an_error_and_the_page_keeps_its_order(
    make, service, pairs, message
):
    service.replies = [Reply(200, rerank_answer(*pairs))] * 2
    with pytest.raises(RerankError, match=message):
        await make().rerank("q", ["a", "b", "c", "d", "e"])
    page = await searching([hit(name, 0.5) for name in "abcde"], reranker=make()).retrieve("q", RetrievalOptions())
    assert names(page) == list("abcde")
    assert message in page.warnings[0]


@pytest.mark.case("S-086")
@pytest.mark.row("G3")
async def test_texts_that_the_service_left_out_come_last_and_no_score_is_paired_wrongly(make, service):
    service.replies = [Reply(200, rerank_answer((4, 0.9), (1, 0.2)))] * 2
    assert await make().rerank("q", ["a", "b", "c", "d", "e"]) == [None, 0.2, None, None, 0.9]
    page = await searching([hit(f"c{i}", 0.5) for i in range(5)], reranker=make()).retrieve("q", RetrievalOptions())
    assert [(r.chunk.document_id, r.score) for r in page][:2] == [("c4", 0.9), ("c1", 0.2)]
    assert names(page)[2:] == ["c0", "c2", "c3"]


@pytest.mark.row("G3")
@pytest.mark.parametrize(
    "body", [b"<html>", b"\xff", [], {"results": None}, {"results": [7]}, {"results": [{"index": 0}]}, {"data": []}]
)
async def test_an_answer_in_another_form_is_an_error(make, service, body):
    service.replies = [Reply(200, body)]
    with pytest.raises(RerankError, match="not in the form of Cohere's"):
        await make().rerank("q", ["a"])


@pytest.mark.row("G3")
@pytest.mark.parametrize(
    "reply", [Reply(429, {"message": "slow down"}), Reply(503, b""), Reply(drop=True)], ids=["429", "503", "dropped"]
)
async def test_a_passing_failure_is_retried(make, service, reply, caplog):
    service.replies = [reply, reply]
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        assert await make().rerank("paid leave", [SECRET, "paid leave"]) == [0.0, 1.0]
    assert len(service.requests) == 3
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.row("G3")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(404, {"message": "model 'rerank-v3.5' not found"}), "HTTP 404: model 'rerank-v3.5' not found"),
        (Reply(400, {"message": f"cannot read '{SECRET}'"}), "its message is withheld since it quotes the request"),
        (Reply(498, {"message": f"blocked {KEY}"}), "withheld"),
        (Reply(429, {"message": "trial limit"}, (("retry-after", "86400"),)), "HTTP 429: trial limit"),
    ],
)
async def test_a_refusal_quotes_neither_text_nor_key(make, service, reply, message):
    service.replies = [reply]
    with pytest.raises(RerankError, match=message) as raised:
        await make().rerank("q", [SECRET])
    assert len(service.requests) == 1
    assert str(raised.value).startswith(f"cohere:{service.url.removeprefix('http://')}/rerank-v3.5: HTTP ")
    assert "salary of Jane" not in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.row("G3")
async def test_a_wrong_key_says_what_to_check_and_is_not_shown(make):
    with pytest.raises(RerankError, match="HTTP 401: the API key was refused: check api_key") as raised:
        await make(api_key="wrong-key-42").rerank("q", ["a"])
    assert "wrong-key-42" not in str(raised.value)


@pytest.mark.row("G3")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": ""}, "api_key must be the key of a Cohere account"),
        ({"api_key": "  "}, "api_key must be the key of a Cohere account"),
        ({"model": ""}, "model must be the name"),
        ({"base_url": "api.cohere.com"}, "base_url must be a URL"),
        ({"max_tokens_per_doc": 0}, "max_tokens_per_doc must be at least 1, not 0"),
        ({"timeout": 0}, "timeout must be between"),
        ({"max_retries": -1}, "max_retries must be at least 0"),
    ],
)
def test_a_bad_option_is_refused_where_it_is_written(make, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**options)


def test_the_key_is_needed():
    with pytest.raises(TypeError, match="api_key"):
        rs.CohereReranker()


@pytest.mark.row("G3")
def test_identity_tells_settings_apart_and_nothing_shows_the_key(make):
    options = [{}, {"model": "n"}, {"base_url": "https://rerank.example"}, {"max_tokens_per_doc": 9}]
    assert len({make(**each).identity for each in options}) == 4
    assert make().identity == make(timeout=1.0, api_key="another").identity
    reranker = make(base_url="https://user:password@rerank.example")
    for shown in (repr(reranker), str(reranker), reranker.identity):
        assert KEY not in shown
        assert "password" not in shown


@pytest.mark.row("L4")
@pytest.mark.row("G3")
async def test_cancellation_is_prompt_and_never_retried(make, service):
    wait = threading.Event()
    service.replies = [Reply(200, rerank_answer((0, 0.5)), wait=wait)]
    call = asyncio.create_task(make().rerank("q", ["a"]))
    await asyncio.to_thread(service.asked.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 1)
    wait.set()
    assert len(service.requests) == 1


async def test_a_client_that_was_handed_in_stays_open(make):
    async with httpx.AsyncClient() as client:
        async with make(client=client) as reranker:
            await reranker.rerank("q", ["a"])
        assert not client.is_closed

"""Tavily's web search against a strict double of the service, which the vendor's own client proves."""

from __future__ import annotations

import asyncio
import logging
import threading

import httpx
import pytest
from tavily import AsyncTavilyClient

import ragstone as rs
from ragstone import extras
from ragstone.errors import ConfigurationError, MissingDependencyError, WebSearchError
from ragstone.models import WebResult
from ragstone.options import RetrievalOptions
from ragstone.ports import WebSearch
from support.loopback import Reply, serving
from support.parts import names, searching
from support.vendors import KEY, Tavily, page, search_answer

SECRET = "is Jane Doe about to be dismissed"


@pytest.fixture
def service():
    with serving(Tavily) as service:
        yield service


@pytest.fixture
async def make(service):
    made = []

    def make(**options):
        defaults = {"api_key": KEY, "base_url": service.url, "retry_pause": 0.001, "timeout": 5.0, "max_retries": 0}
        search = rs.TavilyWebSearch(**{**defaults, **options})
        made.append(search)
        return search

    yield make
    for search in made:
        await search.aclose()


async def test_the_vendors_client_and_ours_get_the_same_pages_for_the_same_request(make, service):
    async with AsyncTavilyClient(api_key=KEY, api_base_url=service.url) as client:
        answer = await client.search("AI act", max_results=2, search_depth="advanced")
    ours = await make(search_depth="advanced").search("AI act", max_results=2)
    assert [(p.url, p.title, p.text) for p in ours] == [(p["url"], p["title"], p["content"]) for p in answer["results"]]
    assert service.requests[0] == service.requests[1]


@pytest.mark.row("F6")
async def test_pages_come_back_best_first(make, service):
    search = make()
    assert isinstance(search, WebSearch)
    assert await search.search("AI act", max_results=2) == [
        WebResult(url="https://example.org/0", title="Title 0", text="Passage 0."),
        WebResult(url="https://example.org/1", title="Title 1", text="Passage 1."),
    ]
    assert service.requests == [{"path": "/search", "query": "AI act", "max_results": 2, "search_depth": "basic"}]


@pytest.mark.row("F6")
async def test_no_more_is_asked_for_than_the_service_gives_and_no_more_is_returned_than_asked_for(make, service):
    assert len(await make().search("q", max_results=50)) == 20
    assert service.requests[0]["max_results"] == 20
    service.replies = [Reply(200, search_answer(*(page(i) for i in range(9))))]
    assert len(await make().search("q", max_results=3)) == 3
    with pytest.raises(ConfigurationError, match="max_results must be at least 1, not 0"):
        await make().search("q", max_results=0)


@pytest.mark.row("F6")
async def test_pages_without_address_or_text_are_passed_over_and_half_characters_replaced(make, service):
    pages = [page(0, url=""), page(1, content=" "), page(2, content=None), page(3, title=None, content="a \ud83d b")]
    service.replies = [Reply(200, search_answer(*pages))]
    assert await make().search("q", max_results=5) == [WebResult(url="https://example.org/3", title="", text="a ? b")]


@pytest.mark.row("F6")
@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"\xff",
        [],
        {},
        {"results": None},
        {"results": ["p"]},
        {"results": [{"url": "u"}]},
        search_answer(page(0, url=7)),
        search_answer(page(0, content=["a"])),
    ],
)
async def test_an_answer_in_another_form_is_an_error(make, service, body):
    service.replies = [Reply(200, body)]
    with pytest.raises(WebSearchError, match="not in the form of Tavily's"):
        await make().search("q", max_results=5)


@pytest.mark.row("F6")
@pytest.mark.parametrize(
    "reply", [Reply(429, {"detail": {"error": "slow down"}}), Reply(500, b"oops"), Reply(drop=True)], ids=str
)
async def test_a_passing_failure_is_retried(make, service, reply, caplog):
    service.replies = [reply, reply]
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        assert len(await make(max_retries=2).search(SECRET, max_results=1)) == 1
    assert len(service.requests) == 3
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.row("F6")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(400, {"detail": {"error": "Query is too long."}}), "HTTP 400: Query is too long."),
        (
            Reply(432, {"detail": {"error": "This request exceeds your plan"}}),
            "HTTP 432: This request exceeds your plan",
        ),
        (Reply(400, {"detail": {"error": f"cannot search '{SECRET}'"}}), "withheld since it quotes the request"),
        (Reply(401, {"detail": {"error": f"bad key {KEY}"}}), "HTTP 401: the API key was refused: check api_key"),
    ],
)
async def test_a_refusal_quotes_neither_query_nor_key(make, service, reply, message):
    service.replies = [reply]
    with pytest.raises(WebSearchError, match=message) as raised:
        await make(max_retries=2).search(SECRET, max_results=1)
    assert len(service.requests) == 1
    assert "Jane" not in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.row("F6")
async def test_after_failures_in_a_row_the_service_is_left_alone_for_a_while(make, service):
    service.replies = [Reply(503, b"")] * 4
    search = make(failures=2, rest=0.3, max_retries=1)
    for _ in range(2):
        with pytest.raises(WebSearchError, match="HTTP 503"):
            await search.search("q", max_results=1)
    assert len(service.requests) == 4
    for _ in range(3):
        with pytest.raises(WebSearchError, match=r"not asked, since the last 2 calls failed: it is asked again in 1 s"):
            await search.search("q", max_results=1)
    assert len(service.requests) == 4
    await asyncio.sleep(0.35)
    assert len(await search.search("q", max_results=1)) == 1
    assert len(await search.search("q", max_results=1)) == 1


@pytest.mark.row("F6")
async def test_a_failure_after_the_rest_opens_the_circuit_again_at_once(make, service):
    service.replies = [Reply(503, b"")] * 3
    search = make(failures=2, rest=0.2)
    for _ in range(2):
        with pytest.raises(WebSearchError, match="HTTP 503"):
            await search.search("q", max_results=1)
    await asyncio.sleep(0.25)
    with pytest.raises(WebSearchError, match="HTTP 503"):
        await search.search("q", max_results=1)
    with pytest.raises(WebSearchError, match="not asked"):
        await search.search("q", max_results=1)
    assert len(service.requests) == 3


@pytest.mark.row("F6")
@pytest.mark.parametrize("between", [None, Reply(400, {"detail": {"error": "no"}})], ids=["success", "refusal"])
async def test_only_failures_in_a_row_count_and_a_refusal_shows_that_the_service_is_well(make, service, between):
    down = Reply(503, b"")
    search = make(failures=2)
    for _ in range(3):
        service.replies = [down]
        with pytest.raises(WebSearchError, match="HTTP 503"):
            await search.search("q", max_results=1)
        if between is None:
            await search.search("q", max_results=1)
        else:
            service.replies = [between]
            with pytest.raises(WebSearchError, match="HTTP 400: no"):
                await search.search("q", max_results=1)
    assert len(service.requests) == 6


@pytest.mark.row("L4")
@pytest.mark.row("F6")
async def test_a_cancelled_search_is_neither_retried_nor_counted(make, service):
    wait = threading.Event()
    search = make(failures=2, rest=0.2, max_retries=2)
    service.replies = [Reply(503, b"")] * 6
    for _ in range(2):
        with pytest.raises(WebSearchError, match="HTTP 503"):
            await search.search("q", max_results=1)
    await asyncio.sleep(0.25)
    service.asked.clear()
    service.replies = [Reply(200, search_answer(page(0)), wait=wait)]
    call = asyncio.create_task(search.search("q", max_results=1))
    await asyncio.to_thread(service.asked.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 1)
    wait.set()
    assert len(service.requests) == 7
    service.replies = [Reply(503, b"")] * 3
    with pytest.raises(WebSearchError, match="HTTP 503"):
        await search.search("q", max_results=1)
    with pytest.raises(WebSearchError, match="not asked"):
        await search.search("q", max_results=1)


@pytest.mark.row("F6")
@pytest.mark.row("F5")
async def test_corrective_retrieval_searches_it_and_gets_over_its_failures(make, service):
    retriever = searching([], web_search=make(failures=1))
    options = RetrievalOptions(top_k=2, use_crag=True)
    page = await retriever.retrieve("AI act", options)
    assert names(page) == ["https://example.org/0", "https://example.org/1"]
    service.replies = [Reply(503, b"")]
    for message in ("HTTP 503", "not asked, since the last call failed"):
        page = await retriever.retrieve("AI act", options)
        assert message in page.warnings[0]


@pytest.mark.row("F6")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": ""}, "api_key must be the key of a Tavily account"),
        ({"api_key": " "}, "api_key must be the key of a Tavily account"),
        ({"search_depth": "deep"}, "search_depth must be 'basic' or 'advanced', not 'deep'"),
        ({"base_url": "tavily"}, "base_url must be a URL"),
        ({"failures": 0}, "failures must be at least 1, not 0"),
        ({"rest": 0}, "rest must be between"),
        ({"max_retries": -1}, "max_retries must be at least 0"),
    ],
)
def test_a_bad_option_is_refused_where_it_is_written(make, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**options)


@pytest.mark.row("F6")
def test_identity_tells_settings_apart_and_nothing_shows_the_key(make):
    options = [{}, {"search_depth": "advanced"}, {"base_url": "https://tavily.example"}]
    assert len({make(**each).identity for each in options}) == 3
    search = make(base_url="https://user:password@tavily.example")
    for shown in (repr(search), str(search), search.identity):
        assert KEY not in shown
        assert "password" not in shown


@pytest.mark.parametrize("package", ["httpx", "circuitbreaker"])
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
        async with make(client=client) as search:
            await search.search("q", max_results=1)
        assert not client.is_closed

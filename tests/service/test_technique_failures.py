"""Query techniques together, and each over a store that fails or hangs: beyond what `test_failures` proves of one."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

import ragstone as rs
from ragstone.errors import ChatError, RagError, StoreError
from ragstone.stores import InMemoryVectorStore
from ragstone.testing import FailingChat, FailingEmbedder, HangingChat, HangingEmbedder, HashEmbedder, ScriptedChat
from support.techniques import HYDE, MULTI_QUERY, SECRET, SUFFICIENT, names, pipeline, reply_of

QUERY = f"the exact number of weeks of paid leave for parents {SECRET}"
ANSWERS = reply_of(
    {
        "hyde": "New parents take sixteen weeks of paid leave.",
        "multi_query": "leave of parents\nweeks of leave",
        "verdict": json.dumps({"sufficient": False, "subQueries": ["lost laptop", "canteen"]}),
        "adaptive": "simple",
    }
)
TECHNIQUES = {
    "hyde": {"hyde": rs.HydeOptions(prompt_template=HYDE)},
    "multi_query": {"multi_query": rs.MultiQueryOptions(prompt_template=MULTI_QUERY)},
    "both": {
        "hyde": rs.HydeOptions(prompt_template=HYDE),
        "multi_query": rs.MultiQueryOptions(prompt_template=MULTI_QUERY),
    },
    "adaptive": {},
    "deep_research": {"deep_research": rs.DeepResearchOptions(sufficiency_prompt=SUFFICIENT)},
    "all": {
        "hyde": rs.HydeOptions(prompt_template=HYDE),
        "multi_query": rs.MultiQueryOptions(prompt_template=MULTI_QUERY),
        "deep_research": rs.DeepResearchOptions(sufficiency_prompt=SUFFICIENT),
    },
}
ROWS = {"hyde": "F1", "multi_query": "F2", "both": "F3", "adaptive": "F4", "deep_research": "F7", "all": "F3"}


def each(names):
    marks = {name: [pytest.mark.row(ROWS[name]), pytest.mark.row("L4")] for name in names}
    return pytest.mark.parametrize("technique", [pytest.param(name, marks=own) for name, own in marks.items()])


each_technique = each(ROWS)
each_combination = each(["both", "all"])


def options_of(technique):
    return rs.RetrievalOptions(use_adaptive_retrieval=technique == "adaptive", use_hybrid_search=True)


async def built(technique, **parts):
    return await pipeline(**parts, **TECHNIQUES[technique])


@pytest.fixture(autouse=True)
async def _no_task_is_left():
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


class StubbornChat(HangingChat):
    """Makes an error of its own of every cancellation, as careless clients do."""

    async def complete(self, messages, *, temperature=None):
        try:
            return await super().complete(messages, temperature=temperature)
        except asyncio.CancelledError:
            raise ChatError("the connection was closed") from None


async def cancelled_when(started, work):
    task = asyncio.create_task(work)
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


@each_combination
async def test_it_serves(technique):
    rag = await built(technique, chat=ScriptedChat(ANSWERS))
    page = await rag.retrieve(QUERY, options_of(technique))
    assert names(page)[0] == "leave"
    assert not page.warnings


@each_combination
@pytest.mark.parametrize("error", [ChatError("overloaded"), OSError(SECRET), TimeoutError(), ValueError(SECRET)])
@pytest.mark.parametrize("after", [0, 1])
async def test_a_chat_model_that_fails_costs_the_technique_and_not_the_page(technique, error, after, caplog):
    chat = FailingChat(error, after=after, replies=ANSWERS)
    rag = await built(technique, chat=chat)
    with caplog.at_level(logging.DEBUG, logger="ragstone"):
        page = await rag.retrieve(QUERY, options_of(technique))
    assert names(page)[0] == "leave"
    if chat.calls > after:
        assert any(type(error).__name__ in warning for warning in page.warnings)
        assert type(error).__name__ in caplog.text
    assert SECRET not in caplog.text


@each_combination
@pytest.mark.parametrize("kind", [HangingChat, StubbornChat])
async def test_a_chat_model_that_hangs_is_cancelled_with_the_call(technique, kind):
    chat = kind(ANSWERS)
    rag = await built(technique, chat=chat)
    await cancelled_when(chat.started, rag.retrieve(QUERY, options_of(technique)))
    assert chat.cancelled == chat.calls > 0
    chat.release.set()
    assert names(await rag.retrieve(QUERY, options_of(technique)))[0] == "leave"


@each_combination
async def test_a_time_limit_ends_a_call_whose_chat_model_hangs(technique):
    chat = StubbornChat(ANSWERS)
    rag = await built(technique, chat=chat)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await rag.retrieve(QUERY, options_of(technique))
    assert chat.cancelled == chat.calls > 0


@each_combination
async def test_an_embedder_that_hangs_is_cancelled_with_the_call(technique):
    embedder = HangingEmbedder(512)
    embedder.release.set()
    rag = await built(technique, embedder=embedder, chat=ScriptedChat(ANSWERS))
    embedder.started.clear()
    embedder.release.clear()
    await cancelled_when(embedder.started, rag.retrieve(QUERY, options_of(technique)))
    assert embedder.cancelled == len(embedder.requests) > 0


@each_combination
async def test_an_embedder_that_fails_leaves_the_keywords(technique):
    embedder = FailingEmbedder(after=1000, dimensions=512)
    rag = await built(technique, embedder=embedder, chat=ScriptedChat(ANSWERS))
    embedder._failure.after = 0
    page = await rag.retrieve(QUERY, options_of(technique))
    assert "leave" in names(page)
    assert any("the dense arm failed" in warning for warning in page.warnings)


class FaultyStore(InMemoryVectorStore):
    """Fails or hangs from its nth search on."""

    def __init__(self, *, after, hang=False):
        super().__init__()
        self.after, self.hang = after, hang
        self.searches = self.cancelled = 0
        self.started = asyncio.Event()

    async def search(self, embedding, options):
        self.searches += 1
        if self.searches <= self.after:
            return await super().search(embedding, options)
        self.started.set()
        if not self.hang:
            raise StoreError("the store is away")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError


@each_technique
@pytest.mark.parametrize("after", [0, 1])
async def test_a_store_that_hangs_is_cancelled_with_the_call(technique, after):
    store = FaultyStore(after=after, hang=True)
    rag = await built(technique, store=store, chat=ScriptedChat(ANSWERS))
    work = rag.retrieve(QUERY, rs.RetrievalOptions(use_adaptive_retrieval=technique == "adaptive"))
    if after and technique in ("hyde", "adaptive"):
        assert names(await work)[0] == "leave"
        return
    await cancelled_when(store.started, work)
    assert store.cancelled == store.searches - after > 0


@each_technique
@pytest.mark.parametrize("after", [0, 1])
async def test_a_store_that_fails_ends_the_call_only_where_the_query_itself_cannot_be_searched(technique, after):
    store = FaultyStore(after=after)
    rag = await built(technique, store=store, chat=ScriptedChat(ANSWERS))
    work = rag.retrieve(QUERY, rs.RetrievalOptions(use_adaptive_retrieval=technique == "adaptive"))
    if after == 0:
        with pytest.raises(StoreError, match="away"):
            await work
        return
    page = await work
    assert names(page)[0] == "leave"
    assert bool(page.warnings) == (technique not in ("hyde", "adaptive"))


class SlowForOthers(InMemoryVectorStore):
    """Fails for the query itself and hangs for every other, told apart by the embedding."""

    def __init__(self, own):
        super().__init__()
        self.own = own
        self.cancelled = 0
        self.others = asyncio.Event()

    async def search(self, embedding, options):
        if (embedding == self.own).all():
            await self.others.wait()
            raise StoreError("the store is away")
        self.others.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError


@pytest.mark.row("F2")
async def test_when_the_query_itself_fails_its_variants_are_not_waited_for():
    embedder = HashEmbedder(512)
    store = SlowForOthers(embedder.vectors([QUERY])[0])
    rag = await built("multi_query", embedder=embedder, store=store, chat=ScriptedChat(ANSWERS))
    with pytest.raises(RagError, match="away"):
        await asyncio.wait_for(rag.retrieve(QUERY), 5)
    assert store.cancelled == 2

"""Every collaborator of a call while it answers, fails, hangs, and makes an error of its cancellation.

What the call does without it is a row of a table: `FALLBACKS` where it goes on and says so, `NEEDED` where it cannot.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest

import ragstone as rs
from ragstone.errors import RagError
from ragstone.models import WebResult
from ragstone.stores import InMemoryBm25Index, InMemoryParentChunkStore, InMemoryVectorStore
from ragstone.testing import HashEmbedder, HashSparseEncoder, ScriptedChat, ScriptedReranker, ScriptedWebSearch
from support.backends import DictBackend
from support.parts import ScriptedCompressor, ScriptedGuard
from support.switches import PATIENCE, Switch, switched
from support.techniques import HYDE, MULTI_QUERY, SECRET, SUFFICIENT, names, pipeline, reply_of

QUERY = f"the exact number of weeks of paid leave for parents {SECRET}"
LONG = f"Paid leave for parents is sixteen weeks {SECRET}. Lunch is at noon. The tower is ninety metres high."
TAG = "benefits"
HYBRID = rs.RetrievalOptions(use_hybrid_search=True)
KEYWORDS_AND_MMR = rs.RetrievalOptions(
    use_hybrid_search=True, use_mmr=True, ensemble_options=rs.EnsembleOptions(dense_weight=0.0)
)
CRAG = rs.RetrievalOptions(use_crag=True, crag_score_threshold=1.0, crag_fallback_mode="append")
GRADED = rs.RetrievalOptions(use_crag=True, crag_score_threshold=0.0)
PAGE = WebResult(url="https://example.org/", title="Leave", text="Paid leave is sixteen weeks.")
COMPRESSION = {"keep_top_sentences": 1, "in_retrieval": True}


@dataclass(frozen=True)
class Case:
    """A collaborator, and what is documented of it.

    Attributes:
        row: The row that documents it.
        parts: The pipeline's parts, the collaborator among them behind the switch.
        options: Of the call.
        how: What is called.
        calls: How often the collaborator is asked when it answers.
        failing: How often when it fails.
        warning: What the record of the call says then; `None` where only the log does.
        log: What the log says.
        blocking: Whether it blocks a worker thread, which nothing can cancel.
        finishes: Whether what it has begun is finished before a cancellation goes on.
    """

    row: str
    parts: Callable[[Switch], dict[str, Any]]
    options: rs.RetrievalOptions = rs.RetrievalOptions()  # noqa: RUF009  frozen
    how: Literal["retrieve", "ask", "stream", "converse", "ingest"] = "retrieve"
    calls: int = 1
    failing: int = 1
    warning: str | None = None
    log: str = ""
    blocking: bool = False
    finishes: bool = False


def chat(switch, **answers):
    return switched(ScriptedChat(reply_of(answers) if answers else "short"), switch, "_pause")


def embedder(switch, when=lambda *_, **__: True):
    return switched(HashEmbedder(512), switch, "embed", when=when)


def store(switch, *methods):
    return switched(InMemoryVectorStore(), switch, *methods)


def backend(switch):
    return switched(DictBackend(), switch, "get", "set")


def of_passages(texts, *, input_type="document"):
    return input_type == "document"


def of_tags(texts, *, input_type="document"):
    return list(texts) == [TAG]


def memory(switch, method):
    return rs.PersistentMemory(store(switch, method), HashEmbedder(512))


FALLBACKS = {
    "sparse encoder": Case(
        "B6",
        lambda s: {"sparse_encoder": switched(HashSparseEncoder(), s, "embed_sparse")},
        HYBRID,
        warning="the sparse arm failed and the others served",
        log="the sparse arm failed",
    ),
    "sparse search": Case(
        "B6",
        lambda s: {"sparse_encoder": HashSparseEncoder(), "store": store(s, "sparse_search")},
        HYBRID,
        warning="the sparse arm failed and the others served",
        log="the sparse arm failed",
    ),
    "dense search of several": Case(
        "E2",
        lambda s: {"store": store(s, "search")},
        HYBRID,
        warning="the dense arm failed and the others served",
        log="the dense arm failed",
    ),
    "embedder of several arms": Case(
        "E2",
        lambda s: {"embedder": embedder(s)},
        HYBRID,
        warning="the dense arm failed and the others served",
        log="the dense arm failed",
    ),
    "keyword index of several arms": Case(
        "E2",
        lambda s: {"keyword_index": switched(InMemoryBm25Index(), s, "search")},
        HYBRID,
        warning="the bm25 arm failed and the others served",
        log="the bm25 arm failed",
        blocking=True,
    ),
    "chat model of hyde": Case(
        "F1",
        lambda s: {"chat": chat(s, hyde="Sixteen weeks."), "hyde": rs.HydeOptions(prompt_template=HYDE)},
        calls=3,
        failing=3,
        warning="HyDE did not take part",
        log="hyde_failed",
    ),
    "embedder of hyde": Case(
        "F1",
        lambda s: {
            "embedder": embedder(s, of_passages),
            "chat": ScriptedChat("Sixteen weeks."),
            "hyde": rs.HydeOptions(prompt_template=HYDE),
        },
        warning="the hypotheses could not be embedded",
        log="hyde_failed",
    ),
    "chat model of multi-query": Case(
        "F2",
        lambda s: {
            "chat": chat(s, multi_query="weeks of leave\npaid leave"),
            "multi_query": rs.MultiQueryOptions(prompt_template=MULTI_QUERY),
        },
        warning="could not be expanded",
        log="multi_query_failed",
    ),
    "chat model of adaptive retrieval": Case(
        "F4",
        lambda s: {"chat": chat(s, adaptive="simple")},
        rs.RetrievalOptions(use_adaptive_retrieval=True),
        warning="could not classify",
        log="adaptive_failed",
    ),
    "chat model that grades": Case(
        "F5",
        lambda s: {"chat": chat(s, crag="relevant"), "web_search": ScriptedWebSearch()},
        GRADED,
        calls=5,
        failing=5,
        warning="the model could not grade 5 of 5 results",
        log="crag_grade_failed",
    ),
    "web search": Case(
        "F5",
        lambda s: {"web_search": switched(ScriptedWebSearch([PAGE]), s, "search")},
        CRAG,
        warning="the web search failed and the results stay",
        log="crag_web_search_failed",
    ),
    "chat model of deep research": Case(
        "F7",
        lambda s: {
            "chat": chat(s, verdict=json.dumps({"sufficient": True})),
            "deep_research": rs.DeepResearchOptions(sufficiency_prompt=SUFFICIENT),
        },
        warning="the model gave no verdict",
        log="deep_research_verdict_failed",
    ),
    "embedder of tags": Case(
        "F8",
        lambda s: {"embedder": embedder(s, of_tags), "tag_retrieval": rs.TagRetrievalOptions()},
        warning="tags were left out",
        log="tag_retrieval_failed",
    ),
    "embedder of sentences": Case(
        "F11",
        lambda s: {"embedder": embedder(s, of_passages), "compression": rs.CompressionOptions(**COMPRESSION)},
        warning="compression failed and every chunk stays whole",
        log="compression_failed",
    ),
    "chat model that writes abstracts": Case(
        "F11",
        lambda s: {"chat": chat(s), "compression": rs.CompressionOptions(strategy="abstractive", **COMPRESSION)},
        calls=5,
        failing=5,
        warning="5 of 5 chunks could not be compressed",
        log="abstract_failed",
    ),
    "compressor": Case(
        "F11",
        lambda s: {"compressor": switched(ScriptedCompressor(), s, "compress")},
        rs.RetrievalOptions(use_compression=True),
        warning="compression failed and every chunk stays whole",
        log="compression_failed",
    ),
    "compressor of asking": Case(
        "F11",
        lambda s: {"compressor": switched(ScriptedCompressor(), s, "compress"), "chat": ScriptedChat("ok")},
        how="ask",
        warning="compression failed and every chunk stays whole",
        log="compression_failed",
    ),
    "store of parents": Case(
        "G1",
        lambda s: {
            "parents": rs.ParentDocumentOptions(),
            "parent_store": switched(InMemoryParentChunkStore(), s, "parents"),
        },
        calls=7,
        warning="chunks were not replaced by their parents",
        log="parents_missing",
        blocking=True,
    ),
    "reranker": Case(
        "G4",
        lambda s: {"reranker": switched(ScriptedReranker(), s, "rerank")},
        warning="the reranker failed and the order stays",
        log="rerank_failed",
    ),
    "cache of pages": Case(
        "G8",
        lambda s: {"caching": rs.CachingOptions(embedding_ttl=None), "cache_backend": backend(s)},
        calls=2,
        log="cache_backend_failed",
    ),
    "cache of vectors": Case(
        "G8",
        lambda s: {"caching": rs.CachingOptions(result_ttl=None), "cache_backend": backend(s)},
        calls=2,
        log="cache_backend_failed",
    ),
    "cache of answers": Case(
        "G10",
        lambda s: {
            "caching": rs.CachingOptions(embedding_ttl=None, result_ttl=None, answer_ttl=60.0),
            "cache_backend": backend(s),
            "chat": ScriptedChat("ok"),
        },
        how="ask",
        calls=2,
        log="cache_backend_failed",
    ),
    "memory that recalls": Case(
        "I9",
        lambda s: {"persistent": memory(s, "search"), "chat": ScriptedChat("ok")},
        how="converse",
        warning="earlier conversations could not be recalled",
        log="memory_recall_failed",
    ),
    "memory that remembers": Case(
        "I9",
        lambda s: {"persistent": memory(s, "store"), "chat": ScriptedChat("ok")},
        how="converse",
        warning="the turn could not be remembered",
        log="memory_remember_failed",
    ),
    "sparse encoder of ingestion": Case(
        "B4",
        lambda s: {"sparse_encoder": switched(HashSparseEncoder(), s, "embed_sparse")},
        how="ingest",
        warning="stored without sparse vectors",
        log="sparse_ingestion_failed",
    ),
    "embedder of tags in ingestion": Case(
        "F8",
        lambda s: {"embedder": embedder(s, of_tags), "tag_retrieval": rs.TagRetrievalOptions()},
        how="ingest",
        log="tag_embedding_failed",
    ),
}
NEEDED = {
    "dense search": Case("D1", lambda s: {"store": store(s, "search")}),
    "vectors of the store": Case("C2", lambda s: {"store": store(s, "embeddings")}, KEYWORDS_AND_MMR),
    "embedder": Case("D1", lambda s: {"embedder": embedder(s)}),
    "keyword index": Case(
        "A1", lambda s: {"embedder": None, "keyword_index": switched(InMemoryBm25Index(), s, "search")}, blocking=True
    ),
    "guard": Case("G10", lambda s: {"guards": [switched(ScriptedGuard(), s, "check")]}),
    "chat model that answers": Case("I1", lambda s: {"chat": chat(s)}, how="ask"),
    "chat model that streams": Case("I5", lambda s: {"chat": chat(s)}, how="stream"),
    "embedder of ingestion": Case("H1", lambda s: {"embedder": embedder(s)}, how="ingest"),
    "store of ingestion": Case(
        "H6", lambda s: {"store": store(s, "store", "replace_document")}, how="ingest", finishes=True
    ),
}
CASES = FALLBACKS | NEEDED
BREAKABLE = {name: case for name, case in CASES.items() if not case.finishes}


def each(cases):
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=name, marks=[pytest.mark.row(case.row), pytest.mark.row("L4")])
            for name, case in cases.items()
        ],
    )


@dataclass
class Bench:
    """A pipeline that holds the corpus, with a collaborator behind a switch."""

    case: Case
    switch: Switch
    rag: rs.RagPipeline
    persistent: rs.PersistentMemory | None

    async def run(self) -> Sequence[str]:
        """Make the call, see that it serves, and return the warnings on its record."""
        self.switch.forget()
        case, rag = self.case, self.rag
        if case.how == "retrieve":
            page = await rag.retrieve(QUERY, case.options)
            assert {"leave", "long"} <= set(names(page))
            return page.warnings
        if case.how == "ingest":
            metadata = rs.DocumentMetadata(document_id="new", tags={"topic": TAG})
            return (await rag.ingest_text(LONG, metadata, options=rs.IngestionOptions(overwrite=True))).warnings
        options = rs.RagOptions()
        if case.how == "ask":
            response = await rag.ask(QUERY, options)
        elif case.how == "converse":
            response = await rs.Conversation(rag, persistent=self.persistent).ask(QUERY, options)
        else:
            response = [update async for update in rag.ask_streaming(QUERY, options)][-1].response
        assert response.answer
        assert "long" in names(response.sources)
        return response.warnings

    async def stored_nothing(self) -> None:
        """Of a document whose ingestion was broken off nothing is found, unless it was stored before its tags."""
        if self.case.how == "ingest":
            self.switch.mode = "answer"
            page = await self.rag.retrieve(QUERY, rs.RetrievalOptions(top_k=20, use_tag_retrieval=False))
            assert ("new" in names(page)) == (self.case.row == "F8")

    async def runs_as_if_nothing_had_been(self) -> None:
        """It does not warn, and the collaborator is asked as often as the first time: nothing was remembered."""
        self.switch.mode = "answer"
        assert not await self.run()
        assert self.switch.calls == self.case.calls


async def bench(case, mode) -> Bench:
    switch = Switch()
    parts = case.parts(switch)
    persistent = parts.pop("persistent", None)
    rag = await pipeline(**{"caching": rs.CachingOptions(), **parts})
    if case.row == "F8":
        switch.mode = "error"  # so that the tag has no embedding yet
    if case.how != "ingest" or case.row != "F8":
        await rag.ingest_text(LONG, rs.DocumentMetadata(document_id="long", tags={"topic": TAG}))
    switch.mode = mode
    switch.started.clear()
    return Bench(case, switch, rag, persistent)


@pytest.fixture(autouse=True)
async def _no_task_is_left():
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


async def broken_off(built, how):
    """Cancel the call, or let its time run out, as soon as the collaborator hangs; return what it ends with."""

    async def limited():
        async with asyncio.timeout(None) as limit:
            work = asyncio.create_task(reschedule(limit))
            try:
                await built.run()
            finally:
                await work

    async def reschedule(limit):
        await built.switch.started.wait()
        limit.reschedule(0)

    if how == "time limit":
        return await ended(asyncio.create_task(limited()))
    task = asyncio.create_task(built.run())
    await asyncio.wait_for(built.switch.started.wait(), PATIENCE)
    task.cancel()
    return await ended(task)


async def ended(task):
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    assert done, "the call does not end"
    return asyncio.CancelledError() if task.cancelled() else task.exception()


@each(CASES)
async def test_it_answers(case, caplog):
    built = await bench(case, "answer")
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        assert not await built.run()
    assert built.switch.calls == case.calls
    assert not caplog.records


ERRORS = [RagError("overloaded"), OSError(SECRET), TimeoutError(SECRET), ValueError(SECRET)]


@each(FALLBACKS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_it_fails_and_the_call_goes_on_and_says_so(case, error, caplog):
    built = await bench(case, "error")
    built.switch.error = error
    with caplog.at_level(logging.DEBUG, logger="ragstone"):
        warnings = await built.run()
    if not isinstance(error, ValueError):  # on which an embedder is asked which text is to blame
        assert built.switch.calls == case.failing
    assert SECRET not in caplog.text
    assert case.log in caplog.text
    if case.warning is None:
        assert not warnings
    else:
        assert any(case.warning in warning for warning in warnings)
        assert not any(SECRET in warning for warning in warnings)
    if "cache" not in case.log:  # which is then left alone
        await built.runs_as_if_nothing_had_been()


@each(NEEDED)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_it_fails_and_the_call_fails(case, error, caplog):
    built = await bench(case, "error")
    built.switch.error = error
    with caplog.at_level(logging.DEBUG, logger="ragstone"), pytest.raises((RagError, type(error))):
        await built.run()
    assert SECRET not in caplog.text
    assert not isinstance(error, RagError) or built.switch.calls == case.failing
    await built.runs_as_if_nothing_had_been()


@each(BREAKABLE)
@pytest.mark.case("S-060")
@pytest.mark.parametrize("how", ["cancelled", "time limit"])
async def test_it_hangs_and_the_call_is_broken_off(case, how, caplog):
    built = await bench(case, "hang")
    caplog.clear()
    outcome = await broken_off(built, how)
    built.switch.released.set()
    assert type(outcome) is (asyncio.CancelledError if how == "cancelled" else TimeoutError)
    assert built.switch.calls > 0
    assert case.blocking or built.switch.cancelled == built.switch.calls
    assert not caplog.records
    await built.stored_nothing()
    await built.runs_as_if_nothing_had_been()


@each({name: case for name, case in BREAKABLE.items() if not case.blocking})
@pytest.mark.parametrize("how", ["cancelled", "time limit"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_it_makes_an_error_of_its_cancellation_and_the_call_does_not_go_on(case, how, error):
    built = await bench(case, "stubborn")
    built.switch.error = error
    outcome = await broken_off(built, how)
    if case in NEEDED.values():
        assert isinstance(outcome, (asyncio.CancelledError, TimeoutError, RagError, type(error)))
    else:
        assert type(outcome) is (asyncio.CancelledError if how == "cancelled" else TimeoutError)
    assert built.switch.cancelled == built.switch.calls > 0
    await built.stored_nothing()
    if "cache" not in case.log:  # which is then left alone
        await built.runs_as_if_nothing_had_been()


@pytest.mark.row("I6")
@pytest.mark.parametrize("how", ["ask", "stream"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_an_observer_that_raises_is_passed_over(how, error, caplog):
    class Observer:
        seen = 0

        def on_prompt(self, messages):
            self.seen += 1
            raise error

    observer = Observer()
    built = await bench(Case("I6", lambda s: {"chat": chat(s), "observers": [observer]}, how=how), "answer")
    with caplog.at_level(logging.DEBUG, logger="ragstone"):
        assert not await built.run()
    assert observer.seen == 1
    assert "prompt_observer_failed" in caplog.text
    assert SECRET not in caplog.text

"""Named pipelines: built once and late, isolated, closed in order."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time

import pytest

from ragstone import DocumentMetadata, RagPipeline, RagPipelineFactory
from ragstone.errors import ConfigurationError
from ragstone.models import ScoreScale
from ragstone.options import CachingOptions, RetrievalOptions
from ragstone.testing import HashEmbedder
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, hit


class Model(HashEmbedder):
    """A heavy model that counts how often it is made, and can be closed."""

    made = 0

    def __init__(self, log=None):
        super().__init__()
        type(self).made += 1
        self.log = [] if log is None else log

    async def aclose(self):
        self.log.append("model")


@pytest.fixture(autouse=True)
def fresh():
    Model.made = 0


def plain(shared):
    return RagPipeline(embedder=shared.embedder)


@pytest.mark.row("L2")
async def test_each_name_has_a_pipeline_of_its_own_and_all_share_one_model():
    pipelines = RagPipelineFactory(shared={"embedder": Model})
    pipelines.add("docs", plain)
    pipelines.add("wiki", plain)
    docs, wiki = pipelines.get("docs"), pipelines.get("wiki")
    assert docs is pipelines.get("docs")
    assert docs is not wiki
    assert Model.made == 1
    await docs.ingest_text("paid leave", DocumentMetadata(document_id="a"))
    assert len(await docs.retrieve("paid leave")) == 1
    assert len(await wiki.retrieve("paid leave")) == 0


@pytest.mark.row("L2")
async def test_pages_of_one_pipeline_are_never_those_of_another():
    pipelines = RagPipelineFactory(shared={"embedder": Model})
    for name in ("a", "b"):
        pipelines.add(name, lambda shared: RagPipeline(embedder=shared.embedder, caching=CachingOptions()))
    for name in ("a", "b"):
        await pipelines.get(name).ingest_text("paid leave", DocumentMetadata(document_id=name))
    for name in ("a", "b", "a", "b"):
        assert [r.chunk.document_id for r in await pipelines.get(name).retrieve("paid leave")] == [name]


@pytest.mark.row("L2")
def test_nothing_is_built_by_asking():
    built = []
    pipelines = RagPipelineFactory(shared={"embedder": Model})
    pipelines.add("docs", lambda shared: built.append("docs") or plain(shared))
    pipelines.add("wiki", lambda shared: built.append("wiki") or RagPipeline())
    assert "docs" in pipelines
    assert "blog" not in pipelines
    assert pipelines.names == ("docs", "wiki")
    assert (built, Model.made) == ([], 0)
    pipelines.get("wiki")
    assert (built, Model.made) == (["wiki"], 0)
    pipelines.get("docs")
    assert (built, Model.made) == (["wiki", "docs"], 1)


@pytest.mark.row("L2")
def test_many_threads_get_one_pipeline():
    pipelines = RagPipelineFactory(shared={"embedder": lambda: time.sleep(0.02) or Model()})
    for name in ("docs", "wiki"):
        pipelines.add(name, plain)
    found: list[RagPipeline] = []
    threads = [threading.Thread(target=lambda n=n: found.append(pipelines.get(n))) for n in ("docs", "wiki") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 2
    assert Model.made == 1


@pytest.mark.row("L2")
def test_shared_parts_are_instances_or_what_makes_them():
    class Callable(HashEmbedder):
        def __call__(self):
            raise AssertionError("an instance is no builder")

    instance = Callable()
    shared = {"a": instance, "b": lambda: instance, "c": Callable, "d": functools.partial(HashEmbedder, 8), "e": None}
    seen = {}
    pipelines = RagPipelineFactory(shared=shared)
    pipelines.add("x", lambda s: seen.update({n: getattr(s, n) for n in shared}) or RagPipeline())
    pipelines.get("x")
    assert seen["a"] is seen["b"] is instance
    assert isinstance(seen["c"], Callable)
    assert (seen["d"].dimensions, seen["e"]) == (8, None)


@pytest.mark.row("L2")
@pytest.mark.row("L3")
def test_errors_name_the_name_and_those_that_are_there():
    pipelines = RagPipelineFactory(shared={"embedder": Model})
    with pytest.raises(ConfigurationError, match="no pipeline 'docs': none is added"):
        pipelines.get("docs")
    pipelines.add("wiki", plain)
    with pytest.raises(ConfigurationError, match="no pipeline 'docs': added are wiki"):
        pipelines.get("docs")
    with pytest.raises(ConfigurationError, match="'wiki' is there already"):
        pipelines.add("wiki", plain)
    for name, builder in [("", plain), ("x", None)]:
        with pytest.raises(ConfigurationError, match="needs a name and a builder"):
            pipelines.add(name, builder)
    pipelines.add("typo", lambda shared: RagPipeline(embedder=shared.embeder))
    with pytest.raises(ConfigurationError, match="no part 'embeder' is shared: shared are embedder"):
        pipelines.get("typo")
    pipelines.add("nothing", lambda shared: None)
    with pytest.raises(ConfigurationError, match="builder of 'nothing' must return a RagPipeline, not NoneType"):
        pipelines.get("nothing")
    with pytest.raises(ConfigurationError, match="'not a name' must be the name of an attribute"):
        RagPipelineFactory(shared={"not a name": 1})


@pytest.mark.row("L2")
def test_a_builder_may_use_another_pipeline_but_not_itself():
    pipelines = RagPipelineFactory()
    pipelines.add("a", lambda shared: pipelines.get("b"))
    pipelines.add("b", lambda shared: RagPipeline())
    assert pipelines.get("a") is pipelines.get("b")
    pipelines.add("c", lambda shared: pipelines.get("d"))
    pipelines.add("d", lambda shared: pipelines.get("c"))
    with pytest.raises(ConfigurationError, match="'c' needs itself: c → d → c"):
        pipelines.get("c")


@pytest.mark.row("L2")
def test_a_builder_that_failed_is_tried_again():
    attempts = []

    def fragile():
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("no model")
        return Model()

    pipelines = RagPipelineFactory(shared={"embedder": fragile})
    pipelines.add("docs", plain)
    with pytest.raises(OSError, match="no model"):
        pipelines.get("docs")
    assert isinstance(pipelines.get("docs"), RagPipeline)


@pytest.mark.row("L2")
async def test_closing_closes_pipelines_then_shared_parts_and_each_although_one_fails(monkeypatch):
    log = []
    close = RagPipeline.aclose

    async def watched(self):
        log.append(names[id(self)])
        await close(self)
        if names[id(self)] == "two":
            raise OSError("disk")

    monkeypatch.setattr(RagPipeline, "aclose", watched)
    unused = Model(log)
    async with RagPipelineFactory(shared={"embedder": Model(log), "unused": lambda: unused, "plain": object()}) as held:
        for name in ("one", "two", "never"):
            held.add(name, lambda shared: shared.plain and plain(shared))
        names = {id(held.get(name)): name for name in ("one", "two")}
        one = held.get("one")
        with pytest.raises(OSError, match="disk"):
            await held.aclose()
        assert log == ["two", "one", "model"]
    assert log == ["two", "one", "model"]
    with pytest.raises(ConfigurationError, match="'one' cannot be had: this factory is closed"):
        held.get("one")
    with pytest.raises(ConfigurationError, match="closed"):
        await one.retrieve("q")


@pytest.mark.row("L2")
async def test_named_pipelines_log_as_any_other(caplog):
    index = ScriptedKeywordIndex([hit("a", 2.0, ScoreScale.BM25)])
    pipelines = RagPipelineFactory(shared={"embedder": Model})
    pipelines.add(
        "docs",
        lambda shared: RagPipeline(
            embedder=shared.embedder, store=ScriptedStore(fail=OSError("down")), keyword_index=index
        ),
    )
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        await pipelines.get("docs").retrieve("q", RetrievalOptions(use_hybrid_search=True))
    assert "the dense arm failed" in caplog.text


@pytest.mark.row("L2")
@pytest.mark.row("L4")
async def test_cancelling_one_pipeline_leaves_the_others_at_work():
    store = ScriptedStore([hit("a", 0.9)], hang=True)
    pipelines = RagPipelineFactory(shared={"embedder": Model})
    pipelines.add("slow", lambda shared: RagPipeline(embedder=shared.embedder, store=store))
    pipelines.add("quick", lambda s: RagPipeline(embedder=s.embedder, store=ScriptedStore([hit("b", 0.9)])))
    task = asyncio.create_task(pipelines.get("slow").retrieve("q"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.cancelled == 1
    assert len(await pipelines.get("quick").retrieve("q")) == 1

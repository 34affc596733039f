"""The result cache: what a key knows, what is never remembered, and what nobody can change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

import numpy as np
import pytest

from ragstone import DocumentMetadata, RagPipeline
from ragstone.caching import IndexGeneration, TwoLevelCache
from ragstone.errors import ConfigurationError
from ragstone.models import EmbeddedChunk, ScoreScale, SearchResult, TextChunk
from ragstone.options import CachingOptions, EnsembleOptions, RetrievalOptions, TimeWeightedOptions
from ragstone.retrieval.candidate import Candidate, Candidates, Query
from ragstone.retrieval.codec import CandidatesCodec
from ragstone.retrieval.identity import pipeline_identity
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.stages.result_cache import PageMemory, ResultCache
from ragstone.specifications import DocumentIdSpec, HasTagSpec
from ragstone.stores import InMemoryBm25Index, InMemoryParentChunkStore, InMemoryVectorStore
from ragstone.testing import HashEmbedder, SettableClock
from support.backends import DictBackend
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, hit


class CountingStore(InMemoryVectorStore):
    searches = 0

    async def search(self, embedding, options):
        self.searches += 1
        return await super().search(embedding, options)


async def cached(*documents, clock=None, **options):
    store = CountingStore()
    rag = RagPipeline(embedder=HashEmbedder(), store=store, caching=CachingOptions(**options), clock=clock)
    for document_id, text, tags in documents:
        await rag.ingest_text(text, DocumentMetadata(document_id=document_id, tags=tags))
    return rag, store


def names(page):
    return [result.chunk.document_id for result in page]


TENANTS = [("a1", "salary of a", {"tenant": "a"}), ("b1", "salary of b", {"tenant": "b"}), ("c1", "salary", {})]


@pytest.mark.row("G8")
@pytest.mark.case("S-051")
async def test_a_page_is_never_served_under_another_filter():
    rag, store = await cached(*TENANTS)
    pages = [
        names(await rag.retrieve("salary", RetrievalOptions(metadata_filter=wanted)))
        for wanted in ({"tenant": "a"}, {"tenant": "b"}, None)
    ]
    assert pages[:2] == [["a1"], ["b1"]]
    assert sorted(pages[2]) == ["a1", "b1", "c1"]
    assert store.searches == 3
    await rag.retrieve("salary", RetrievalOptions(metadata_filter={"tenant": "a"}))
    assert store.searches == 3


@pytest.mark.row("G8")
@pytest.mark.case("S-052")
@pytest.mark.parametrize("backend", [None, DictBackend()])
async def test_what_a_caller_does_to_a_page_changes_no_later_one(backend):
    rag = RagPipeline(embedder=HashEmbedder(), caching=CachingOptions(), cache_backend=backend)
    for number in range(6):
        await rag.ingest_text(f"leave {number}", DocumentMetadata(document_id=f"d{number}", tags={"n": number}))
    options = RetrievalOptions(top_k=4, use_lost_in_the_middle_reordering=True, use_mmr=True)
    first = await rag.retrieve("leave 3", options)
    original, dropped = list(first), list(first.dropped)
    expected = [(r.chunk.key, r.score, dict(r.chunk.metadata), r.evidence) for r in original]
    for round_ in range(3):
        page = first if round_ == 0 else await rag.retrieve("leave 3", options)
        assert [(r.chunk.key, r.score, dict(r.chunk.metadata), r.evidence) for r in page] == expected
        assert list(page.dropped) == dropped
        assert page.notes == {"cache": "hit" if round_ else "miss"}
        for result in page:
            result.chunk.metadata["n"] = -1  # type: ignore[index]
            if round_:
                with pytest.raises(ValueError, match="read-only"):
                    result.embedding[:] = 0
        page.notes["cache"] = "changed"  # type: ignore[index]
        items = list(page)
        items.reverse()


@pytest.mark.row("G8")
@pytest.mark.case("S-054")
async def test_a_page_expires():
    clock = SettableClock()
    rag, store = await cached(*TENANTS, clock=clock, result_ttl=10)
    for seconds, searches in [(0, 1), (9.9, 1), (0.2, 2)]:
        clock.advance(seconds)
        await rag.retrieve("salary")
        assert store.searches == searches


@pytest.mark.row("G8")
async def test_ingesting_and_deleting_make_new_pages():
    rag, store = await cached(*TENANTS)
    assert len(await rag.retrieve("salary")) == 3
    await rag.ingest_text("salary of d", DocumentMetadata(document_id="d1"))
    assert len(await rag.retrieve("salary")) == 4
    await rag.delete("d1")
    assert len(await rag.retrieve("salary")) == 3
    assert store.searches == 3


OTHER = {
    "top_k": 6,
    "max_context_tokens": 100,
    "min_score": 0.1,
    "metadata_filter": {"a": 1},
    "filter": DocumentIdSpec("a"),
    "use_hybrid_search": True,
    "use_sparse_search": False,
    "ensemble_options": EnsembleOptions(),
    "use_lost_in_the_middle_reordering": True,
    "use_redundancy_filter": True,
    "redundancy_threshold": 0.9,
    "use_mmr": True,
    "mmr_lambda": 0.4,
    "mmr_candidate_count": 20,
    "use_hyde": False,
    "use_multi_query": False,
    "use_parent_document": False,
    "use_reranking": False,
    "use_deep_research": False,
    "use_tag_retrieval": False,
    "use_time_weighting": False,
    "candidate_count": 20,
    "use_adaptive_retrieval": True,
    "use_crag": True,
    "crag_score_threshold": 0.6,
    "crag_fallback_mode": "append",
    "use_compression": True,
}
NO_MATTER = {"use_cache_embedding", "use_cache_result"}


def key(options=None, *, text="q", depth=5, generation="g", pipeline="p", guards=(), embedding=None, asking=False):
    memory = PageMemory(TwoLevelCache(CandidatesCodec(), ttl=60), IndexGeneration(), pipeline)
    query = Query(text, options or RetrievalOptions(), depth, embedding)
    return ResultCache(memory, guards, asking)._key(query, generation)


def changed(**values):
    """Options with these values, those included that this version refuses."""
    options = RetrievalOptions()
    for name, value in values.items():
        object.__setattr__(options, name, value)
    return options


@pytest.mark.row("G8")
def test_every_option_that_can_change_a_page_is_part_of_its_key():
    assert {field.name for field in fields(RetrievalOptions)} == OTHER.keys() | NO_MATTER
    keys = [key(), *(key(changed(**{name: value})) for name, value in OTHER.items())]
    assert len(set(keys)) == len(OTHER) + 1
    assert None not in keys
    assert {key(changed(**{name: False})) for name in NO_MATTER} == {key()}


@pytest.mark.row("G8")
def test_the_query_the_depth_the_pipeline_and_the_content_are_part_of_the_key():
    keys = [key(), key(text="Q"), key(depth=15), key(pipeline="other"), key(generation="next"), key(asking=True)]
    assert len(set(keys)) == len(keys)


@pytest.mark.row("G8")
def test_the_kinds_of_a_filters_values_are_part_of_the_key():
    values = [1, True, "1", "True", datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00+00:00"]
    assert len({key(RetrievalOptions(metadata_filter={"k": value})) for value in values}) == len(values)
    specifications = [HasTagSpec("k", value) for value in values]
    assert len({key(RetrievalOptions(filter=specification)) for specification in specifications}) == len(values)


@pytest.mark.row("G8")
def test_what_cannot_be_described_has_no_key():
    assert key(RetrievalOptions(filter=lambda _: True)) is None
    assert key(RetrievalOptions(filter=DocumentIdSpec("a") & (lambda _: True))) is None
    assert key(embedding=np.ones(2, dtype=np.float32)) is None


@dataclass
class Guard:
    """Lets everything pass; its verdicts depend on who asks."""

    who: str | None
    asked: int = 0
    identity = "guard"

    @property
    def cache_key(self) -> str | None:
        self.asked += 1
        return self.who

    async def check(self, query: str, results: Sequence[SearchResult]) -> Sequence[str | None]:
        return [None] * len(results)


@pytest.mark.row("G8")
@pytest.mark.row("G10")
def test_guards_say_what_their_verdicts_depend_on():
    assert len({key(guards=[Guard("alice")]), key(guards=[Guard("bob")]), key()}) == 3
    assert key(guards=[Guard("alice"), Guard(None)]) is None
    guard = Guard("alice")
    key(guards=[guard])
    assert guard.asked == 1


@pytest.mark.row("G8")
async def test_a_specification_that_cannot_be_described_bypasses_the_cache():
    rag, _ = await cached(*TENANTS)
    allowed = {"a1"}
    options = RetrievalOptions(filter=lambda result: result.chunk.document_id in allowed)
    assert names(await rag.retrieve("salary", options)) == ["a1"]
    allowed.add("b1")
    page = await rag.retrieve("salary", options)
    assert sorted(names(page)) == ["a1", "b1"]
    assert page.notes["cache"] == "bypassed"


@pytest.mark.row("G8")
async def test_a_call_can_leave_it_out():
    rag, store = await cached(*TENANTS)
    for _ in range(2):
        page = await rag.retrieve("salary", RetrievalOptions(use_cache_result=False))
        assert "cache" not in page.notes
    assert store.searches == 2
    off, store = await cached(*TENANTS, result_ttl=None)
    for _ in range(2):
        await off.retrieve("salary")
    assert store.searches == 2


@pytest.mark.row("G8")
async def test_a_degraded_page_is_not_remembered():
    store = ScriptedStore([hit("a", 0.9)], fail=OSError("down"))
    index = ScriptedKeywordIndex([hit("k", 2.0, ScoreScale.BM25)])
    rag = RagPipeline(embedder=HashEmbedder(), store=store, keyword_index=index, caching=CachingOptions())
    options = RetrievalOptions(use_hybrid_search=True)
    assert names(await rag.retrieve("q", options)) == ["k"]
    store.fail = None
    assert sorted(names(await rag.retrieve("q", options))) == ["a", "k"]
    assert (await rag.retrieve("q", options)).notes["cache"] == "hit"


class SlowStore(InMemoryVectorStore):
    """Lets a search or a replacement wait in its middle."""

    def __init__(self):
        super().__init__()
        self.search_waits, self.write_waits = asyncio.Event(), asyncio.Event()
        self.search_waits.set()
        self.write_waits.set()

    async def search(self, embedding, options):
        found = await super().search(embedding, options)
        await self.search_waits.wait()
        return found

    async def replace_document(self, document_id, chunks: Sequence[EmbeddedChunk]):
        await self.write_waits.wait()
        await super().replace_document(document_id, chunks)


@pytest.mark.row("G8")
async def test_a_page_found_while_the_indexes_changed_is_not_remembered():
    store = SlowStore()
    rag = RagPipeline(embedder=HashEmbedder(), store=store, caching=CachingOptions())
    await rag.ingest_text("leave", DocumentMetadata(document_id="a"))
    store.search_waits.clear()
    early = asyncio.create_task(rag.retrieve("leave"))
    await asyncio.sleep(0.05)
    await rag.ingest_text("leave", DocumentMetadata(document_id="b"))
    store.search_waits.set()
    assert names(await early) == ["a"]
    store.write_waits.clear()
    writing = asyncio.create_task(rag.ingest_text("leave", DocumentMetadata(document_id="c")))
    await asyncio.sleep(0.05)
    assert names(await rag.retrieve("leave")) == ["a", "b"]
    store.write_waits.set()
    await writing
    page = await rag.retrieve("leave")
    assert (names(page), page.notes["cache"]) == (["a", "b", "c"], "miss")


@pytest.mark.row("G8")
@pytest.mark.row("F9")
async def test_a_remembered_page_grows_older():
    clock, store = SettableClock(datetime(2026, 1, 2, tzinfo=UTC)), CountingStore()
    rag = RagPipeline(
        embedder=HashEmbedder(),
        store=store,
        caching=CachingOptions(),
        time_weighting=TimeWeightedOptions(),
        clock=clock,
    )
    await rag.ingest_text("leave", DocumentMetadata(document_id="a", updated_at=datetime(2026, 1, 1, tzinfo=UTC)))
    first = await rag.retrieve("leave")
    clock.advance(200)
    second = await rag.retrieve("leave")
    assert second.notes["cache"] == "hit"
    assert second[0].score < first[0].score
    assert store.searches == 1


@pytest.mark.row("G8")
def test_a_backend_without_caching_is_refused():
    with pytest.raises(ConfigurationError, match=r"cache_backend=.*give caching="):
        RagPipeline(embedder=HashEmbedder(), cache_backend=DictBackend())


@pytest.mark.row("G8")
async def test_a_keyword_pipeline_remembers_pages_too():
    rag = RagPipeline(caching=CachingOptions())
    await rag.ingest_text("paid leave", DocumentMetadata(document_id="a"))
    assert [(await rag.retrieve("leave")).notes["cache"] for _ in range(2)] == ["miss", "hit"]


def test_a_generation_has_another_name_after_every_change():
    generation = IndexGeneration()
    names_ = [generation.current]
    assert generation.settled
    with generation.changing(), generation.changing():
        assert not generation.settled
        assert generation.current == names_[0]
    names_.append(generation.current)
    with pytest.raises(OSError, match="disk"), generation.changing():
        raise OSError("disk")
    names_ += [generation.current, IndexGeneration().current]
    assert len(set(names_)) == 4
    assert generation.settled


def test_a_candidate_is_copied_with_its_vector():
    candidate = Candidate(TextChunk("t", "d", 0), 0.5, ScoreScale.SIMILARITY, vector=np.ones(2, dtype=np.float32))
    found = Candidates(kept=[candidate])
    content = CandidatesCodec().encode(found)
    (back,) = CandidatesCodec().decode(content).kept
    assert np.array_equal(back.vector, candidate.vector)


class Described:
    """A part with a name."""

    def __init__(self, identity):
        self.identity = identity


@pytest.mark.row("G8")
def test_the_name_of_a_pipeline_tells_every_part_and_one_without_a_name_makes_it_its_own():
    outside = {"caching_embedder", "pages", "tag_retrieval", "tags", "time_weighting", "clock", "guards"}
    held = {
        "store": InMemoryVectorStore(),
        "keyword_index": InMemoryBm25Index(),
        "parents": InMemoryParentChunkStore(),
    }
    plain = pipeline_identity(RetrievalParts(), "mine")
    assert plain == pipeline_identity(RetrievalParts(), "another's") != "mine"
    for field in fields(RetrievalParts):
        if field.name in outside:
            continue
        for name in ("one", "two"):
            part = held.get(field.name, Described(name))
            assert pipeline_identity(RetrievalParts(**{field.name: part}), "mine") not in {plain, "mine"}
        unnamed = pipeline_identity(RetrievalParts(**{field.name: object()}), "mine")
        assert unnamed == "mine"
    one, two = (RetrievalParts(embedder=Described(name)) for name in ("one", "two"))
    assert pipeline_identity(one, "mine") != pipeline_identity(two, "mine")

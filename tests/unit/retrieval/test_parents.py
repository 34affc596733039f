"""Parents: what small chunks found comes back as the larger chunks that they lie in."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone import ParentDocumentOptions, RagPipeline, RecursiveChunker, RetrievalOptions
from ragstone.errors import ConfigurationError, StoreError
from ragstone.ingestion import Ingestor
from ragstone.models import (
    ArmEvidence,
    ChunkKey,
    IngestionStatus,
    MmrEvidence,
    ParentEvidence,
    ScoreScale,
    SearchResult,
    TextChunk,
    WebEvidence,
)
from ragstone.retrieval.candidate import Candidate, Candidates, Query
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from ragstone.retrieval.stages.parents import ParentSwap
from ragstone.stores import InMemoryBm25Index, InMemoryParentChunkStore, InMemoryVectorStore
from ragstone.testing import HashEmbedder
from support.documents import MemoryJournal, about
from support.retrieval import ScriptedStore, TableEmbedder

pytestmark = pytest.mark.row("G1")

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SMALL = RecursiveChunker(max_size=40, overlap=0)


def piece(start, end, index, document_id="d", text=LETTERS):
    return TextChunk(text[start:end], document_id, index, start, end)


def parents_of(**documents):
    store = InMemoryParentChunkStore()
    for name, spans in documents.items():
        store.replace_document(name, [piece(start, end, n, name) for n, (start, end) in enumerate(spans)])
    return store


def child(chunk, score):
    return SearchResult(chunk, score)


def retriever(hits, parents, **options):
    return Retriever(RetrievalParts(store=ScriptedStore(hits), embedder=TableEmbedder({}), parents=parents, **options))


def line(page):
    return [(hit.chunk.key, hit.score) for hit in page]


# --- the swap


@pytest.mark.case("S-043")
async def test_each_parent_comes_once_where_its_best_child_stood_and_with_its_score():
    hits = [child(piece(0, 5, 0), 0.9), child(piece(5, 10, 1), 0.8), child(piece(12, 16, 2), 0.7)]
    page = await retriever(hits, parents_of(d=[(0, 11), (11, 26)])).retrieve("q", RetrievalOptions())
    assert line(page) == [(("d", 0), 0.9), (("d", 1), 0.7)]
    assert [hit.text for hit in page] == [LETTERS[:11], LETTERS[11:]]
    assert {hit.score_scale for hit in page} == {ScoreScale.SIMILARITY}
    assert page[0].evidence[-1] == ParentEvidence(child=ChunkKey("d", 0), children=2)
    assert page[0].evidence[0] == ArmEvidence(
        arm="dense", rank=1, score=0.9, scale=ScoreScale.SIMILARITY, weight=1.0, contribution=0.9
    )
    [dropped] = page.dropped
    assert (dropped.result.chunk.key, dropped.drop.stage) == (("d", 1), "parents")
    assert "lies in the parent d#0, which came for a better-ranked chunk" in dropped.drop.reason
    assert "parent of d#0 (2 of its chunks found)" in " ".join(str(page.explain()).split())


async def test_the_record_tells_what_became_of_a_chunk_and_is_json():
    hits = [child(piece(12, 16, 7), 0.9), child(piece(16, 20, 8), 0.8), child(piece(0, 5, 9), 0.7)]
    page = await retriever(hits, parents_of(d=[(0, 11), (11, 26)])).retrieve("q", RetrievalOptions())
    explanation = page.explain()
    assert explanation.of("d", 7) == "d#7 came back at place 1 as its parent d#1"
    assert explanation.of("d", 8).startswith("d#8 was dropped by parents: lies in the parent d#1")
    assert explanation.of("d", 1).startswith("d#1 came back at place 1: dense rank 1")
    data = page.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [item["kind"] for item in data["results"][0]["evidence"]] == ["arm", "parent"]


async def test_a_chunk_across_two_parents_goes_to_the_one_that_holds_more_of_it():
    store = parents_of(d=[(0, 10), (10, 20), (18, 26)])
    for span, wanted in (((7, 12), 0), ((8, 13), 1), ((8, 12), 0), ((16, 19), 1), ((18, 20), 1), ((19, 24), 2)):
        [hit] = await retriever([child(piece(*span, 0), 0.9)], store).retrieve("q", RetrievalOptions())
        assert (span, hit.chunk.chunk_index) == (span, wanted)


@given(
    spans=st.lists(st.tuples(st.integers(0, 25), st.integers(1, 26)), min_size=1, max_size=8),
    start=st.integers(0, 25),
    length=st.integers(1, 26),
)
def test_the_parent_is_the_first_of_those_that_share_most(spans, start, length):
    parents = sorted({(a, b) for a, b in spans if a < b})
    end = min(26, start + length)
    shared = [min(b, end) - max(a, start) for a, b in parents]
    expected = shared.index(max(shared)) if shared and max(shared) > 0 else None
    swap = ParentSwap(parents_of(d=parents))
    found = Candidates(kept=[Candidate(piece(start, end, 0), 0.9, ScoreScale.SIMILARITY)], exhausted=True)

    async def search(query):
        return found

    result = asyncio.run(swap(Query("q", RetrievalOptions(), 5), search))
    [kept] = result.kept
    if expected is None:
        assert kept == found.kept[0]
        assert result.warnings
    else:
        assert (kept.chunk.start, kept.chunk.end) == parents[expected]


async def test_enough_children_are_searched_for_top_k_parents():
    hits = [child(piece(n % 8, n % 8 + 1, n), 1 - n / 100) for n in range(40)]
    hits += [child(piece(9, 10, 40), 0.1), child(piece(20, 21, 41), 0.05)]
    searching = retriever(hits, parents_of(d=[(0, 8), (8, 16), (16, 26)]))
    page = await searching.retrieve("q", RetrievalOptions(top_k=3))
    assert [hit.chunk.chunk_index for hit in page] == [0, 1, 2]
    page = await searching.retrieve("q", RetrievalOptions(top_k=4))
    assert len(page) == 3
    assert page.exhausted


async def test_a_call_may_leave_parents_out():
    hits = [child(piece(0, 5, 0), 0.9)]
    page = await retriever(hits, parents_of(d=[(0, 26)])).retrieve("q", RetrievalOptions(use_parent_document=False))
    assert page[0].text == LETTERS[:5]
    assert "parents" not in page.timings


# --- misses and failures


@pytest.mark.parametrize(
    "missing",
    [
        piece(0, 5, 3, "unknown"),
        piece(20, 26, 3),
        TextChunk("other", "d", 3, 0, 5),
        TextChunk("a chunk whose offsets nobody kept", "d", 3),
        TextChunk("", "d", 3, 2, 2),
    ],
    ids=["no such document", "outside of every parent", "of another version", "without offsets", "empty"],
)
async def test_one_miss_leaves_all_chunks_as_they_are_with_a_warning(missing, caplog):
    hits = [child(piece(0, 5, 0), 0.9), child(piece(5, 9, 1), 0.8), child(missing, 0.7)]
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await retriever(hits, parents_of(d=[(0, 10)])).retrieve("q", RetrievalOptions())
    assert line(page) == [(hit.chunk.key, hit.score) for hit in hits]
    assert page.warnings == (
        "chunks were not replaced by their parents: 1 of 3 chunks have no parent: ingest them again",
    )
    assert [record.message for record in caplog.records] == [
        "parents_missing: 1 of 3 chunks have no parent: ingest them again"
    ]


class BrokenParents(InMemoryParentChunkStore):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def parents(self, document_id):
        raise self.error

    def replace_document(self, document_id, parents):
        raise self.error


async def test_a_store_of_parents_that_fails_leaves_the_chunks_with_a_warning(caplog):
    hits = [child(piece(0, 5, 0), 0.9)]
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await retriever(hits, BrokenParents(OSError("disk"))).retrieve("q", RetrievalOptions())
    assert line(page) == [(("d", 0), 0.9)]
    assert page.warnings == ("chunks were not replaced by their parents: the parents could not be read: OSError",)
    assert len(caplog.records) == 1


async def test_a_fault_of_the_set_up_is_not_papered_over():
    with pytest.raises(ConfigurationError, match="closed"):
        await retriever([child(piece(0, 5, 0), 0.9)], BrokenParents(ConfigurationError("closed"))).retrieve(
            "q", RetrievalOptions()
        )


async def test_a_page_of_the_web_has_no_parent_and_stays():
    web = Candidate(TextChunk("a page", "https://example.org", 0), 0.5, ScoreScale.SIMILARITY).noting(
        WebEvidence(engine="web", url="https://example.org", rank=1)
    )
    chunks = [Candidate(piece(0, 5, 0), 0.9, ScoreScale.SIMILARITY), web]
    found = Candidates(kept=chunks, exhausted=True)

    async def search(query):
        return found

    result = await ParentSwap(parents_of(d=[(0, 26)]))(Query("q", RetrievalOptions(), 5), search)
    assert [candidate.key for candidate in result.kept] == [("d", 0), ("https://example.org", 0)]
    assert result.kept[1] == web
    assert not result.warnings


async def test_a_document_is_looked_up_once_however_deep_a_call_searches():
    class Counting(InMemoryParentChunkStore):
        asked = ()

        def parents(self, document_id):
            self.asked += (document_id,)
            return super().parents(document_id)

    store = Counting()
    store.replace_document("d", [piece(0, 13, 0), piece(13, 26, 1)])
    hits = [child(piece(n % 12, n % 12 + 1, n), 1 - n / 100) for n in range(60)]
    await retriever(hits, store).retrieve("q", RetrievalOptions(top_k=4))
    assert store.asked == ("d",)


# --- with the stages outside


class Reading(ScriptedStore):
    """A store that gives vectors back, and remembers whose."""

    def __init__(self, hits, vectors):
        super().__init__(hits)
        self.vectors, self.read = vectors, []

    async def embeddings(self, keys):
        self.read.extend(keys)
        return [np.array(self.vectors[key], dtype=np.float32) for key in keys]


async def test_diversity_compares_parents_by_the_vectors_of_their_best_children():
    # The parent d#0 stands for the chunk d#2, and the parent d#1 for the chunk d#0: names that must not be mixed up.
    hits = [child(piece(1, 3, 2), 0.9), child(piece(14, 16, 0), 0.8), child(piece(20, 24, 1), 0.7)]
    vectors = {("d", 2): (1.0, 0.0), ("d", 0): (0.6, 0.8), ("d", 1): (0.0, 1.0)}
    store = Reading(hits, vectors)
    searching = Retriever(
        RetrievalParts(
            store=store, embedder=TableEmbedder({"q": (1.0, 0.0)}), parents=parents_of(d=[(0, 10), (10, 18), (18, 26)])
        )
    )
    page = await searching.retrieve(
        "q",
        RetrievalOptions(top_k=3, use_mmr=True, mmr_lambda=1.0, use_redundancy_filter=True, redundancy_threshold=0.99),
    )
    relevance = {
        hit.chunk.chunk_index: item.relevance for hit in page for item in hit.evidence if isinstance(item, MmrEvidence)
    }
    assert relevance == pytest.approx({0: 1.0, 1: 0.6, 2: 0.0}, abs=1e-6)
    assert sorted(store.read) == sorted(vectors)
    assert list(page.timings) == ["cut", "mmr", "redundancy", "parents", "search"]


async def test_a_parent_whose_child_nobody_has_a_vector_of_is_compared_by_the_childs_text():
    hits = [child(piece(0, 5, 0), 0.9), child(piece(14, 20, 1), 0.8)]
    embedder = TableEmbedder({"q": (1.0, 0.0), LETTERS[0:5]: (1.0, 0.0), LETTERS[14:20]: (0.0, 1.0)})
    searching = Retriever(
        RetrievalParts(store=ScriptedStore(hits), embedder=embedder, parents=parents_of(d=[(0, 13), (13, 26)]))
    )
    page = await searching.retrieve("q", RetrievalOptions(use_mmr=True))
    assert [hit.chunk.chunk_index for hit in page] == [0, 1]
    assert embedder.calls == [("q",), (LETTERS[0:5], LETTERS[14:20])]


async def test_twins_among_parents_are_dropped_and_named_as_parents():
    hits = [child(piece(0, 5, 7), 0.9), child(piece(14, 20, 8), 0.8)]
    store = Reading(hits, {("d", 7): (1.0, 0.0), ("d", 8): (1.0, 0.0)})
    searching = Retriever(
        RetrievalParts(store=store, embedder=TableEmbedder({}), parents=parents_of(d=[(0, 13), (13, 26)]))
    )
    page = await searching.retrieve("q", RetrievalOptions(use_redundancy_filter=True))
    assert line(page) == [(("d", 0), 0.9)]
    [dropped] = page.dropped
    assert (dropped.result.chunk.key, dropped.drop.stage) == (("d", 1), "redundancy")
    assert "says the same as d#0" in dropped.drop.reason


# --- from ingestion to the page


TEXT = "\n\n".join(f"Paragraph {word} speaks of {thing}." for word, thing in zip(
    ("one", "two", "three", "four", "five", "six"), ("kites", "lamps", "moss", "rain", "snow", "wind"), strict=True
))  # fmt: skip
TWO_EACH = ParentDocumentOptions(parent_chunk_size=75, parent_overlap=0)


def pipeline(**parts):
    return RagPipeline(embedder=HashEmbedder(256), chunker=SMALL, parents=TWO_EACH, **parts)


async def test_small_chunks_are_searched_and_their_parents_come_back():
    rag = pipeline()
    result = await rag.ingest_text(TEXT, about("d", tags={"lang": "en"}))
    assert result.chunks_stored == 6
    page = await rag.retrieve("moss", RetrievalOptions(top_k=1))
    assert page[0].text == "Paragraph three speaks of moss.\n\nParagraph four speaks of rain."
    assert page[0].chunk.text == TEXT[page[0].chunk.start : page[0].chunk.end]
    assert dict(page[0].chunk.metadata) == {"lang": "en"}
    assert len(await rag.retrieve("moss", RetrievalOptions(top_k=6))) == 3
    page = await rag.retrieve("moss", RetrievalOptions(top_k=1, use_parent_document=False))
    assert page[0].text == "Paragraph three speaks of moss."


async def test_a_filter_still_holds_for_the_children():
    rag = pipeline()
    for lang in ("de", "en"):
        await rag.ingest_text(TEXT, about(lang, tags={"lang": lang}))
    page = await rag.retrieve("moss", RetrievalOptions(top_k=9, metadata_filter={"lang": "en"}))
    assert {hit.chunk.document_id for hit in page} == {"en"}
    assert len(page) == 3


async def test_hybrid_and_keyword_search_swap_as_well():
    rag = pipeline()
    await rag.ingest_text(TEXT, about("d"))
    [hit] = await rag.retrieve("moss", RetrievalOptions(top_k=1, use_hybrid_search=True))
    assert hit.text.endswith("rain.")
    keywords = RagPipeline(chunker=SMALL, parents=TWO_EACH)
    await keywords.ingest_text(TEXT, about("d"))
    [hit] = await keywords.retrieve("moss")
    assert hit.text.endswith("rain.")


@pytest.mark.row("G6")
async def test_parents_carry_the_headings_of_their_sections():
    rag = pipeline()
    text = "# Garage\n\nKites are in the loft.\n\n## Tools\n\nLamps are on the left."
    await rag.ingest_text(text, about("d", content_type="text/markdown", tags={"year": 2026}))
    [hit] = await rag.retrieve("lamps", RetrievalOptions(top_k=1))
    assert isinstance(hit.evidence[-1], ParentEvidence)
    assert dict(hit.chunk.metadata) == {
        "year": 2026,
        "heading": "Tools",
        "heading_level": "2",
        "heading_breadcrumb": "Garage > Tools",
    }


@pytest.mark.row("H6")
async def test_ingesting_again_and_deleting_leave_no_parent_behind():
    store = InMemoryParentChunkStore()
    rag = pipeline(parent_store=store)
    await rag.ingest_text(TEXT, about("d"))
    assert len(store.parents("d")) == 3
    await rag.ingest_text("Only bicycles now.", about("d"))
    assert [parent.text for parent in store.parents("d")] == ["Only bicycles now."]
    await rag.delete("d")
    assert len(store) == 0


async def test_other_parents_make_a_document_stale(tmp_path):
    async with RagPipeline(embedder=HashEmbedder(), chunker=SMALL, path=tmp_path / "x") as rag:
        await rag.ingest_text(TEXT, about("d"))
    for options, wanted in (
        (TWO_EACH, IngestionStatus.STORED),
        (TWO_EACH, IngestionStatus.UNCHANGED),
        (ParentDocumentOptions(parent_chunk_size=76, parent_overlap=0), IngestionStatus.STORED),
        (None, IngestionStatus.STORED),
    ):
        async with RagPipeline(embedder=HashEmbedder(), chunker=SMALL, parents=options, path=tmp_path / "x") as rag:
            assert (await rag.ingest_text(TEXT, about("d"))).status is wanted


async def test_parents_are_kept_on_disk(tmp_path):
    async with pipeline(path=tmp_path / "x") as rag:
        await rag.ingest_text(TEXT, about("d", tags={"lang": "en"}))
        before = list(await rag.retrieve("moss", RetrievalOptions(top_k=3)))
    async with pipeline(path=tmp_path / "x") as rag:
        after = list(await rag.retrieve("moss", RetrievalOptions(top_k=3)))
    assert after == before
    assert after[0].text.endswith("rain.")


async def test_documents_from_before_there_were_parents_stay_as_they_are_with_a_warning(tmp_path):
    async with RagPipeline(embedder=HashEmbedder(256), chunker=SMALL, path=tmp_path / "x") as rag:
        await rag.ingest_text(TEXT, about("d"))
    async with pipeline(path=tmp_path / "x") as rag:
        page = await rag.retrieve("moss", RetrievalOptions(top_k=1))
        assert page[0].text == "Paragraph three speaks of moss."
        assert "ingest them again" in page.warnings[0]


@pytest.mark.parametrize("journal", [False, True])
async def test_parents_that_cannot_be_stored_undo_the_whole_document(journal):
    vectors, keywords, kept = InMemoryVectorStore(), InMemoryBm25Index(), MemoryJournal()
    ingestor = Ingestor(
        store=vectors,
        keyword_index=keywords,
        embedder=HashEmbedder(),
        parents=TWO_EACH,
        parent_store=BrokenParents(StoreError("the parents are away")),
        journal=kept if journal else None,
    )
    with pytest.raises(StoreError, match="the parents are away") as raised:
        await ingestor.ingest_text(TEXT, about("d"))
    assert any("was removed" in note for note in raised.value.__notes__)
    assert (len(vectors), len(keywords), len(kept.documents)) == (0, 0, 0)


@pytest.mark.row("L4")
async def test_a_document_whose_parents_are_being_written_is_finished_when_its_caller_gives_up():
    started, released = threading.Event(), threading.Event()

    class Slow(InMemoryParentChunkStore):
        def replace_document(self, document_id, parents):
            started.set()
            released.wait(10)
            super().replace_document(document_id, parents)

    store, vectors = Slow(), InMemoryVectorStore()
    call = asyncio.create_task(pipeline(parent_store=store, store=vectors).ingest_text(TEXT, about("d")))
    await asyncio.to_thread(started.wait, 10)
    call.cancel()
    await asyncio.sleep(0.01)
    released.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(store.parents("d")) == 3
    assert len(vectors.chunks("d")) == 6


@pytest.mark.row("L3")
def test_parts_that_do_not_go_together_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"parent_store=.*give parents="):
        RagPipeline(parent_store=InMemoryParentChunkStore())
    with pytest.raises(ConfigurationError, match="leave out parent_store=, or path="):
        RagPipeline(parents=TWO_EACH, parent_store=InMemoryParentChunkStore(), path=tmp_path / "x")
    with pytest.raises(ConfigurationError, match="parent_overlap must be less than parent_chunk_size 10, not 10"):
        ParentDocumentOptions(parent_chunk_size=10, parent_overlap=10)

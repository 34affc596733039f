"""Hybrid search by PostgreSQL itself."""

from __future__ import annotations

from contextlib import asynccontextmanager

import numpy as np
import pytest

from ragstone import RagPipeline, rrf
from ragstone.errors import ConfigurationError
from ragstone.models import DocumentMetadata, EmbeddedChunk, ScoreScale, SearchOptions, TextChunk
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.ports import HybridSearchable, SparseSearchable
from ragstone.stores import PgVectorHybridStore, PgVectorStore
from ragstone.testing import HashEmbedder
from support.pgvector import RecordingCursor, ask, new_name, recording_pool

pytestmark = pytest.mark.row("K2")

EAST = np.array([1, 0], dtype=np.float32)
PAGE = SearchOptions(top_k=10)


def embedded(document_id, text, north, metadata=None):
    chunk = TextChunk(text, document_id, 0, metadata=metadata or {})
    return EmbeddedChunk(chunk, np.array([1, north], dtype=np.float32))


@asynccontextmanager
async def opened(server, dimensions=2, **options):
    async with PgVectorHybridStore(server, dimensions=dimensions, collection=new_name(), **options) as store:
        try:
            yield store
        finally:
            await store.delete_collection(store.collection)


async def test_both_rankings_are_fused_by_reciprocal_ranks(postgres_url):
    async with opened(postgres_url) as store:
        assert isinstance(store, HybridSearchable)
        assert not isinstance(store, SparseSearchable)
        await store.store(
            [
                embedded("a", "paid leave", 0.1),
                embedded("b", "nothing of it", 0.2),
                embedded("c", "leave and paid leave, paid leave", 0.3),
                embedded("d", "a leave", 0.4),
            ]
        )
        hits = await store.hybrid_search("Paid leave?", EAST, PAGE)
        wanted = rrf([["a", "b", "c", "d"], ["c", "a", "d"]])
        assert [(hit.chunk.document_id, hit.score) for hit in hits] == [
            (fused.id, pytest.approx(fused.score, abs=1e-12)) for fused in wanted
        ]
        assert {hit.score_scale for hit in hits} == {ScoreScale.RRF}


async def test_filters_hold_in_both_rankings_and_a_floor_in_none(postgres_url):
    async with opened(postgres_url) as store:
        await store.store(
            [
                embedded("de", "paid leave", 0.1, {"lang": "de"}),
                embedded("en", "paid leave", 5.0, {"lang": "en"}),
                embedded("none", "paid leave", 0.1),
            ]
        )
        options = SearchOptions(top_k=5, min_score=0.9, metadata_filter={"lang": "en"})
        assert [hit.chunk.document_id for hit in await store.hybrid_search("leave", EAST, options)] == ["en"]
        assert await store.hybrid_search("leave", EAST, SearchOptions(top_k=0)) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "' | ! & :* <->",
        "it's \\ 'quoted'",
        "'; DROP TABLE rag_chunks; --",
        "nul \0",
        "half \ud83e",
        "🦀",
        "a\\b:*",
    ],
)
async def test_any_text_is_a_query(postgres_url, text):
    async with opened(postgres_url) as store:
        await store.store([embedded("a", "paid leave", 0.1)])
        [hit] = await store.hybrid_search(text, EAST, PAGE)
        assert hit.score == pytest.approx(1 / 61)


async def test_the_text_travels_as_a_parameter(postgres_url):
    async with recording_pool(postgres_url) as pool, opened(pool) as store:
        await store.hybrid_search("a secret question", EAST, PAGE)
        assert "secret" not in RecordingCursor.sent[-1].statement


async def test_a_language_stems(postgres_url):
    async with opened(postgres_url, language="english") as store:
        assert store.language == "english"
        await store.store([embedded("a", "nothing", 0.1), embedded("b", "the employees were leaving", 5.0)])
        first, _ = await store.hybrid_search("employee leaves", EAST, PAGE)
        assert first.chunk.document_id == "b"
        async with PgVectorHybridStore(postgres_url, dimensions=2, collection=store.collection) as other:
            with pytest.raises(ConfigurationError, match=r"english.*language='simple'.*DROP COLUMN words"):
                await other.initialize()


async def test_a_dense_table_gets_its_words(postgres_url):
    async with opened(postgres_url) as store:
        async with PgVectorStore(postgres_url, dimensions=2, collection=store.collection) as dense:
            await dense.store([embedded("a", "nothing", 0.1), embedded("b", "paid leave", 5.0)])
        assert [hit.chunk.document_id for hit in await store.hybrid_search("leave", EAST, PAGE)] == ["b", "a"]
        [(definition,)] = await ask(
            postgres_url, "SELECT indexdef FROM pg_indexes WHERE indexname = %s", f"idx_{store.collection}_words"
        )
        assert "USING gin (words)" in definition


async def test_a_language_that_is_not_there_is_refused(postgres_url):
    with pytest.raises(ConfigurationError, match="language must be"):
        PgVectorHybridStore(postgres_url, dimensions=2, language="x'; --")
    async with opened(postgres_url, language="klingon") as store:
        with pytest.raises(ConfigurationError, match="no text search configuration 'klingon'"):
            await store.initialize()


async def test_a_pipeline_finds_what_the_path_in_the_process_finds(postgres_url):
    texts = {
        "leave": "Paid leave is thirty days a year.",
        "travel": "Travel is booked by the office.",
        "sick": "Sick leave needs a note.",
        "pay": "Salaries are paid on the last day.",
    }
    async with opened(postgres_url, HashEmbedder().dimensions) as store:
        async with RagPipeline(embedder=HashEmbedder(), store=store) as rag:
            for name, text in texts.items():
                await rag.ingest_text(text, DocumentMetadata(document_id=name))
            native = await rag.retrieve("paid leave", RetrievalOptions(use_hybrid_search=True))
            client = await rag.retrieve(
                "paid leave", RetrievalOptions(use_hybrid_search=True, ensemble_options=EnsembleOptions())
            )
        assert (native.path, client.path) == ("native", "client")
        assert native[0].chunk.document_id == client[0].chunk.document_id == "leave"
        assert {hit.chunk.document_id for hit in native} == {hit.chunk.document_id for hit in client}

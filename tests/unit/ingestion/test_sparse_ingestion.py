"""Sparse vectors at ingestion, through the pipeline: made, stored, kept, replaced, and gone without."""

from __future__ import annotations

import logging

import pytest

from ragstone import RagPipeline, RetrievalOptions
from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.ingestion import Ingestor
from ragstone.models import IngestionStatus
from ragstone.options import EnsembleOptions
from ragstone.stores import InMemoryBm25Index, InMemoryVectorStore
from ragstone.testing import FailingSparseEncoder, HashEmbedder, HashSparseEncoder
from support.documents import about
from support.retrieval import ScriptedStore

pytestmark = pytest.mark.row("B4")

SPARSE_ONLY = RetrievalOptions(
    use_hybrid_search=True, ensemble_options=EnsembleOptions(dense_weight=0, bm25_weight=0, sparse_weight=1)
)
TEXT = "Paid leave is sixteen weeks.\n\n" + "Everybody asks their manager first. " * 20


def pipeline(encoder=None, **parts):
    return RagPipeline(embedder=HashEmbedder(), sparse_encoder=encoder, **parts)


async def found(rag, query="paid leave"):
    return [hit.chunk.key for hit in await rag.retrieve(query, SPARSE_ONLY)]


async def test_each_chunk_gets_the_sparse_vector_of_its_text():
    encoder = HashSparseEncoder()
    store = InMemoryVectorStore()
    rag = pipeline(encoder, store=store)
    result = await rag.ingest_text(TEXT, about("leave"))
    [request] = encoder.requests
    assert request == (tuple(chunk.text for chunk in store.chunks("leave")), "document")
    assert result.chunks_stored == len(request.texts) > 1
    assert result.warnings == ()
    page = await rag.retrieve("paid leave", SPARSE_ONLY)
    assert [hit.chunk.key for hit in page] == [("leave", 0)]
    assert page[0].evidence[0].score == 2.0


@pytest.mark.row("H6")
async def test_ingesting_again_replaces_the_sparse_vectors():
    rag = pipeline(HashSparseEncoder())
    await rag.ingest_text(TEXT, about("leave"))
    await rag.ingest_text("Now about bicycles.", about("leave"))
    assert await found(rag) == []
    assert await found(rag, "bicycles") == [("leave", 0)]
    await rag.delete("leave")
    assert await found(rag, "bicycles") == []


@pytest.mark.parametrize("error", [EmbeddingError("the model is away"), ValueError("quotes the text")])
async def test_a_failing_encoder_leaves_the_document_dense_only_with_one_warning(error, caplog):
    rag = pipeline(FailingSparseEncoder(error))
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        result = await rag.ingest_text(TEXT, about("leave"))
    assert result.status is IngestionStatus.STORED
    [warning] = result.warnings
    assert "stored without sparse vectors" in warning
    [record] = caplog.records
    assert "sparse_ingestion_failed: document 'leave'" in record.getMessage()
    assert "quotes the text" not in warning + record.getMessage()
    page = await rag.retrieve("paid leave", RetrievalOptions(use_sparse_search=False, use_hybrid_search=True))
    assert page[0].chunk.key == ("leave", 0)


async def test_a_document_without_sparse_vectors_is_not_unchanged_once_the_encoder_works(caplog):
    encoder = FailingSparseEncoder()
    store = InMemoryVectorStore()
    rag = pipeline(encoder, store=store)
    assert (await rag.ingest_text(TEXT, about("leave"))).warnings
    encoder._failure.after = 100
    healed = await rag.ingest_text(TEXT, about("leave"))
    assert (healed.status, healed.warnings) == (IngestionStatus.STORED, ())
    assert await found(rag) == [("leave", 0)]
    assert (await rag.ingest_text(TEXT, about("leave"))).status is IngestionStatus.UNCHANGED


async def test_many_documents_are_stored_though_some_have_no_sparse_vectors():
    rag = pipeline(FailingSparseEncoder(after=1))
    seen = []
    report = await rag.ingest_many(
        [(f"text {n}".encode(), about(f"d{n}", content_type="text/plain")) for n in range(3)],
        progress=lambda progress: seen.append(bool(progress.result.warnings)),
    )
    assert (report.stored, report.failed, report.warned) == (3, 0, 2)
    assert sorted(seen) == [False, True, True]


async def test_an_encoder_that_is_not_set_up_fails_the_document_and_stores_nothing():
    store = InMemoryVectorStore()
    rag = pipeline(FailingSparseEncoder(ConfigurationError("no such output")), store=store)
    with pytest.raises(ConfigurationError, match="no such output"):
        await rag.ingest_text(TEXT, about("leave"))
    assert store.documents() == []


# --- the index on disk


async def test_sparse_vectors_are_kept_on_disk_and_not_made_again(tmp_path):
    async with pipeline(HashSparseEncoder(), path=tmp_path / "x") as rag:
        await rag.ingest_text(TEXT, about("leave"))
    encoder = HashSparseEncoder()
    async with pipeline(encoder, path=tmp_path / "x") as rag:
        assert (await rag.ingest_text(TEXT, about("leave"))).status is IngestionStatus.UNCHANGED
        assert encoder.calls == 0
        assert await found(rag) == [("leave", 0)]


async def test_sparse_vectors_of_another_encoder_are_not_searched(tmp_path, caplog):
    async with pipeline(HashSparseEncoder("old"), path=tmp_path / "x") as rag:
        await rag.ingest_text(TEXT, about("leave"))
        await rag.ingest_text("Paid parking.", about("parking"))
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        async with pipeline(HashSparseEncoder("new"), path=tmp_path / "x") as rag:
            assert await found(rag) == []
            assert "sparse_vectors_missing: 2 documents" in caplog.text
            assert (await rag.ingest_text(TEXT, about("leave"))).status is IngestionStatus.STORED
            assert await found(rag) == [("leave", 0)]


async def test_an_index_without_sparse_vectors_takes_an_encoder_on_and_off(tmp_path, caplog):
    async with pipeline(path=tmp_path / "x") as rag:
        await rag.ingest_text(TEXT, about("leave"))
    async with pipeline(HashSparseEncoder(), path=tmp_path / "x") as rag:
        assert await found(rag) == []
        await rag.ingest_text(TEXT, about("leave"))
        assert await found(rag) == [("leave", 0)]
    caplog.clear()
    async with pipeline(path=tmp_path / "x") as rag:
        assert (await rag.retrieve("paid leave")).results
        assert (await rag.ingest_text(TEXT, about("leave"))).status is IngestionStatus.STORED
    assert not caplog.records


# --- what does not go together


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "sparse_encoder= makes the third arm of hybrid search, which needs an embedder"),
        (
            {"embedder": HashEmbedder(), "store": ScriptedStore()},
            "needs a store that searches sparse vectors, and ScriptedStore does not",
        ),
    ],
)
def test_an_encoder_without_what_it_needs_is_refused(parts, message):
    with pytest.raises(ConfigurationError, match=message):
        RagPipeline(sparse_encoder=HashSparseEncoder(), **parts)


@pytest.mark.row("L3")
def test_an_ingestor_needs_a_store_for_sparse_vectors():
    with pytest.raises(ConfigurationError, match="needs a store that searches sparse vectors"):
        Ingestor(
            store=ScriptedStore(),
            keyword_index=InMemoryBm25Index(),
            embedder=HashEmbedder(),
            sparse_encoder=HashSparseEncoder(),
        )

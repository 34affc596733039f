"""The door: documents in, chunks out, through real parts."""

from __future__ import annotations

import pytest

import ragstone as rs
from ragstone.errors import CapabilityError, ConfigurationError, IndexMismatchError
from ragstone.stores import InMemoryBm25Index, InMemoryVectorStore
from ragstone.testing.embedders import FailingEmbedder, HashEmbedder

TEXTS = {
    "leave": "Parents get 16 weeks of paid leave after a birth.",
    "lunch": "Lunch is served at noon in the canteen.",
    "travel": "Travel expenses are paid within 30 days.",
}


async def filled(**parts):
    rag = rs.RagPipeline(**parts)
    for name, text in TEXTS.items():
        await rag.ingest_text(text, rs.DocumentMetadata(document_id=name, tags={"first": name[0], "size": len(text)}))
    return rag


@pytest.mark.row("L1")
@pytest.mark.parametrize("hybrid", [False, True])
async def test_documents_in_chunks_out(hybrid):
    rag = await filled(embedder=HashEmbedder(256))
    page = await rag.retrieve("paid leave for parents", rs.RetrievalOptions(use_hybrid_search=hybrid))
    assert page[0].chunk.document_id == "leave"
    assert page[0].chunk.text == TEXTS["leave"]


@pytest.mark.row("L1")
async def test_every_part_can_be_replaced():
    store, index = InMemoryVectorStore(), InMemoryBm25Index(k1=0.9)
    rag = await filled(
        embedder=HashEmbedder(32),
        store=store,
        keyword_index=index,
        chunker=rs.SentenceChunker(max_size=100),
        token_counter=rs.EncodingCounter("o200k_base"),
    )
    assert len(store) == len(index) == 3
    page = await rag.retrieve("lunch", rs.RetrievalOptions(use_hybrid_search=True, max_context_tokens=10))
    assert [hit.chunk.document_id for hit in page] == ["lunch"]


@pytest.mark.row("E7")
@pytest.mark.case("S-009")
@pytest.mark.parametrize("hybrid", [False, True])
async def test_a_filter_holds_in_every_arm_before_the_cut(hybrid):
    rag = rs.RagPipeline(embedder=HashEmbedder())
    for i in range(60):
        await rag.ingest_text("alpha alpha alpha", rs.DocumentMetadata(document_id=f"x{i}", tags={"team": "x"}))
    await rag.ingest_text("alpha beta gamma delta", rs.DocumentMetadata(document_id="z", tags={"team": "y"}))
    options = rs.RetrievalOptions(top_k=1, use_hybrid_search=hybrid, metadata_filter={"team": "y"})
    page = await rag.retrieve("alpha", options)
    assert [hit.chunk.document_id for hit in page] == ["z"]
    assert {d.result.chunk.metadata["team"] for d in page.dropped} <= {"y"}
    nothing = await rag.retrieve("alpha", rs.RetrievalOptions(use_hybrid_search=hybrid, metadata_filter={"team": "w"}))
    assert len(nothing) == 0
    assert nothing.exhausted


@pytest.mark.row("E7")
@pytest.mark.case("S-008")
async def test_a_keyword_page_is_never_filled_up_with_what_does_not_match():
    rag = rs.RagPipeline()
    for name, text, cat in (
        ("r1", "plum jam", "food"),
        ("r2", "plum stock report", "money"),
        ("r3", "rye bread", "food"),
        ("r4", "tin roof", "build"),
    ):
        await rag.ingest_text(text, rs.DocumentMetadata(document_id=name, tags={"cat": cat}))
    page = await rag.retrieve("plum", rs.RetrievalOptions(top_k=3, metadata_filter={"cat": "food"}))
    assert [hit.chunk.document_id for hit in page] == ["r1"]


@pytest.mark.row("H6")
async def test_delete_leaves_no_trace_in_any_arm():
    rag = await filled(embedder=HashEmbedder(256))
    assert await rag.delete("leave") is True
    for hybrid in (False, True):
        page = await rag.retrieve("paid leave for parents", rs.RetrievalOptions(top_k=10, use_hybrid_search=hybrid))
        assert "leave" not in {hit.chunk.document_id for hit in page}
        assert "leave" not in {d.result.chunk.document_id for d in page.dropped}
    assert await rag.delete("leave") is False


async def test_without_an_embedder_it_searches_keywords_and_says_so():
    rag = await filled()
    page = await rag.retrieve("paid leave")
    assert page.path == "keyword"
    assert page[0].score_scale == rs.ScoreScale.BM25
    with pytest.raises(CapabilityError, match="embedder"):
        await rag.retrieve("paid leave", rs.RetrievalOptions(use_hybrid_search=True))


@pytest.mark.row("C7")
async def test_the_result_says_which_scale_its_score_is_on():
    rag = await filled(embedder=HashEmbedder(256))
    dense = await rag.retrieve("paid leave")
    hybrid = await rag.retrieve("paid leave", rs.RetrievalOptions(use_hybrid_search=True))
    assert {hit.score_scale for hit in dense} == {rs.ScoreScale.SIMILARITY}
    assert all(-1 <= hit.score <= 1 for hit in dense)
    assert {hit.score_scale for hit in hybrid} == {rs.ScoreScale.RRF}
    assert all(0 < hit.score <= 2 / 61 for hit in hybrid)


@pytest.mark.row("D2")
async def test_a_min_score_of_zero_is_no_threshold_and_any_other_is_one():
    rag = await filled(embedder=HashEmbedder(512))
    assert len(await rag.retrieve("parents")) == 3
    assert [hit.chunk.document_id for hit in await rag.retrieve("parents", rs.RetrievalOptions(min_score=0.1))] == [
        "leave"
    ]
    assert len(await rag.retrieve("parents", rs.RetrievalOptions(min_score=-1.0))) == 3


async def test_mmr_and_redundancy_run_on_the_stores_own_vectors():
    embedder = HashEmbedder(256)
    rag = await filled(embedder=embedder)
    await rag.ingest_text(TEXTS["leave"], rs.DocumentMetadata(document_id="copy"))
    calls = embedder.calls
    options = rs.RetrievalOptions(use_redundancy_filter=True, use_mmr=True, use_hybrid_search=True)
    page = await rag.retrieve("paid leave", options)
    assert {"copy", "leave"} & {hit.chunk.document_id for hit in page} == {"copy"}
    assert embedder.calls == calls + 1


async def test_a_path_keeps_the_index_from_one_process_to_the_next(tmp_path):
    path = tmp_path / "handbook.rag"
    async with await filled(embedder=HashEmbedder(64), path=path) as rag:
        await rag.delete("lunch")
        before = await rag.retrieve("paid leave", rs.RetrievalOptions(use_hybrid_search=True))
    async with rs.RagPipeline(embedder=HashEmbedder(64), path=path) as rag:
        again = await rag.retrieve("paid leave", rs.RetrievalOptions(use_hybrid_search=True))
        assert again[0] == before[0]
        assert {hit.chunk.document_id for hit in again} == {"leave", "travel"}
        unchanged = await rag.ingest_text(
            TEXTS["leave"], rs.DocumentMetadata(document_id="leave", tags={"first": "l", "size": len(TEXTS["leave"])})
        )
        assert unchanged.status == rs.IngestionStatus.UNCHANGED


async def test_an_index_of_another_embedder_is_refused(tmp_path):
    path = tmp_path / "handbook.rag"
    async with await filled(embedder=HashEmbedder(64), path=path):
        pass
    other = rs.RagPipeline(embedder=HashEmbedder(32), path=path)
    with pytest.raises(IndexMismatchError, match="HashEmbedder"):
        await other.retrieve("paid leave")


async def test_a_failed_ingestion_leaves_what_was_there(tmp_path):
    path = tmp_path / "handbook.rag"
    async with await filled(embedder=HashEmbedder(64), path=path):
        pass

    class Broken(FailingEmbedder):
        identity = HashEmbedder(64).identity
        dimensions = 64

    async with rs.RagPipeline(embedder=Broken(), path=path) as rag:
        with pytest.raises(rs.errors.EmbeddingError):
            await rag.ingest_text("Parents get 20 weeks.", rs.DocumentMetadata(document_id="leave"))
    async with rs.RagPipeline(embedder=HashEmbedder(64), path=path) as rag:
        page = await rag.retrieve("paid leave", rs.RetrievalOptions(use_hybrid_search=True))
        assert page[0].chunk.text == TEXTS["leave"]


def test_parts_that_do_not_go_together_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="needs an embedder"):
        rs.RagPipeline(store=InMemoryVectorStore())
    with pytest.raises(ConfigurationError, match="path="):
        rs.RagPipeline(embedder=HashEmbedder(), store=InMemoryVectorStore(), path=tmp_path)
    with pytest.raises(ConfigurationError, match="path="):
        rs.RagPipeline(keyword_index=InMemoryBm25Index(), path=tmp_path)


async def test_a_closed_pipeline_says_so():
    rag = rs.RagPipeline()
    await rag.aclose()
    await rag.aclose()
    with pytest.raises(ConfigurationError, match="closed"):
        await rag.retrieve("x")


async def test_bytes_need_an_identity():
    with pytest.raises(ConfigurationError, match="document_id"):
        await rs.RagPipeline().ingest(b"text")

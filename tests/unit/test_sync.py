"""The synchronous face."""

from __future__ import annotations

import asyncio
import threading

import pytest

import ragstone as rs
from ragstone.errors import ConfigurationError, ParseError
from ragstone.testing.embedders import HashEmbedder


@pytest.mark.row("L5")
def test_the_synchronous_face_does_all_that_the_pipeline_does(tmp_path):
    (tmp_path / "leave.md").write_text("# Leave\n\nParents get 16 weeks of paid leave.\n", encoding="utf-8")
    seen = []
    with rs.sync(rs.RagPipeline(embedder=HashEmbedder())) as rag:
        assert rag.ingest(tmp_path / "leave.md", rs.DocumentMetadata(document_id="leave")).chunks_stored == 1
        rag.ingest_text("Lunch is at noon.", rs.DocumentMetadata(document_id="lunch"))
        assert rag.ingest_many([tmp_path / "leave.md"], progress=seen.append).stored == 1
        page = rag.retrieve("paid leave for parents", rs.RetrievalOptions(use_hybrid_search=True, top_k=1))
        assert page[0].chunk.text.endswith("Parents get 16 weeks of paid leave.")
        assert "paid leave" in str(rag.explain("paid leave"))
        assert rag.delete("leave") is True
        assert rag.delete("leave") is False
    assert len(seen) == 1


@pytest.mark.row("L5")
def test_errors_come_through_as_they_are():
    with rs.sync(rs.RagPipeline()) as rag:
        with pytest.raises(ParseError):
            rag.ingest(b"\x00\x01\x02", rs.DocumentMetadata(document_id="x", content_type="text/plain"))
        with pytest.raises(rs.errors.InvalidInputError):
            rag.retrieve(" ")


@pytest.mark.row("L5")
async def test_it_works_where_an_event_loop_runs_already():
    with rs.sync(rs.RagPipeline()) as rag:
        rag.ingest_text("red kite", rs.DocumentMetadata(document_id="d"))
        assert len(rag.retrieve("kite")) == 1
    assert asyncio.get_running_loop().is_running()


@pytest.mark.row("L5")
def test_outside_of_its_block_it_refuses_and_leaves_no_thread():
    before = threading.active_count()
    face = rs.sync(rs.RagPipeline())
    with pytest.raises(ConfigurationError, match="with"):
        face.retrieve("x")
    with face as rag:
        rag.ingest_text("red kite", rs.DocumentMetadata(document_id="d"))
    assert threading.active_count() == before
    with pytest.raises(ConfigurationError, match="with"):
        face.retrieve("x")

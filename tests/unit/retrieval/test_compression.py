"""Compression as a stage: when it runs, where it stands, and what the page then holds."""

from __future__ import annotations

import logging

import pytest

import ragstone as rs
from ragstone.errors import CapabilityError, ConfigurationError
from ragstone.models import CompressionEvidence, TokenEvidence
from ragstone.options import CompressionOptions, RetrievalOptions
from ragstone.retrieval.planning import Cost
from ragstone.retrieval.stages.compression import Compression
from ragstone.testing import FailingEmbedder, HashEmbedder, ScriptedChat, ScriptedReranker
from support.parts import ScriptedCompressor, names, searching
from support.retrieval import hit

ON = RetrievalOptions(use_compression=True)
LONG = "Parents get leave. The tower is tall. Lunch is at noon."


def hits(*texts):
    return [hit(f"d{i}", 1 - i / 10, text=text) for i, text in enumerate(texts)]


@pytest.mark.row("F11")
async def test_the_compressed_text_stands_beside_the_whole_one():
    page = await searching(hits(LONG, "One."), compressor=ScriptedCompressor()).retrieve("q", ON)
    first, second = page
    assert (first.compressed_text, first.text, first.chunk.text) == ("Parents get leave",) * 2 + (LONG,)
    assert first.evidence[-1] == CompressionEvidence(
        compressor="scripted", characters_before=len(LONG), characters_after=17
    )
    assert (second.compressed_text, second.text) == ("One", "One")
    assert (first.score, names(page)) == (1.0, ["d0", "d1"])
    assert f"compressed from {len(LONG)} to 17 characters (scripted)" in " ".join(str(page.explain()).split())
    assert page.to_dict()["results"][0]["compressed_text"] == "Parents get leave"


@pytest.mark.row("F11")
@pytest.mark.parametrize(
    ("in_retrieval", "use", "asking", "compressed"),
    [
        (False, None, False, False),
        (False, None, True, True),
        (True, None, False, True),
        (True, None, True, True),
        (True, False, False, False),
        (True, False, True, False),
        (False, True, False, True),
    ],
)
async def test_it_takes_part_in_asking_and_in_retrieving_only_where_that_is_wanted(
    in_retrieval, use, asking, compressed
):
    options = CompressionOptions(keep_top_sentences=1, in_retrieval=in_retrieval)
    retriever = searching(hits(LONG), embedder=HashEmbedder(256), compression=options)
    page = await retriever.retrieve("tower", RetrievalOptions(use_compression=use), asking=asking)
    assert page[0].compressed_text == ("The tower is tall." if compressed else None)
    assert ("compression" in page.timings) is compressed


@pytest.mark.row("F11")
async def test_a_compressor_of_ones_own_takes_part_in_asking_alone_unless_told():
    own = ScriptedCompressor()
    retriever = searching(hits(LONG), compressor=own)
    assert (await retriever.retrieve("q", RetrievalOptions()))[0].compressed_text is None
    assert (await retriever.retrieve("q", RetrievalOptions(), asking=True))[0].compressed_text == "Parents get leave"
    assert (await retriever.retrieve("q", ON))[0].compressed_text == "Parents get leave"


@pytest.mark.row("F11")
async def test_asking_for_it_without_a_compressor_is_refused_and_nothing_else_is():
    retriever = searching(hits(LONG))
    with pytest.raises(
        CapabilityError, match="use_compression=True needs a compressor: give the pipeline compression="
    ):
        await retriever.retrieve("q", ON)
    assert len(await retriever.retrieve("q", RetrievalOptions(), asking=True)) == 1
    with pytest.raises(ConfigurationError, match="use_compression"):
        RetrievalOptions(use_compression="yes")


@pytest.mark.row("F11")
@pytest.mark.row("G9")
async def test_it_compresses_what_the_cut_left_after_reranking_full_texts_and_before_the_budget():
    compressor, reranker = ScriptedCompressor(), ScriptedReranker([0.1, 0.2, 0.3])
    retriever = searching(hits("a. b", "c. d", "e. f"), compressor=compressor, reranker=reranker)
    options = RetrievalOptions(
        top_k=2, use_compression=True, max_context_tokens=2, use_lost_in_the_middle_reordering=True
    )
    page = await retriever.retrieve("q", options)
    assert reranker.requests[0].texts == ("a. b", "c. d", "e. f")
    assert compressor.requests == [("q", ("e. f", "c. d"))]
    assert [result.text for result in page] == ["e", "c"]
    assert [e.tokens for result in page for e in result.evidence if isinstance(e, TokenEvidence)] == [1, 1]
    assert list(page.timings) == ["reorder", "budget", "compression", "cut", "rerank", "search"]


@pytest.mark.row("F11")
async def test_the_querys_embedding_is_made_once_in_the_call():
    embedder = HashEmbedder(256)
    retriever = searching(hits(LONG), embedder=embedder, compression=CompressionOptions(keep_top_sentences=1))
    await retriever.retrieve("tower", ON)
    assert [request.input_type for request in embedder.requests] == ["query", "document"]


@pytest.mark.row("F11")
async def test_a_chunk_in_which_nothing_bears_on_the_query_is_dropped():
    chat = ScriptedChat(["NONE", "Leave."])
    compression = CompressionOptions(strategy="abstractive", keep_top_sentences=1)
    retriever = searching(hits(LONG, LONG), chat=chat, compression=compression)
    page = await retriever.retrieve("q", ON)
    assert [(r.chunk.document_id, r.text) for r in page] == [("d1", "Leave.")]
    (dropped,) = page.dropped
    assert (dropped.drop.stage, dropped.drop.reason) == ("compression", "nothing in it bears on the query")
    assert dropped.result.chunk.text == LONG


@pytest.mark.row("F11")
async def test_a_text_that_needs_no_compression_has_none():
    compression = CompressionOptions(keep_top_sentences=9)
    page = await searching(hits(f"  {LONG}\n"), embedder=HashEmbedder(64), compression=compression).retrieve("q", ON)
    assert (page[0].compressed_text, page[0].text) == (None, f"  {LONG}\n")
    assert not any(isinstance(item, CompressionEvidence) for item in page[0].evidence)


@pytest.mark.row("F11")
async def test_a_chunk_that_could_not_be_compressed_stays_whole_with_a_warning(caplog):
    compressor = ScriptedCompressor(lambda texts: ["short", None, None])
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching(hits("a. b", "c. d", "e. f"), compressor=compressor).retrieve("q", ON)
    assert [result.text for result in page] == ["short", "c. d", "e. f"]
    assert page.warnings == ("2 of 3 chunks could not be compressed and stay whole",)
    assert "compression_incomplete: scripted: 2 of 3" in caplog.text


@pytest.mark.row("F11")
@pytest.mark.parametrize(
    ("compressor", "reason"),
    [
        (ScriptedCompressor(fail=OSError("the text of a chunk")), "OSError"),
        (ScriptedCompressor(lambda texts: ["one"]), "CompressionError: 2 texts went in and 1 came back"),
        (ScriptedCompressor(lambda texts: [7, 8]), "AttributeError"),
        (None, "EmbeddingError: the embedder failed, as the test told it to"),
    ],
)
async def test_a_compressor_that_fails_leaves_every_chunk_whole_with_a_warning(compressor, reason, caplog):
    parts = {"compressor": compressor}
    if compressor is None:
        parts = {"embedder": FailingEmbedder(after=1), "compression": CompressionOptions(keep_top_sentences=1)}
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching(hits(LONG, LONG), **parts).retrieve("q", ON)
    assert [result.text for result in page] == [LONG, LONG]
    assert page.warnings == (f"compression failed and every chunk stays whole: {reason}",)
    assert "compression_failed" in caplog.text
    assert LONG not in caplog.text


@pytest.mark.row("F11")
async def test_a_fault_of_the_set_up_is_not_papered_over():
    wrong = ScriptedCompressor(fail=ConfigurationError("no such model"))
    with pytest.raises(ConfigurationError, match="no such model"):
        await searching(hits(LONG), compressor=wrong).retrieve("q", ON)


@pytest.mark.row("F11")
def test_a_strategy_without_its_model_is_refused_where_the_pipeline_is_made():
    extractive = CompressionOptions(keep_top_sentences=1)
    abstractive = CompressionOptions(strategy="abstractive", keep_top_sentences=1)
    with pytest.raises(ConfigurationError, match=r"compression=.*'extractive' needs an embedder"):
        rs.RagPipeline(compression=extractive, chat=ScriptedChat())
    with pytest.raises(ConfigurationError, match=r"compression=.*'abstractive' needs a chat model"):
        rs.RagPipeline(compression=abstractive, embedder=HashEmbedder())
    with pytest.raises(ConfigurationError, match="give one"):
        rs.RagPipeline(compression=extractive, embedder=HashEmbedder(), compressor=ScriptedCompressor())
    rs.RagPipeline(compression=abstractive, chat=ScriptedChat())


@pytest.mark.row("F11")
async def test_through_the_pipeline():
    compression = rs.CompressionOptions(keep_top_sentences=1, in_retrieval=True)
    rag = rs.RagPipeline(embedder=HashEmbedder(256), compression=compression)
    await rag.ingest_text(LONG, rs.DocumentMetadata(document_id="a"))
    assert (await rag.retrieve("how tall is the tower"))[0].compressed_text == "The tower is tall."


@pytest.mark.parametrize(
    ("strategy", "cost"),
    [("extractive", Cost(embedding_calls=1, embeds_query=True)), ("abstractive", Cost(llm_calls=5)), (None, Cost())],
)
def test_the_cost_is_one_batch_or_one_call_a_chunk(strategy, cost):
    assert Compression(ScriptedCompressor(), strategy).cost(5, lambda depth: Cost()) == cost


@pytest.mark.row("F11")
async def test_asking_reads_the_compressed_text_and_its_sources_hold_the_whole_one():
    chat = ScriptedChat("324 metres [Source 1].")
    rag = rs.RagPipeline(embedder=HashEmbedder(256), chat=chat, compression=rs.CompressionOptions(keep_top_sentences=1))
    await rag.ingest_text(LONG, rs.DocumentMetadata(document_id="a"))
    reply = await rag.ask("how tall is the tower")
    asked = str(chat.requests[-1].messages)
    assert "The tower is tall." in asked
    assert "Parents get leave" not in asked
    assert reply.sources[0].chunk.text == LONG
    assert (await rag.retrieve("how tall is the tower"))[0].compressed_text is None

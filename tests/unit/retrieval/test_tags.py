"""Tag retrieval: which tags are found, what they may not do, and what becomes of them."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest

from ragstone import DocumentMetadata, RagPipeline
from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.models import TextChunk
from ragstone.options import RetrievalOptions, TagRetrievalOptions
from ragstone.tags import TagIndex, document_tags
from ragstone.testing import HashEmbedder
from support.retrieval import TableEmbedder

QUERY = "budget targets"


def at(cosine):
    return (cosine, float(np.sqrt(1 - cosine**2)))


class Embedder(TableEmbedder):
    """Vectors from a table; fails for the texts it is told to."""

    def __init__(self, table):
        super().__init__({QUERY: (1.0, 0.0), **table}, default=(0.0, 1.0))
        self.refused: set[str] = set()
        self.waits: set[str] = set()
        self.started = asyncio.Event()

    async def embed(self, texts, *, input_type="document"):
        if self.waits.intersection(texts):
            self.started.set()
            await asyncio.Event().wait()
        vectors = await super().embed(texts, input_type=input_type)
        if self.refused.intersection(texts):
            raise EmbeddingError("refused")
        return vectors

    def times(self, text):
        return sum(call.count(text) for call in self.calls)


async def shop(embedder, *documents, path=None, **options):
    rag = RagPipeline(embedder=embedder, tag_retrieval=TagRetrievalOptions(**options), path=path)
    for number, tags in enumerate(documents):
        await rag.ingest_text(f"text {number}", DocumentMetadata(document_id=f"d{number}", tags=tags))
    return rag


def names(page):
    return sorted(r.chunk.document_id for r in page)


@pytest.mark.row("F8")
async def test_the_filter_is_found_from_the_query():
    embedder = Embedder({"finance": at(0.9), "legal": at(0.5)})
    rag = await shop(embedder, {"department": "finance"}, {"department": "legal"})
    page = await rag.retrieve(QUERY)
    assert names(page) == ["d0"]
    assert page.notes["tags"] == "department=finance (0.90)"
    assert embedder.times(QUERY) == 1
    assert names(await rag.retrieve(QUERY, RetrievalOptions(use_tag_retrieval=False))) == ["d0", "d1"]


@pytest.mark.row("F8")
@pytest.mark.case("S-035")
async def test_a_key_that_the_caller_set_is_never_overridden():
    embedder = Embedder({"finance": at(0.91), "2024": at(0.88)})
    rag = await shop(
        embedder,
        {"department": "legal", "year": "2024"},
        {"department": "finance", "year": "2024"},
        {"department": "legal", "year": "2023"},
        top_k=2,
    )
    asked = {"department": "legal"}
    page = await rag.retrieve(QUERY, RetrievalOptions(metadata_filter=asked))
    assert names(page) == ["d0"]
    assert page.notes["tags"] == "year=2024 (0.88)"
    assert asked == {"department": "legal"}


@pytest.mark.row("F8")
async def test_one_value_a_key_and_the_best_keys_first():
    embedder = Embedder({"a1": at(0.95), "a2": at(0.99), "b": at(0.9), "c": at(0.85)})
    documents = [{"x": "a1"}, {"x": "a2", "y": "b", "z": "c"}]
    one = await shop(embedder, *documents)
    assert (await one.retrieve(QUERY)).notes["tags"] == "x=a2 (0.99)"
    two = await shop(embedder, *documents, top_k=2)
    assert (await two.retrieve(QUERY)).notes["tags"] == "x=a2 (0.99), y=b (0.90)"


@pytest.mark.row("F8")
@pytest.mark.parametrize(("min_score", "added"), [(0.82, True), (0.821, False), (1.0, False), (-1.0, True)])
async def test_a_tag_must_be_near_enough(min_score, added):
    rag = await shop(Embedder({"finance": at(0.82)}), {"department": "finance"}, min_score=min_score)
    assert ("tags" in (await rag.retrieve(QUERY)).notes) is added


@pytest.mark.row("F8")
async def test_the_query_itself_as_a_tag_reaches_a_threshold_of_one():
    rag = await shop(HashEmbedder(), {"topic": "leave for new parents of a child"}, min_score=1.0)
    assert "tags" in (await rag.retrieve("leave for new parents of a child")).notes


@pytest.mark.row("F8")
async def test_each_tag_is_embedded_once_and_only_strings_are():
    embedder = Embedder({})
    await shop(embedder, *[{"department": "finance", "year": 2024, "open": True, "team": "core"}] * 5)
    assert embedder.times("finance") == embedder.times("core") == 1
    assert not embedder.times("2024")


@pytest.mark.row("F8")
async def test_a_filter_that_leaves_nothing_is_taken_back(caplog):
    embedder = Embedder({"finance": at(0.9), "north": at(0.89)})
    rag = await shop(embedder, {"department": "finance"}, {"region": "north"}, top_k=2)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await rag.retrieve(QUERY)
    assert names(page) == ["d0", "d1"]
    assert page.notes["tags"] == "relaxed: department=finance (0.90), region=north (0.89)"
    assert any("taken back" in warning for warning in page.warnings)
    assert [r.message for r in caplog.records] == [
        "tag_filter_relaxed: the added keys ['department', 'region'] left nothing"
    ]


@pytest.mark.row("F8")
@pytest.mark.row("H6")
async def test_a_tag_that_no_document_has_any_more_is_forgotten():
    embedder = Embedder({"finance": at(0.9), "legal": at(0.85)})
    rag = await shop(embedder, {"department": "finance"}, {"department": "legal"}, {"department": "finance"})
    await rag.delete("d0")
    assert names(await rag.retrieve(QUERY)) == ["d2"]
    await rag.ingest_text("now legal", DocumentMetadata(document_id="d2", tags={"department": "legal"}))
    assert names(await rag.retrieve(QUERY)) == ["d1", "d2"]
    assert (await rag.retrieve(QUERY)).notes["tags"] == "department=legal (0.85)"
    await rag.delete("d1")
    await rag.delete("d2")
    assert (await rag.retrieve(QUERY)).notes == {}


@pytest.mark.row("F8")
async def test_an_index_directory_brings_its_tags_back(tmp_path):
    embedder = Embedder({"finance": at(0.9)})
    async with await shop(embedder, {"department": "finance"}, {"department": "other"}, path=tmp_path / "i.rag"):
        pass
    async with RagPipeline(embedder=embedder, tag_retrieval=TagRetrievalOptions(), path=tmp_path / "i.rag") as again:
        assert names(await again.retrieve(QUERY)) == ["d0"]
        assert names(await again.retrieve(QUERY)) == ["d0"]
    assert embedder.times("finance") == 2


@pytest.mark.row("F8")
async def test_tags_that_cannot_be_embedded_keep_no_document_out(caplog):
    embedder = Embedder({"finance": at(0.9)})
    embedder.refused = {"finance"}
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        rag = await shop(embedder, {"department": "finance"}, {"department": "finance"}, {})
        page = await rag.retrieve(QUERY)
    assert names(page) == ["d0", "d1", "d2"]
    assert page.warnings == ("tags were left out, because finding them failed: EmbeddingError: refused",)
    events = [r.message.partition(":")[0] for r in caplog.records]
    assert events == ["tag_embedding_failed"] * 3 + ["tag_retrieval_failed"]
    embedder.refused = set()
    page = await rag.retrieve(QUERY)
    assert names(page) == ["d0", "d1"]
    assert page.warnings == ()


@pytest.mark.row("F8")
def test_tags_need_an_embedder_and_sound_options():
    with pytest.raises(ConfigurationError, match=r"tag_retrieval=.*needs an embedder"):
        RagPipeline(tag_retrieval=TagRetrievalOptions())
    for field, value in [("top_k", 0), ("min_score", 1.01), ("min_score", float("nan"))]:
        with pytest.raises(ConfigurationError, match=field):
            TagRetrievalOptions(**{field: value})


def test_what_ragstone_wrote_itself_or_one_chunk_alone_has_is_no_tag():
    common = {"team": "core", "year": 2024, "blank": " ", "created_at": "2024-01-01", "heading": "One"}
    chunks = [TextChunk("t", "d", 0, metadata={**common, "own": "x"}), TextChunk("t", "d", 1, metadata=common)]
    assert document_tags(chunks) == {("team", "core")}
    assert document_tags([]) == frozenset()


async def test_equal_scores_are_ordered_by_key_and_value():
    index = TagIndex(TableEmbedder({}, default=(1.0, 0.0)))
    for name, tags in [("1", {"b": "y"}), ("2", {"b": "x", "a": "z"})]:
        index.replace_document(name, [TextChunk("t", name, 0, metadata=tags)])
    await index.embed()
    matches = await index.nearest(np.array([1.0, 0.0], dtype=np.float32), top_k=5, min_score=0.5)
    assert [match.tag for match in matches] == [("a", "z"), ("b", "x")]
    assert len(index) == 3

"""The keyword index in memory: chunks come back whole, and with the score that is theirs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragstone import ports
from ragstone.errors import ConfigurationError, InvalidInputError
from ragstone.models import ScoreScale, TextChunk
from ragstone.stores import InMemoryBm25Index


def chunk(document_id: str, index: int, text: str, **metadata: object) -> TextChunk:
    return TextChunk(text, document_id, index, metadata=metadata)


def index_of(*chunks: TextChunk) -> InMemoryBm25Index:
    index = InMemoryBm25Index()
    index.add(chunks)
    return index


@pytest.mark.row("A4", "C7")
def test_hits_are_whole_chunks_with_their_scale():
    fox = TextChunk("the quick brown fox", "a", 3, 17, 36, {"lang": "en"})
    index = index_of(fox, chunk("b", 0, "a lazy dog"))
    [hit] = index.search("brown fox", 5)
    assert isinstance(index, ports.KeywordIndex)
    assert (hit.chunk, hit.score_scale) == (fox, ScoreScale.BM25)
    assert hit.score > 0


@pytest.mark.row("A4")
def test_adding_replacing_removing_and_clearing():
    index = index_of(chunk("a", 0, "fox"), chunk("a", 1, "fox fox"), chunk("b", 0, "fox"))
    index.add([chunk("a", 0, "dog")])
    assert [hit.chunk.key for hit in index.search("fox", 5)] == [("a", 1), ("b", 0)]
    index.replace_document("a", [chunk("a", 7, "dog"), chunk("a", 5, "cat")])
    assert [hit.chunk.key for hit in index.search("dog fox", 5)] == [("a", 7), ("b", 0)]
    assert ([item.chunk_index for item in index.chunks("a")], index.documents()) == ([5, 7], ["a", "b"])
    assert (index.remove("a"), index.remove("a"), len(index), index.documents()) == (2, 0, 1, ["b"])
    index.add([])
    index.replace_document("b", [])
    assert (len(index), index.documents()) == (0, [])
    index.add([chunk("a", 0, "fox")])
    index.clear()
    assert (len(index), index.search("fox", 5), index.chunks("a")) == (0, [], [])


@pytest.mark.row("E7", "A5")
def test_a_filter_comes_before_the_cut():
    index = index_of(
        *(chunk("crowd", n, "fox fox fox", lang="de") for n in range(50)), chunk("a", 0, "a fox", lang="en")
    )
    assert [hit.chunk.key for hit in index.search("fox", 1, {"lang": "en"})] == [("a", 0)]


@pytest.mark.row("A3")
def test_an_explanation_adds_up_to_the_score():
    index = index_of(chunk("a", 0, "fox and fox and hound"), chunk("b", 0, "fox"), chunk("c", 0, "cat"))
    hit = index.search("fox hound", 5)[0]
    terms = index.explain("fox hound", hit.chunk.key)
    assert [term.term for term in terms] == ["fox", "hound"]
    assert sum(term.contribution for term in terms) == pytest.approx(hit.score, rel=1e-12)


@pytest.mark.row("A3")
def test_parameters():
    index = InMemoryBm25Index(k1=1.2, b=0.0)
    assert (index.k1, index.b) == (1.2, 0.0)
    assert (InMemoryBm25Index().k1, InMemoryBm25Index().b) == (1.5, 0.75)
    with pytest.raises(ConfigurationError, match="k1"):
        InMemoryBm25Index(k1=-1)
    with pytest.raises(ConfigurationError, match="b must be"):
        InMemoryBm25Index(b=1.5)


@pytest.mark.row("A4")
def test_a_chunk_of_another_document_replaces_nothing():
    index = index_of(chunk("a", 0, "fox"))
    with pytest.raises(InvalidInputError, match="chunk 0 of document 'b' cannot replace one of 'a'"):
        index.replace_document("a", [chunk("b", 0, "dog")])
    assert len(index) == 1


@pytest.mark.row("A4", "A6")
@pytest.mark.case("S-007")
def test_top_k_is_never_replaced_by_a_default():
    index = index_of(*(chunk("a", n, "fox") for n in range(8)))
    assert index.search("fox", 0) == []
    with pytest.raises(ValueError, match="top_k must be at least 0, not -1"):
        index.search("fox", -1)


@pytest.mark.row("A4")
def test_texts_and_scores_never_mix_versions():
    """Each version of the document has a text and a score of its own; readers must see them together."""
    texts = ["fox " * n for n in range(1, 6)]
    score_of = {text: index_of(chunk("d", 0, text)).search("fox", 1)[0].score for text in texts}
    assert len(set(score_of.values())) == len(texts)
    index, stop = index_of(chunk("d", 0, texts[0])), threading.Event()

    def read() -> int:
        pages = 0
        while not (pages and stop.is_set()):
            [hit] = index.search("fox", 5)
            assert hit.score == score_of[hit.chunk.text]
            pages += 1
        return pages

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for number in range(400):
                index.replace_document("d", [chunk("d", 0, texts[number % len(texts)])])
        finally:
            stop.set()
        assert all(reader.result() > 0 for reader in readers)

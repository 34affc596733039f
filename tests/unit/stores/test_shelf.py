"""A page never mixes two states, whichever step of a search a write falls into."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ragstone.models import ScoreScale, TextChunk
from ragstone.stores._shelf import Shelf


class Found(NamedTuple):
    document_id: str
    chunk_index: int
    score: float


class VersionedIndex:
    """Answers with the version of each document as its score, which is also the chunk's text."""

    def __init__(self, *documents: str) -> None:
        self.shelf = Shelf()
        self.versions: dict[str, int] = {}
        self.searches = 0
        for document in documents:
            self.write(document, 1)

    def write(self, document: str, version: int) -> None:
        with self.shelf.changing([document]):
            self.versions[document] = version
            self.shelf.replace(document, [TextChunk(str(version), document, 0)])

    def remove(self, document: str) -> None:
        with self.shelf.changing([document]):
            del self.versions[document]
            self.shelf.replace(document, ())

    def page(self, meanwhile=lambda: None) -> dict[str, tuple[float, str]]:
        """Search, with something happening between the index's answer and the shelf's, the first time."""

        def search() -> list[Found]:
            hits = [Found(document, 0, version) for document, version in self.versions.items()]
            self.searches += 1
            if self.searches == 1:
                meanwhile()
            return hits

        results = self.shelf.page(search, ScoreScale.BM25)
        assert all(result.score_scale is ScoreScale.BM25 for result in results)
        return {result.chunk.document_id: (result.score, result.chunk.text) for result in results}


@pytest.mark.row("A4", "D1")
def test_an_undisturbed_search_is_one_search():
    index = VersionedIndex("a", "b")
    assert index.page() == {"a": (1, "1"), "b": (1, "1")}
    assert index.searches == 1


@pytest.mark.row("A4", "D1")
def test_a_document_replaced_meanwhile():
    index = VersionedIndex("a", "b")
    assert index.page(lambda: index.write("a", 2)) == {"a": (2, "2"), "b": (1, "1")}
    assert index.searches == 2


@pytest.mark.row("A4", "D1")
def test_a_document_removed_meanwhile():
    index = VersionedIndex("a", "b")
    assert index.page(lambda: index.remove("a")) == {"b": (1, "1")}


@pytest.mark.row("A4", "D1")
def test_a_document_removed_and_inserted_again_meanwhile():
    index = VersionedIndex("a")

    def again() -> None:
        index.remove("a")
        index.write("a", 3)

    assert index.page(again) == {"a": (3, "3")}


@pytest.mark.row("A4", "D1")
def test_everything_removed_meanwhile():
    index = VersionedIndex("a", "b")
    assert index.page(lambda: index.shelf.clear(index.versions.clear)) == {}
    index.write("a", 2)
    assert index.page() == {"a": (2, "2")}


@pytest.mark.row("A4", "D1")
def test_documents_that_are_not_on_the_page_do_not_disturb():
    index = VersionedIndex("a")
    assert index.page(lambda: index.write("b", 1)) == {"a": (1, "1")}
    assert index.searches == 1


@pytest.mark.row("A4", "D1")
def test_a_write_that_fails_changes_nothing_and_frees_the_lock():
    index = VersionedIndex("a")
    with pytest.raises(RuntimeError), index.shelf.changing(["a", "b"]):
        raise RuntimeError
    assert index.page() == {"a": (1, "1")}
    assert index.shelf.documents() == ["a"]
    assert [chunk.text for chunk in index.shelf.chunks("a")] == ["1"]
    assert index.shelf.chunks("b") == []

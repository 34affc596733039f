from itertools import pairwise

import pytest

from ragstone.errors import ConfigurationError
from ragstone.ingestion import MarkdownChunker, RecursiveChunker, SentenceChunker, TokenChunker
from ragstone.models import DocumentSection, ParsedDocument, TextChunk
from support.documents import plain, texts


def cut(text: str, max_size: int = 512, overlap: int = 50) -> list[TextChunk]:
    return RecursiveChunker(max_size=max_size, overlap=overlap).chunk(plain(text), "doc")


@pytest.mark.case("S-036")
@pytest.mark.row("H3")
@pytest.mark.parametrize(("size", "overlap"), [(100, 100), (100, 150), (0, 0), (100, -1), (1.5, 0), (True, 0)])
def test_a_chunker_that_could_not_advance_is_refused(size: int, overlap: int) -> None:
    for build in (
        lambda: RecursiveChunker(max_size=size, overlap=overlap),
        lambda: MarkdownChunker(max_size=size, overlap=overlap),
        lambda: TokenChunker(max_tokens=size, overlap=overlap),
    ):
        with pytest.raises(ConfigurationError, match=r"max_size|max_tokens|overlap"):
            build()


def test_sentence_sizes_are_checked() -> None:
    for settings in ({"max_size": 0}, {"overlap_sentences": -1}, {"max_size": "512"}):
        with pytest.raises(ConfigurationError, match=next(iter(settings))):
            SentenceChunker(**settings)


@pytest.mark.row("H3")
def test_the_default_is_512_with_an_overlap_of_50() -> None:
    assert RecursiveChunker() == RecursiveChunker(max_size=512, overlap=50)
    assert RecursiveChunker().identity == "recursive(max_size=512,overlap=50)"


@pytest.mark.case("S-037")
def test_the_tail_is_one_chunk_and_none_lies_in_another() -> None:
    chunks = cut("a" * 1001)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 512), (462, 974), (924, 1001)]


@pytest.mark.case("S-038")
def test_offsets_are_carried_not_searched_for() -> None:
    text = "na na na na batman na na"
    chunks = cut(text, max_size=8, overlap=3)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert all(before.start < after.start for before, after in pairwise(chunks))
    assert texts(chunks) == ["na na na", "na na", "batman", "na na"]


@pytest.mark.case("S-039")
@pytest.mark.parametrize("text", ["—" * 1500, "漢字かな" * 400])
def test_sizes_are_code_points(text: str) -> None:
    chunks = cut(text)
    assert max(len(chunk.text) for chunk in chunks) == 512
    assert {position for chunk in chunks for position in range(chunk.start, chunk.end)} == set(range(len(text)))


@pytest.mark.case("S-040")
def test_the_cap_is_hard() -> None:
    lines = "\n".join("x" * 400 for _ in range(3))
    assert texts(cut(lines)) == ["x" * 400] * 3
    word = cut("x" * 2000)
    assert max(len(chunk.text) for chunk in word) == 512
    assert word[-1].end == 2000


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One two.\nThree.\n\nFour five six. Seven", "One two.\nThree."),
        ("One two three.\nFour five. Six seven", "One two three."),
        ("One two three. Four five six seven", "One two three."),
        ("one two three four five six seven", "one two three four five"),
        ("onetwothreefourfivesixseven", "onetwothreefourfivesixse"),
        # A break in the first half would leave a chunk too small.
        ("One.\n\nTwo three four five six seven", "One.\n\nTwo three four"),
    ],
    ids=["paragraph", "line", "sentence", "word", "character", "not too early"],
)
def test_the_strongest_break_that_is_near_is_taken(text: str, first: str) -> None:
    assert cut(text, max_size=24, overlap=0)[0].text == first


def test_the_overlap_begins_with_a_word() -> None:
    first, second = cut("alpha beta gamma delta epsilon zeta", max_size=24, overlap=9)
    assert first.text == "alpha beta gamma delta"
    assert second.text == "delta epsilon zeta"


def test_an_overlap_never_begins_inside_of_a_word_that_ended() -> None:
    assert texts(cut(f"{'a' * 20} {'b' * 20}", max_size=24, overlap=5)) == ["a" * 20, "b" * 20]


def test_an_overlap_never_has_a_word_cut_that_fits_without_it() -> None:
    assert texts(cut("one two elevenletters", max_size=13, overlap=4)) == ["one two", "elevenletters"]


def test_text_without_spaces_overlaps_by_characters() -> None:
    chunks = cut("漢" * 100, max_size=40, overlap=10)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 40), (30, 70), (60, 100)]


def test_a_long_gap_drops_the_overlap() -> None:
    assert texts(cut(f"word{' ' * 100}other", max_size=10, overlap=5)) == ["word", "other"]


def test_sections_are_cut_one_by_one_and_numbered_through() -> None:
    text = "title\nfirst part\nsecond part"
    document = ParsedDocument(
        text=text,
        sections=(
            DocumentSection(start=6, end=17, heading="A", heading_level=2, heading_breadcrumb="T > A"),
            DocumentSection(start=17, end=len(text)),
        ),
    )
    first, second = RecursiveChunker().chunk(document, "doc")
    assert (first.chunk_index, first.text, first.start, first.end) == (0, "first part", 6, 16)
    assert first.metadata == {"heading": "A", "heading_level": "2", "heading_breadcrumb": "T > A"}
    assert (second.chunk_index, second.text, second.metadata) == (1, "second part", {})


@pytest.mark.parametrize("text", ["", " \n\t\u3000 "])
def test_nothing_but_white_space_gives_no_chunk(text: str) -> None:
    assert cut(text) == []

"""What holds for every chunker and any text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.tokens import count_tokens
from ragstone.ingestion import MarkdownChunker, MarkdownParser, RecursiveChunker, SentenceChunker, TokenChunker
from ragstone.models import ParsedDocument, TextChunk
from support.documents import plain

# Words, breaks of every strength and Markdown structure, and whatever else Unicode has.
SPACES = [" ", "  ", "\n", "\n\n", "\r\n", "\r", "\t", "\u2029", "\x0b", "\u3000", "\x85", "\x1c"]
WORDS = ["a", "word", ". ", "! ", "。", "漢字", "e\u0301", "👩‍👩‍👧", "x" * 40, "\u0600"]
LINES = [
    "# H",
    "## I",
    "```",
    "~~~",
    "- item",
    "1. one",
    "> q",
    "| a | b |",
    "|---|---|",
    "    code",
    "[r]: http://x",
    "<div>",
]
FRAGMENTS = st.sampled_from([*SPACES, *WORDS, *(f"{line}\n" for line in LINES), "</div>\n", "***\n", "Title\n===\n"])
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
TEXTS = st.one_of(ANY, st.lists(st.one_of(FRAGMENTS, ANY), max_size=60).map("".join))


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(st.integers(1, 60))
    return size, draw(st.integers(0, size - 1))


def check(document: ParsedDocument, chunks: list[TextChunk]) -> None:
    """Offsets are true, chunks are stripped, they advance, and nothing visible of any section is lost."""
    covered: set[int] = set()
    for index, chunk in enumerate(chunks):
        assert chunk.key == ("doc", index)
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        covered.update(range(chunk.start, chunk.end))
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
    visible = {
        position
        for section in document.sections
        for position in range(section.start, section.end)
        if not document.text[position].isspace()
    }
    assert visible <= covered


@pytest.mark.row("H3")
@given(TEXTS, sizes())
def test_recursive(text: str, size: tuple[int, int]) -> None:
    chunks = RecursiveChunker(max_size=size[0], overlap=size[1]).chunk(plain(text), "doc")
    check(plain(text), chunks)
    assert all(len(chunk.text) <= size[0] for chunk in chunks)
    assert all(before.end - after.start <= size[1] for before, after in pairwise(chunks))


@pytest.mark.row("H3")
@given(TEXTS, sizes(), st.booleans())
def test_markdown(text: str, size: tuple[int, int], by_sections: bool) -> None:
    document = MarkdownParser().parse_text(text) if by_sections else plain(text)
    chunks = MarkdownChunker(max_size=size[0], overlap=size[1]).chunk(document, "doc")
    check(document, chunks)
    assert all(len(chunk.text) <= size[0] for chunk in chunks)
    assert all(before.end - after.start <= size[1] for before, after in pairwise(chunks))


@pytest.mark.row("H3")
@given(TEXTS, st.integers(1, 60), st.integers(0, 4))
def test_sentence(text: str, max_size: int, overlap: int) -> None:
    chunks = SentenceChunker(max_size=max_size, overlap_sentences=overlap).chunk(plain(text), "doc")
    check(plain(text), chunks)
    assert all(len(chunk.text) <= max_size for chunk in chunks)


@pytest.mark.row("H3")
@given(TEXTS, st.integers(4, 30), st.integers(0, 29), st.sampled_from(["cl100k_base", "o200k_base"]))
def test_tokens(text: str, max_tokens: int, overlap: int, encoding: str) -> None:
    chunker = TokenChunker(max_tokens=max_tokens, overlap=min(overlap, max_tokens - 1), encoding=encoding)
    chunks = chunker.chunk(plain(text), "doc")
    check(plain(text), chunks)
    assert all(count_tokens(chunk.text, encoding=encoding) <= max_tokens for chunk in chunks)


@given(TEXTS)
def test_the_sections_of_markdown_hold_all_but_front_matter_and_empty_headings(text: str) -> None:
    document = MarkdownParser().parse_text(text)
    assert document.text == text
    assert all(before.end <= after.start for before, after in pairwise(document.sections))
    assert all(section.end > section.start for section in document.sections)
    assert not document.sections or document.sections[-1].end == len(text)

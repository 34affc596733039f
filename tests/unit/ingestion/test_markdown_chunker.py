import pytest

from ragstone.ingestion import MarkdownChunker, MarkdownParser
from ragstone.models import TextChunk
from support.documents import plain, texts

FENCE = "```python\nfor i in range(3):\n    print(i)\n\nprint('done')\n```"


def cut(source: str, max_size: int, overlap: int = 0) -> list[TextChunk]:
    document = MarkdownParser().parse_text(source)
    return MarkdownChunker(max_size=max_size, overlap=overlap).chunk(document, "doc")


@pytest.mark.case("S-041")
@pytest.mark.row("H3")
def test_a_fence_that_fits_is_whole() -> None:
    source = "# Setup\n\n```sh\n# not a heading\nmake\n```\n\nafter\n\n# Next\nbye"
    chunks = cut(source, 512)
    assert texts(chunks) == ["# Setup\n\n```sh\n# not a heading\nmake\n```\n\nafter", "# Next\nbye"]
    assert [chunk.metadata["heading_breadcrumb"] for chunk in chunks] == ["Setup", "Next"]


@pytest.mark.case("S-042")
@pytest.mark.row("G6")
def test_breadcrumbs_and_levels() -> None:
    chunks = cut("# T\n### deep\none\n## side\ntwo\n# U\nthree", 512)
    assert [
        (chunk.text.split()[-1], chunk.metadata["heading_breadcrumb"], chunk.metadata["heading_level"])
        for chunk in chunks
    ] == [("one", "T > deep", "3"), ("two", "T > side", "2"), ("three", "U", "1")]


@pytest.mark.row("H3")
@pytest.mark.parametrize(
    "block",
    [
        FENCE,
        "| Who | Days |\n|-----|------|\n| new parents | 112 |",
        "- one\n\n  more of one\n- two\n- three",
        "1. one\n2. two",
    ],
    ids=["fence", "table", "list", "numbers"],
)
def test_a_block_that_fits_is_never_divided(block: str) -> None:
    before, after = "Some words before it. " * 2, "Some words after it. " * 2
    chunks = cut(f"{before}\n\n{block}\n\n{after}", len(block) + 5)
    assert block in texts(chunks)


def test_a_fence_that_does_not_fit_is_cut_at_its_lines() -> None:
    lines = [f"line_{number} = {number}" for number in range(10)]
    chunks = cut("```\n" + "\n".join(lines) + "\n```", 40)
    assert len(chunks) > 1
    assert {line for chunk in chunks for line in chunk.text.split("\n")} == {"```", *lines}


def test_a_table_that_does_not_fit_is_cut_at_its_rows() -> None:
    rows = ["| Name | Days |", "|------|------|", *(f"| person {number} | {number} |" for number in range(9))]
    assert {line for chunk in cut("\n".join(rows), 60) for line in chunk.text.split("\n")} == set(rows)


def test_a_list_that_does_not_fit_is_cut_at_its_items() -> None:
    items = [f"- item {number}\n  and more of it" for number in range(4)]
    assert texts(cut("\n".join(items), 60)) == ["\n".join(items[:2]), "\n".join(items[2:])]


def test_a_heading_stays_with_a_paragraph_that_is_cut() -> None:
    first, *_ = cut("# Leave\n\n" + "word " * 40, 60)
    assert first.text.startswith("# Leave\n\nword")


def test_a_fence_that_fits_only_without_its_heading_is_whole() -> None:
    assert texts(cut(f"# A heading\n\n{FENCE}", len(FENCE))) == ["# A heading", FENCE]


def test_whole_blocks_overlap() -> None:
    assert texts(cut("alpha beta.\n\ngamma.\n\ndelta epsilon.", 22, overlap=8)) == [
        "alpha beta.\n\ngamma.",
        "gamma.\n\ndelta epsilon.",
    ]


def test_a_line_without_end_in_a_fence_keeps_to_the_cap() -> None:
    chunks = cut(f"```\n{'x' * 1000}\n```", 100, overlap=10)
    assert max(len(chunk.text) for chunk in chunks) == 100


def test_many_sections_take_linear_time() -> None:
    source = "# H\n\nbody of it\n\n" * 2000
    assert len(MarkdownChunker().chunk(MarkdownParser().parse_text(source), "doc")) == 2000


def test_text_without_structure_is_cut_as_running_text() -> None:
    chunks = MarkdownChunker(max_size=20, overlap=0).chunk(plain("one two three four five six"), "doc")
    assert texts(chunks) == ["one two three four", "five six"]

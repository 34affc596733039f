import pytest

from ragstone.ingestion import MarkdownParser
from ragstone.models import ParsedDocument


def sections(source: str) -> list[tuple[str, str | None, int | None, str | None]]:
    document = MarkdownParser().parse_text(source)
    assert document.text == source
    return [
        (body(document, index), section.heading, section.heading_level, section.heading_breadcrumb)
        for index, section in enumerate(document.sections)
    ]


def body(document: ParsedDocument, index: int) -> str:
    section = document.sections[index]
    return document.text[section.start : section.end].strip()


@pytest.mark.case("S-041")
@pytest.mark.row("H2")
def test_a_comment_in_a_fence_is_no_heading() -> None:
    fenced = "# Setup\n\n```sh\n# not a heading\nmake\n```\n\nafter"
    assert sections(f"{fenced}\n\n# Next\nbye") == [(fenced, "Setup", 1, "Setup"), ("# Next\nbye", "Next", 1, "Next")]


@pytest.mark.case("S-042")
@pytest.mark.row("G6")
def test_a_shallower_heading_ends_the_deeper_ones() -> None:
    assert sections("# T\n### deep\none\n## side\ntwo\n# U\nthree") == [
        ("### deep\none", "deep", 3, "T > deep"),
        ("## side\ntwo", "side", 2, "T > side"),
        ("# U\nthree", "U", 1, "U"),
    ]


def test_text_before_the_first_heading_is_a_section_without_one() -> None:
    assert sections("Hello.\n\n# A\nx") == [("Hello.", None, None, None), ("# A\nx", "A", 1, "A")]


def test_underlined_headings() -> None:
    assert sections("Top\n===\none\n\nSub\n---\ntwo") == [
        ("Top\n===\none", "Top", 1, "Top"),
        ("Sub\n---\ntwo", "Sub", 2, "Top > Sub"),
    ]


def test_a_title_is_plain_text() -> None:
    source = "# The *quick* [brown](http://x) `fox` \\# ![dog](d.png) [ref] #\n\nx\n\n[ref]: http://y"
    assert sections(source)[0][1] == "The quick brown fox # dog [ref]"


def test_a_last_heading_with_nothing_under_it_is_kept() -> None:
    assert [heading for _, heading, _, _ in sections("# A\n\n## B\n\n# C")] == ["B", "C"]


def test_headings_in_lists_and_quotations_divide_nothing() -> None:
    assert len(sections("# A\n\n> # quoted\n\n- # listed\n\nend")) == 1


def test_a_heading_without_a_title_divides_nothing() -> None:
    assert len(sections("# A\n\none\n\n#\n\ntwo")) == 1


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_offsets_hold_with_every_line_end_and_beyond_the_bmp(newline: str) -> None:
    source = newline.join(["😀 intro\x0b\u2028same line", "", "# Ä", "ünï", "", "## B", "漢字 \x85 more"])
    assert sections(source) == [
        (newline.join(["😀 intro\x0b\u2028same line"]), None, None, None),
        (newline.join(["# Ä", "ünï"]), "Ä", 1, "Ä"),
        (newline.join(["## B", "漢字 \x85 more"]), "B", 2, "Ä > B"),
    ]


@pytest.mark.parametrize("close", ["---", "..."])
def test_front_matter_is_in_no_section(close: str) -> None:
    source = f"---\n# a comment\ntitle: Leave\ntags:\n  - hr\n{close}\n# Leave\n16 weeks"
    assert sections(source) == [("# Leave\n16 weeks", "Leave", 1, "Leave")]


def test_empty_front_matter() -> None:
    assert sections("---\n---\ntext") == [("text", None, None, None)]


@pytest.mark.parametrize(
    "source",
    ["---\nplain words between rules\n\n---\nmore", "---\ntitle: never closed\n\ntext", "\n---\ntitle: x\n---\ntext"],
)
def test_what_only_looks_like_front_matter_stays(source: str) -> None:
    document = MarkdownParser().parse_text(source)
    covered = "".join(document.text[section.start : section.end] for section in document.sections)
    assert covered.strip() == source.strip()


def test_a_mark_at_the_beginning_is_not_part_of_the_text() -> None:
    document = MarkdownParser().parse("# A\nx".encode("utf-8-sig"))
    assert document.sections[0].heading == "A"
    assert document.sections[0].start == 0

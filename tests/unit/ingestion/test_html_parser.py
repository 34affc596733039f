import re

import pytest

from ragstone.errors import ParseError
from ragstone.ingestion import HtmlParser, RecursiveChunker


def text_of(source: str) -> str:
    return HtmlParser().parse(source.encode()).text.strip()


@pytest.mark.row("H2")
def test_blocks_stand_apart_and_inline_elements_do_not() -> None:
    source = "<body><p>Hel<b>l</b>o <i>big</i>\n  world</p><div>one</div><div>two</div>a<br>b<ul><li>x<li>y</ul></body>"
    assert text_of(source) == "Hello big world\n\none\ntwo\na\nb\n\nx\ny"


def test_what_is_not_read_by_people_is_left_out() -> None:
    source = (
        "<head><title>t</title><style>p{}</style><script>let x</script></head><body><nav><a>Home</a></nav>"
        "<!-- note --><template>t</template><noscript>n</noscript><svg><text>s</text></svg>seen</body>"
    )
    assert text_of(source) == "seen"


def test_cells_of_a_row_are_kept_apart() -> None:
    source = "<table><tr><th>Name</th><th>Days</th></tr><tr><td>Leave</td><td></td><td>112</td></tr></table>"
    assert text_of(source) == "Name | Days\nLeave |  | 112"


def test_white_space_in_pre_stays() -> None:
    assert text_of("<p>a</p><pre>if x:\n    y</pre>") == "a\n\nif x:\n    y"


@pytest.mark.row("G6")
def test_headings_make_sections_with_breadcrumbs() -> None:
    document = HtmlParser().parse(
        b"<p>intro</p><h1>Chapter <em>1</em></h1><h2>Section\n2</h2><p>Text <b>here</b>.</p><h1>Chapter 2</h1>end"
    )
    found = [
        (document.text[section.start : section.end].strip(), section.heading_level, section.heading_breadcrumb)
        for section in document.sections
    ]
    assert found == [
        ("intro", None, None),
        ("Section 2\n\nText here.", 2, "Chapter 1 > Section 2"),
        ("Chapter 2\n\nend", 1, "Chapter 2"),
    ]
    (_, chunk, _) = RecursiveChunker().chunk(document, "page")
    assert chunk.metadata == {
        "heading": "Section 2",
        "heading_level": "2",
        "heading_breadcrumb": "Chapter 1 > Section 2",
    }


def test_a_heading_that_is_never_closed_ends_at_the_next_block() -> None:
    document = HtmlParser().parse(b"<h1>Title<p>" + b"word " * 100)
    assert document.sections[0].heading == "Title"


def test_a_head_that_is_never_closed_hides_nothing() -> None:
    assert text_of("<html><head><title>t</title><body>text") == "text"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>café".encode(), "café"),
        (b'<meta charset="iso-8859-1"><p>caf\xe9 \x80', "café €"),
        (
            '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>привет'.encode("cp1251"),
            "привет",
        ),
        ("\ufeff<meta charset=latin1><p>é".encode(), "é"),
        ('<meta charset="utf-16"><p>é'.encode(), "é"),
        ("<p>é".encode("utf-16"), "é"),
    ],
)
def test_the_declared_encoding_is_used(content: bytes, text: str) -> None:
    assert HtmlParser().parse(content).text.strip() == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<p>caf\xe9", "not utf-8 text"),
        (b'<meta charset="klingon"><p>x', "declares the encoding 'klingon'"),
        (b"<p>\0", "a NUL character at character offset 3"),
    ],
)
def test_wrong_encodings_are_errors(content: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)):
        HtmlParser().parse(content)


def test_markup_may_be_nested_as_deep_as_it_likes() -> None:
    assert text_of("<div>" * 20_000 + "deep") == "deep"

import codecs
import re

import pytest

from ragstone.errors import ConfigurationError, ParseError
from ragstone.ingestion import TextParser

TEXT = "Grüße, мир, 世界\nzweite Zeile"


@pytest.mark.row("H2")
@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    ],
    ids=["utf-8", "utf-8 marked", "utf-16 le", "utf-16 be", "utf-32 le", "utf-32 be"],
)
def test_a_byte_order_mark_tells_the_encoding_and_is_not_part_of_the_text(content: bytes) -> None:
    document = TextParser().parse(content)
    assert document.text == TEXT
    assert [(section.start, section.end) for section in document.sections] == [(0, len(TEXT))]


def test_the_encoding_can_be_named() -> None:
    assert TextParser(encoding="cp1251").parse("привет".encode("cp1251")).text == "привет"


def test_a_mark_outranks_the_named_encoding() -> None:
    assert TextParser(encoding="latin-1").parse("é".encode("utf-8-sig")).text == "é"


def test_line_ends_stay_as_they_are() -> None:
    assert TextParser().parse(b"a\r\nb\rc").text == "a\r\nb\rc"


@pytest.mark.row("H2")
def test_wrong_encoding_names_the_offset_and_the_remedy() -> None:
    with pytest.raises(ParseError, match=r"not utf-8 text: .* at byte offset 3; .*TextParser\(encoding="):
        TextParser().parse("caf\xe9 au lait".encode("latin-1"))


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"GIF89a\0\0", "text".encode("utf-16-le")])
def test_binary_content_is_refused(content: bytes) -> None:
    with pytest.raises(ParseError, match=r"offset \d+"):
        TextParser().parse(content)


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ParseError, match=re.escape("a lone surrogate (U+D83D) at character offset 3")):
        TextParser().parse_text("abc\ud83d")


def test_an_odd_byte_of_utf_16_is_refused() -> None:
    with pytest.raises(ParseError, match="byte offset"):
        TextParser().parse("text".encode("utf-16") + b"x")


@pytest.mark.parametrize("encoding", ["klingon", "base64", ""])
def test_an_unknown_encoding_is_refused_where_it_is_named(encoding: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a text encoding"):
        TextParser(encoding=encoding)


def test_no_document_text_is_in_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        TextParser().parse(b"SECRET \xff SECRET")
    assert "SECRET" not in str(caught.value)

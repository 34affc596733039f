import re
from collections.abc import Sequence

import pytest

from ragstone.errors import MissingDependencyError, ParseError, UnsupportedContentTypeError
from ragstone.ingestion import ParserRegistry, default_parsers
from ragstone.ingestion.parsers import pdf as pdf_module
from ragstone.ingestion.parsers.content_types import content_type_of, parse_content_type
from ragstone.models import ParsedDocument
from support.documents import pdf, plain

REGISTRY = ParserRegistry(default_parsers())


class Shouting:
    """A parser of one type, which reads bytes only."""

    identity = "shouting"
    content_types: Sequence[str] = ("text/plain",)

    def can_parse(self, content_type: str) -> bool:
        return content_type == "text/plain"

    def parse(self, content: bytes) -> ParsedDocument:
        return plain(content.decode().upper())


@pytest.mark.row("H2")
def test_the_first_parser_that_can_reads_the_document() -> None:
    assert ParserRegistry((Shouting(), *default_parsers())).parse(b"hi", "text/plain").text == "HI"
    assert ParserRegistry((*default_parsers(), Shouting())).parse(b"hi", "text/plain").text == "hi"


@pytest.mark.row("H2")
def test_an_unknown_type_lists_those_that_are_known() -> None:
    with pytest.raises(UnsupportedContentTypeError) as caught:
        REGISTRY.parse(b"x", "video/mp4")
    assert "video/mp4" in str(caught.value)
    for content_type in ("text/plain", "text/markdown", "text/html", "application/pdf"):
        assert content_type in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("a.md", "text/markdown"),
        ("A.MARKDOWN", "text/markdown"),
        ("dir.d/notes.txt", "text/plain"),
        ("index.htm", "text/html"),
        ("paper.PDF", "application/pdf"),
        ("letter.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("table.csv", "text/csv"),
        ("Makefile", None),
        ("x.unknown", None),
    ],
)
def test_a_file_name_tells_the_type(name: str, content_type: str | None) -> None:
    assert content_type_of(name) == content_type


def test_what_is_declared_outranks_the_file_name() -> None:
    assert REGISTRY.content_type("text/html", "a.md") == "text/html"
    assert REGISTRY.content_type(None, "a.md") == "text/markdown"


@pytest.mark.parametrize(("name", "message"), [(None, "neither content_type nor file_name"), ("x.bin2", "'x.bin2'")])
def test_a_type_that_nothing_tells_is_an_error(name: str | None, message: str) -> None:
    with pytest.raises(UnsupportedContentTypeError, match=message):
        REGISTRY.content_type(None, name)


def test_parameters_of_a_content_type() -> None:
    assert parse_content_type("Text/HTML; charset=UTF-8") == ("text/html", "utf-8")
    assert parse_content_type("text/plain") == ("text/plain", None)


def test_a_declared_charset_is_used() -> None:
    assert REGISTRY.parse("é".encode("cp1252"), "text/plain; charset=cp1252").text == "é"
    with pytest.raises(ParseError, match="charset 'binary', which is not known"):
        REGISTRY.parse(b"x", "text/plain; charset=binary")


def test_a_charset_means_nothing_to_a_binary_format() -> None:
    assert REGISTRY.parse(pdf("page"), "application/pdf; charset=binary").text == "page"


def test_text_goes_only_to_parsers_that_read_text() -> None:
    assert REGISTRY.parse("# é", "text/markdown").text == "# é"
    with pytest.raises(UnsupportedContentTypeError, match="from bytes only"):
        REGISTRY.parse("x", "application/pdf")


def test_a_parser_that_breaks_is_a_parse_error_without_the_text() -> None:
    with pytest.raises(ParseError) as caught:
        ParserRegistry((Shouting(),)).parse(b"SECRET\xff", "text/plain")
    assert "UnicodeDecodeError" in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.row("H2", "L3")
def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str, *, extra: str, purpose: str) -> None:
        raise MissingDependencyError(package, extra, purpose)

    monkeypatch.setattr(pdf_module, "require", missing)
    with pytest.raises(MissingDependencyError, match=re.escape("pip install 'ragstone[pdf]'")):
        REGISTRY.parse(pdf("page"), "application/pdf")

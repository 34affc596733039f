from io import BytesIO

import pypdf
import pytest

from ragstone.errors import ParseError
from ragstone.ingestion import PdfParser, RecursiveChunker
from support.documents import pdf


def encrypted(user_password: str) -> bytes:
    writer, file = pypdf.PdfWriter(BytesIO(pdf("secret"))), BytesIO()
    writer.encrypt(user_password=user_password, owner_password="owner", algorithm="RC4-128")
    writer.write(file)
    return file.getvalue()


@pytest.mark.row("H2", "G6")
def test_pages_and_their_spans() -> None:
    document = PdfParser().parse(pdf("First page.", "", "Third page."))
    assert document.text == "First page.\n\n\n\nThird page."
    assert [(page.number, document.text[page.start : page.end]) for page in document.pages] == [
        (1, "First page."),
        (2, ""),
        (3, "Third page."),
    ]


@pytest.mark.row("G6")
def test_chunks_say_on_which_pages_they_lie() -> None:
    document = PdfParser().parse(pdf("One.", "Two.", "Three."))
    (whole,) = RecursiveChunker().chunk(document, "file")
    assert whole.metadata == {"page": 1, "page_end": 3}
    first, second, third = RecursiveChunker(max_size=6, overlap=0).chunk(document, "file")
    assert [(chunk.text, chunk.metadata["page"], chunk.metadata["page_end"]) for chunk in (first, second, third)] == [
        ("One.", 1, 1),
        ("Two.", 2, 2),
        ("Three.", 3, 3),
    ]


@pytest.mark.parametrize("content", [b"", b"not a pdf", pdf("page")[:200]], ids=["empty", "text", "cut off"])
def test_damaged_files_are_errors(content: bytes) -> None:
    with pytest.raises(ParseError, match="not a readable PDF file"):
        PdfParser().parse(content)


def test_an_encrypted_file_is_an_error_that_says_so() -> None:
    with pytest.raises(ParseError, match="encrypted: save it without a password"):
        PdfParser().parse(encrypted("user"))


def test_a_file_that_only_refuses_changes_is_read() -> None:
    assert PdfParser().parse(encrypted("")).text == "secret"

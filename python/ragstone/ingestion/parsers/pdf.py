"""PDF, through pypdf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from ragstone.errors import ParseError
from ragstone.extras import require
from ragstone.ingestion.parsers.decoding import damaged, without_unstorable
from ragstone.models import DocumentSection, PageSpan, ParsedDocument

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["PdfParser"]

_PAGE_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class PdfParser:
    """Reads the text layer of a PDF as one section that knows its pages.

    Offsets refer to the extracted text: the pages' texts with an empty line between. A scanned page without a text
    layer is an empty page. Needs the extra `pdf`.
    """

    @property
    def identity(self) -> str:
        """Names the parser and its settings."""
        return "pdf"

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads."""
        return ("application/pdf",)

    def can_parse(self, content_type: str) -> bool:
        """Whether it reads this MIME type."""
        return content_type in self.content_types

    def parse(self, content: bytes) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The file is damaged, encrypted, or no PDF.
            MissingDependencyError: pypdf is not installed.
        """
        pypdf = require("pypdf", extra="pdf", purpose="Reading PDF")
        with damaged("PDF file"):
            reader: PdfReader = pypdf.PdfReader(BytesIO(content))
            if reader.is_encrypted and not _unlock(reader):
                raise ParseError("the PDF file is encrypted: save it without a password")
            texts = [_page_text(reader, index) for index in range(len(reader.pages))]
        pages: list[PageSpan] = []
        position = 0
        for number, text in enumerate(texts, start=1):
            pages.append(PageSpan(number, position, position + len(text)))
            position += len(text) + len(_PAGE_BREAK)
        whole = _PAGE_BREAK.join(texts)
        return ParsedDocument(text=whole, sections=(DocumentSection(start=0, end=len(whole)),), pages=tuple(pages))


def _unlock(reader: PdfReader) -> bool:
    """Whether the file opens without a password, as one does that is only protected from changes."""
    try:
        return bool(reader.decrypt(""))
    except Exception as error:
        raise ParseError(
            f"the PDF file's encryption cannot be read ({type(error).__name__}): save it without a password"
        ) from error


def _page_text(reader: PdfReader, index: int) -> str:
    with damaged(f"PDF file, page {index + 1}"):
        return without_unstorable(reader.pages[index].extract_text())

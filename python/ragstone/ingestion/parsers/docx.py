"""Word documents (DOCX), through python-docx."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZipFile

from ragstone.errors import ParseError
from ragstone.extras import require
from ragstone.ingestion.parsers.decoding import damaged, without_unstorable
from ragstone.ingestion.sections import Heading, sections_of
from ragstone.models import ParsedDocument

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

__all__ = ["DocxParser"]

_CONTENT_TYPE: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_HEADING_STYLE: Final = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CELL_SEPARATOR: Final = " | "
_MAX_UNPACKED: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class DocxParser:
    """Reads the body of a Word document; paragraphs in heading styles divide it into sections with breadcrumbs.

    Offsets refer to the extracted text: paragraphs with an empty line between, a table as one line a row with ` | `
    between the cells. Headers, footers, footnotes and text boxes are left out. Needs the extra `docx`.
    """

    @property
    def identity(self) -> str:
        """Names the parser and its settings."""
        return "docx"

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads."""
        return (_CONTENT_TYPE,)

    def can_parse(self, content_type: str) -> bool:
        """Whether it reads this MIME type."""
        return content_type in self.content_types

    def parse(self, content: bytes) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The file is damaged, or no DOCX.
            MissingDependencyError: python-docx is not installed.
        """
        docx = require("docx", extra="docx", purpose="Reading DOCX")
        with damaged("DOCX file"):
            _refuse_bomb(content)
            body = list(docx.Document(BytesIO(content)).iter_inner_content())
            blocks = list(zip(_texts(body), map(_heading_level, body), strict=True))
        return _document((without_unstorable(text).strip(), level) for text, level in blocks)


def _document(blocks: Iterable[tuple[str, int | None]]) -> ParsedDocument:
    parts: list[str] = []
    headings: list[Heading] = []
    position = 0
    for text, level in blocks:
        if not text:
            continue
        if level is not None:
            headings.append(Heading(position, position + len(text), level, " ".join(text.split())))
        parts.append(text)
        position += len(text) + len("\n\n")
    whole = "\n\n".join(parts)
    return ParsedDocument(text=whole, sections=sections_of(whole, headings))


def _refuse_bomb(content: bytes) -> None:
    with ZipFile(BytesIO(content)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > _MAX_UNPACKED:
        raise ParseError(
            f"the DOCX file unpacks to {unpacked} bytes, more than the {_MAX_UNPACKED} that are read: split it"
        )


def _heading_level(block: Paragraph | Table) -> int | None:
    style: Any = block.style
    while style is not None:
        if match := _HEADING_STYLE.fullmatch(style.name or ""):
            return int(match[1])
        style = style.base_style
    return None


def _table_text(table: Table) -> str:
    return "\n".join(_CELL_SEPARATOR.join(_cell_texts(row)) for row in table.rows)


def _cell_texts(row: Any) -> Iterator[str]:
    previous: object = None
    for cell in row.cells:
        if cell is not previous:  # a merged cell is listed once for each column that it spans
            yield " ".join(" ".join(_texts(cell.iter_inner_content())).split())
        previous = cell


def _texts(blocks: Iterable[Paragraph | Table]) -> Iterator[str]:
    from docx.table import Table

    for block in blocks:
        yield _table_text(block) if isinstance(block, Table) else block.text

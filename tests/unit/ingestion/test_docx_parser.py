from io import BytesIO
from zipfile import ZipFile

import pytest

from ragstone.errors import ParseError
from ragstone.ingestion import DocxParser
from ragstone.ingestion.parsers import docx as docx_module
from support.documents import writing_docx


@pytest.mark.row("H2", "G6")
def test_headings_paragraphs_and_tables() -> None:
    with writing_docx() as (document, file):
        document.add_paragraph("Before.")
        document.add_heading("Handbook", level=1)
        document.add_heading("Leave", level=2)
        document.add_paragraph("Sixteen weeks.")
        table = document.add_table(rows=2, cols=3)
        for cell, text in zip(
            (c for row in table.rows for c in row.cells), ("Who", "Days", "", "New\nparents", "112", "x"), strict=True
        ):
            cell.text = text
        table.cell(1, 1).merge(table.cell(1, 2))
        table.cell(0, 0).add_table(rows=1, cols=1).cell(0, 0).text = "inner"
    parsed = DocxParser().parse(file.getvalue())
    assert parsed.text == "Before.\n\nHandbook\n\nLeave\n\nSixteen weeks.\n\nWho inner | Days | \nNew parents | 112 x"
    assert [(section.heading_level, section.heading_breadcrumb) for section in parsed.sections] == [
        (None, None),
        (2, "Handbook > Leave"),
    ]


def test_a_style_based_on_a_heading_is_a_heading() -> None:
    with writing_docx() as (document, file):
        style = document.styles.add_style("Chapter", 1)
        style.base_style = document.styles["Heading 1"]
        document.add_paragraph("Start", style="Chapter")
        document.add_paragraph("text")
    assert DocxParser().parse(file.getvalue()).sections[0].heading == "Start"


@pytest.mark.parametrize("content", [b"", b"not a zip"])
def test_damaged_files_are_errors(content: bytes) -> None:
    with pytest.raises(ParseError, match="not a readable DOCX file"):
        DocxParser().parse(content)


def test_a_zip_of_something_else_is_an_error() -> None:
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ParseError, match="not a readable DOCX file"):
        DocxParser().parse(file.getvalue())


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_module, "_MAX_UNPACKED", 1000)
    with writing_docx() as (_, file):
        pass
    with pytest.raises(ParseError, match=r"unpacks to \d+ bytes, more than the 1000"):
        DocxParser().parse(file.getvalue())

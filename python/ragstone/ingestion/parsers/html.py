"""HTML, through Beautiful Soup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragstone.errors import ParseError
from ragstone.extras import require
from ragstone.ingestion.parsers.decoding import check_text, damaged, decode, require_encoding
from ragstone.ingestion.sections import Heading, sections_of
from ragstone.models import ParsedDocument

if TYPE_CHECKING:
    from types import ModuleType

    from bs4 import Tag
    from bs4.element import PageElement

__all__ = ["HtmlParser"]

_DROPPED: Final = frozenset(
    {"script", "style", "nav", "template", "noscript", "svg", "canvas", "iframe", "title", "meta", "link"}
)
_PARAGRAPHS: Final = frozenset(
    {"p", "pre", "blockquote", "ul", "ol", "dl", "table", "figure", "section", "article", "hr"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
_LINES: Final = frozenset(
    {"address", "aside", "body", "caption", "dd", "details", "div", "dt", "fieldset", "figcaption", "footer", "form"}
    | {"header", "html", "legend", "li", "main", "option", "summary", "tbody", "tfoot", "thead", "tr"}
)
_CELLS: Final = frozenset({"td", "th"})
_CELL_SEPARATOR: Final = " | "
_HEADING: Final = re.compile(r"h([1-6])")
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")
# What browsers make of these labels, as the WHATWG encoding standard has it.
_READ_AS: Final = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "ascii", "us-ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
}
_WIDE: Final = ("utf-16", "utf-32")


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlParser:
    """Reads the visible text of HTML; its headings divide it into sections with breadcrumbs.

    Block elements stand on lines of their own, paragraphs with an empty line between, the cells of a table row with
    ` | ` between; white space collapses except in `pre`. Scripts, styles and navigation are left out. Offsets refer to
    the extracted text. Needs the extra `html`.

    Attributes:
        encoding: How the bytes are decoded where neither a byte order mark nor a `meta` element says it.

    Raises:
        ConfigurationError: Python does not know the encoding.
    """

    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        require_encoding(self.encoding)

    @property
    def identity(self) -> str:
        """Names the parser and its settings."""
        return f"html(encoding={self.encoding})"

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads."""
        return ("text/html", "application/xhtml+xml")

    def can_parse(self, content_type: str) -> bool:
        """Whether it reads this MIME type."""
        return content_type in self.content_types

    def parse(self, content: bytes) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The bytes are not text in the encoding that they declare; names the offset.
            MissingDependencyError: Beautiful Soup is not installed.
        """
        return self.parse_text(decode(content, self._encoding_of(content)))

    def parse_text(self, text: str) -> ParsedDocument:
        """Parse HTML that is decoded already.

        Raises:
            ParseError: It holds a NUL character or half of a surrogate pair.
            MissingDependencyError: Beautiful Soup is not installed.
        """
        bs4 = require("bs4", extra="html", purpose="Reading HTML")
        with damaged("HTML document"):
            extraction = _Extraction(bs4)
            extraction.read(bs4.BeautifulSoup(check_text(text), "html.parser"))
        extracted = extraction.text()
        return ParsedDocument(text=extracted, sections=sections_of(extracted, extraction.headings))

    def _encoding_of(self, content: bytes) -> str:
        dammit = require("bs4.dammit", extra="html", purpose="Reading HTML")
        declared: str | None = dammit.EncodingDetector.find_declared_encoding(content, is_html=True)
        if declared is None or declared.startswith(_WIDE):
            # A wide encoding cannot be declared in bytes that are read one by one.
            return self.encoding
        try:
            return _READ_AS.get(declared) or require_encoding(declared)
        except ValueError as error:
            raise ParseError(
                f"the document declares the encoding {declared!r}, which is not known: convert it to UTF-8"
            ) from error


class _Extraction:
    """Collects visible text and headings in one walk over the tree."""

    def __init__(self, bs4: ModuleType) -> None:
        self.headings: list[Heading] = []
        self._tag: type[Tag] = bs4.Tag
        self._string: type[PageElement] = bs4.NavigableString
        self._parts: list[str] = []
        self._length = 0
        self._newlines = 0
        self._separator = ""
        self._space = False
        self._heading: tuple[int, int, int] | None = None
        self._verbatim = 0

    def text(self) -> str:
        return "".join(self._parts)

    def read(self, root: Tag) -> None:
        # A stack of iterators, not recursion: markup may be nested as deep as it likes.
        stack: list[tuple[Tag, Iterator[PageElement]]] = [(root, iter(root.contents))]
        while stack:
            element, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                self._close(element.name)
            elif type(child) is self._string:  # its subclasses are comments, declarations and scripts
                self._write(str(child))
            elif isinstance(child, self._tag) and child.name not in _DROPPED:
                self._open(child.name)
                stack.append((child, iter(child.contents)))
        self._end_heading()

    def _open(self, name: str) -> None:
        if name == "br":
            self._newlines = max(self._newlines, 1)
        elif name in _CELLS:
            self._separator += _CELL_SEPARATOR
        else:
            self._break(name)
        if heading := _HEADING.fullmatch(name):
            self._heading = (self._flush(), int(heading[1]), len(self._parts))
        self._verbatim += name == "pre"

    def _close(self, name: str) -> None:
        self._verbatim -= name == "pre"
        self._break(name)

    def _break(self, name: str) -> None:
        newlines = 2 if name in _PARAGRAPHS else 1 if name in _LINES else 0
        if newlines:
            # A heading that was never closed ends where the next block begins.
            self._end_heading()
            self._newlines = max(self._newlines, newlines)

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        (start, level, first_part), self._heading = self._heading, None
        title = " ".join("".join(self._parts[first_part:]).split())
        if title:
            self.headings.append(Heading(start, self._length, level, title))

    def _write(self, text: str) -> None:
        if self._verbatim:
            self._flush()
            self._append(text)
            return
        collapsed = _SPACE.sub(" ", text)
        if collapsed.startswith(" "):
            self._space = True
        words = collapsed.strip(" ")
        if words:
            self._flush()
            self._append(words)
            self._space = collapsed.endswith(" ")

    def _flush(self) -> int:
        """Write the separator that is due, and return the position behind it."""
        if self._length:
            due = "\n" * self._newlines or self._separator or " " * self._space
            if due:
                self._append(due)
        self._newlines = 0
        self._separator = ""
        self._space = False
        return self._length

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

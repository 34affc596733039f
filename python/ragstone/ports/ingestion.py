"""What reads, cuts and keeps documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from ragstone.models import IngestionProgress, ParsedDocument, StoredDocument, TextChunk

__all__ = ["ChunkingStrategy", "DocumentJournal", "DocumentParser", "ProgressCallback", "TextDocumentParser"]

ProgressCallback: TypeAlias = Callable[[IngestionProgress], None]


@runtime_checkable
class DocumentJournal(Protocol):
    """Keeps committed documents beyond the process. Each method is one transaction, called in a worker thread."""

    def fingerprint(self, document_id: str) -> str | None:
        """Return the fingerprint of the stored document, `None` where there is none."""
        ...

    def put(self, document: StoredDocument) -> None:
        """Store a document in place of every trace of an earlier one with its id.

        Raises:
            PersistenceError: It could not be written; what was there before is untouched.
        """
        ...

    def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether there was one."""
        ...


@runtime_checkable
class DocumentParser(Protocol):
    """Turns a document's bytes into text, sections and pages. Called in a worker thread."""

    @property
    def identity(self) -> str:
        """Names the parser and its settings: a change of it makes stored documents stale."""
        ...

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads, for error messages."""
        ...

    def can_parse(self, content_type: str) -> bool:
        """Whether it reads this MIME type."""
        ...

    def parse(self, content: bytes) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The bytes are not what they should be.
        """
        ...


@runtime_checkable
class TextDocumentParser(DocumentParser, Protocol):
    """A parser of a format that is text, which reads it decoded as well."""

    def parse_text(self, text: str) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The text is not what it should be.
        """
        ...


@runtime_checkable
class ChunkingStrategy(Protocol):
    """Cuts a parsed document into chunks. Called in a worker thread."""

    @property
    def identity(self) -> str:
        """Names the strategy and its settings: a change of it makes stored documents stale."""
        ...

    def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
        """Cut; for every chunk `document.text[chunk.start:chunk.end] == chunk.text`.

        Section and page metadata (`heading`, `heading_level`, `heading_breadcrumb`, `page`, `page_end`) are set here.
        """
        ...

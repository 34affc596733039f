"""What became of documents that were taken in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "IngestionProgress",
    "IngestionReport",
    "IngestionResult",
    "IngestionStatus",
]


class IngestionStatus(StrEnum):
    """What became of a document."""

    STORED = "stored"
    UNCHANGED = "unchanged"
    """Its content, tags and settings equal what is stored, so nothing was done."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionResult:
    """What `ingest` did with one document.

    Attributes:
        chunks_stored: How many chunks this call stored; 0 when it failed or found the document unchanged.
        error: Why it failed, one line; only in the results of ingesting many.
        source: The file it came from, where there is one.
        warnings: What did not go as asked although the document was stored, one line each.
    """

    document_id: str
    chunks_stored: int
    status: IngestionStatus = IngestionStatus.STORED
    error: str | None = None
    source: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionProgress:
    """How far an ingestion has come, handed to the `progress` callback after each document.

    Attributes:
        documents_done: Documents finished, failed ones included.
        documents_total: All documents, or `None` while their number is not known.
        chunks_stored: Chunks stored so far.
        result: The document just finished.
    """

    documents_done: int
    documents_total: int | None
    chunks_stored: int
    result: IngestionResult


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionReport:
    """What became of many documents.

    Attributes:
        stored: Documents stored, new and replaced ones.
        unchanged: Documents that were stored already and had not changed.
        failed: Documents of which nothing new was stored; each is in `failures`.
        skipped: Files met while listing a directory or a pattern that no configured parser reads.
        chunks_stored: Chunks of the documents that this run stored.
        warned: Documents stored with a warning, such as without sparse vectors; `progress` sees them, and the log has a
            line for each.
        failures: One result a failed document, in the order in which they failed, `error` saying why in one line.
    """

    stored: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    chunks_stored: int = 0
    warned: int = 0
    failures: tuple[IngestionResult, ...] = ()

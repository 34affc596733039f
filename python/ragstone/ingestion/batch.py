"""Ingesting many documents: a few at a time, each failure reported, none stopping the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final, cast

from ragstone.concurrency import offload
from ragstone.errors import InvalidInputError, RagError
from ragstone.ingestion.listing import Entry, ManySources, list_path, paths_of
from ragstone.ingestion.parsers.registry import ParserRegistry
from ragstone.ingestion.sources import Source
from ragstone.models import DocumentMetadata, IngestionProgress, IngestionReport, IngestionResult, IngestionStatus
from ragstone.ports import ProgressCallback

__all__ = ["Batch"]

_LOG = logging.getLogger(__name__)
_LISTED_AT_ONCE: Final = 64


class Batch:
    """One run over many documents.

    Never more than `concurrency` documents are in memory, and files are listed only as they are needed.

    Args:
        ingest: Takes in one document.
        registry: Tells which files of a directory are read.
        concurrency: How many documents are worked on at once.
        progress: Called after each document.
    """

    def __init__(
        self,
        ingest: Callable[[Source, DocumentMetadata], Awaitable[IngestionResult]],
        *,
        registry: ParserRegistry,
        concurrency: int,
        progress: ProgressCallback | None,
    ) -> None:
        self._ingest = ingest
        self._registry = registry
        self._slots = asyncio.Semaphore(concurrency)
        self._progress = progress
        self._total: int | None = None
        self._counts = dict.fromkeys(IngestionStatus, 0)
        self._skipped = 0
        self._chunks_stored = 0
        self._warned = 0
        self._failures: list[IngestionResult] = []
        self._origins: dict[str, str] = {}

    async def run(self, sources: ManySources) -> IngestionReport:
        """Ingest all of them and report.

        Raises:
            InvalidInputError: `sources`, or an item of it, is nothing that can be ingested.
            Exception: Whatever the iterable or the `progress` callback raises; documents done by then stay.
        """
        if self._progress is not None and isinstance(sources, (str, PathLike, Sequence)):
            self._total = await offload(self._count, sources)
        try:
            async with asyncio.TaskGroup() as group:
                async for entry in self._entries(sources):
                    await self._slots.acquire()
                    group.create_task(self._take_in(entry)).add_done_callback(lambda _: self._slots.release())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return IngestionReport(
            stored=self._counts[IngestionStatus.STORED],
            unchanged=self._counts[IngestionStatus.UNCHANGED],
            failed=self._counts[IngestionStatus.FAILED],
            skipped=self._skipped,
            chunks_stored=self._chunks_stored,
            warned=self._warned,
            failures=tuple(self._failures),
        )

    def _count(self, sources: ManySources) -> int:
        """Count the documents of paths and pairs that can be listed twice."""
        return sum(
            1 if isinstance(item, tuple) else sum(entry is not None for entry in list_path(item, self._registry))
            for item in paths_of(sources)
        )

    async def _entries(self, sources: ManySources) -> AsyncIterator[Entry]:
        for item in paths_of(sources):
            if isinstance(item, (str, PathLike)):
                listing = list_path(item, self._registry)
                while some := await offload(_take, listing):
                    for entry in some:
                        if entry is None:
                            self._skipped += 1
                        else:
                            yield entry
            else:
                yield _pair(item)

    async def _take_in(self, entry: Entry) -> None:
        try:
            result = await self._ingest(entry.source, self._metadata(entry))
        except Exception as error:  # noqa: BLE001 - one document is reported, the others go on
            _LOG.warning("document %r was not ingested: %s", entry.document_id, type(error).__name__, exc_info=error)
            result = IngestionResult(
                document_id=entry.document_id,
                chunks_stored=0,
                status=IngestionStatus.FAILED,
                error=_one_line(error),
                source=entry.path,
            )
        self._record(result)

    def _metadata(self, entry: Entry) -> DocumentMetadata:
        if entry.error is not None:
            raise entry.error
        if entry.metadata is not None:
            return entry.metadata
        path = str(entry.path)
        origin = self._origins.setdefault(entry.document_id, path)
        if origin != path:
            raise InvalidInputError(
                f"'{path}' would replace '{origin}', which has the same id in this run: "
                "ingest the directory above both, or give pairs of source and metadata"
            )
        return DocumentMetadata(document_id=entry.document_id, file_name=Path(path).name)

    def _record(self, result: IngestionResult) -> None:
        self._counts[result.status] += 1
        self._chunks_stored += result.chunks_stored
        self._warned += bool(result.warnings)
        if result.status is IngestionStatus.FAILED:
            self._failures.append(result)
        if self._progress is not None:
            done = sum(self._counts.values())
            self._progress(
                IngestionProgress(
                    documents_done=done, documents_total=self._total, chunks_stored=self._chunks_stored, result=result
                )
            )


def _take(listing: Iterator[Entry | None]) -> list[Entry | None]:
    return list(islice(listing, _LISTED_AT_ONCE))


def _pair(item: object) -> Entry:
    kind = type(item).__name__
    pair = cast("tuple[object, ...]", item) if isinstance(item, tuple) else ()
    if len(pair) == 2 and isinstance(pair[1], DocumentMetadata):  # noqa: PLR2004
        return Entry(pair[1].document_id, cast("Source", pair[0]), pair[1])
    raise InvalidInputError(f"an item to ingest is a path or a pair (source, DocumentMetadata), not {kind}")


def _one_line(error: Exception) -> str:
    """Return an error's message; of an error that is not Ragstone's only its kind, since it may quote the document."""
    if isinstance(error, RagError):
        return " ".join(str(error).split())
    return f"{type(error).__name__}, see the log"

"""`ragstone ingest`."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ragstone.cli import output
from ragstone.cli.embedding import embedder_for_ingestion
from ragstone.cli.typed import collect_pairs
from ragstone.errors import InvalidInputError
from ragstone.ingestion import ParserRegistry, RecursiveChunker, default_parsers
from ragstone.ingestion.listing import list_path
from ragstone.metadata import MetadataValue
from ragstone.models import DocumentMetadata, IngestionReport, IngestionResult, IngestionStatus
from ragstone.pipeline import RagPipeline

__all__ = ["run"]


@dataclass(slots=True)
class _Listing:
    """What the paths of the command line hold.

    Attributes:
        documents: Each file once, by the id it gets: its path as the shell sees it.
        skipped: How many files no parser reads.
        failures: Directories that cannot be listed.
    """

    documents: dict[str, tuple[Path, DocumentMetadata]] = field(
        default_factory=dict[str, tuple[Path, DocumentMetadata]]
    )
    skipped: int = 0
    failures: list[IngestionResult] = field(default_factory=list[IngestionResult])


def run(arguments: argparse.Namespace) -> bool:
    """Ingest and report; return whether some documents failed."""
    started = time.perf_counter()
    index = Path(arguments.index)
    chunker = RecursiveChunker(max_size=arguments.chunk_size, overlap=arguments.overlap)
    listing = _list(arguments.paths, collect_pairs("--tag", arguments.tags))
    embedder = embedder_for_ingestion(index, keywords_only=arguments.no_embed)
    report = asyncio.run(_ingest(RagPipeline(embedder=embedder, chunker=chunker, path=index), listing))
    for failure in report.failures:
        output.complain(f"{failure.source or failure.document_id}: {failure.error}")
    if arguments.json:
        output.print_json(asdict(report))
    else:
        seconds = time.perf_counter() - started
        output.results().print(
            f"{_summary(report)} in {output.on_one_line(str(index))}, {seconds:.1f} s", soft_wrap=True
        )
    return report.failed > 0


def _list(paths: Sequence[str], tags: Mapping[str, MetadataValue]) -> _Listing:
    registry, listing = ParserRegistry(tuple(default_parsers())), _Listing()
    for path in paths:
        if not Path(path).exists() and not any(character in path for character in "*?["):
            raise InvalidInputError(f"{path}: there is no such file or directory")
        for entry in list_path(path, registry):
            if entry is None or entry.path is None:
                listing.skipped += 1
            elif entry.error is not None:
                listing.failures.append(_failure(entry.path, str(entry.error)))
            else:
                file = Path(entry.path)
                metadata = DocumentMetadata(document_id=file.as_posix(), file_name=file.name, tags=tags)
                listing.documents[metadata.document_id] = (file, metadata)
    return listing


def _failure(path: str, error: str) -> IngestionResult:
    return IngestionResult(document_id=path, chunks_stored=0, status=IngestionStatus.FAILED, error=error)


async def _ingest(pipeline: RagPipeline, listing: _Listing) -> IngestionReport:
    with output.ingestion_progress() as progress:
        async with pipeline:
            report = await pipeline.ingest_many(list(listing.documents.values()), progress=progress)
    return replace(
        report,
        failed=report.failed + len(listing.failures),
        skipped=report.skipped + listing.skipped,
        failures=(*listing.failures, *report.failures),
    )


def _summary(report: IngestionReport) -> str:
    parts = [f"{report.stored:,} {'document' if report.stored == 1 else 'documents'} stored"]
    if report.stored:
        parts[0] += f" ({report.chunks_stored:,} {'chunk' if report.chunks_stored == 1 else 'chunks'})"
    for count, what in (
        (report.unchanged, "unchanged"),
        (report.failed, "failed"),
        (report.skipped, "of unknown type"),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    return ", ".join(parts)

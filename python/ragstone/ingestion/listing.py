"""Listing what is to be ingested: directories, glob patterns, paths and pairs, lazily."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

from ragstone.errors import IngestionError, InvalidInputError, RagError
from ragstone.ingestion.parsers.registry import ParserRegistry
from ragstone.ingestion.sources import Source
from ragstone.models import DocumentMetadata

__all__ = ["Entry", "ManySources", "SourcePath", "list_path", "paths_of"]

SourcePath: TypeAlias = str | PathLike[str]
ManySources: TypeAlias = SourcePath | Iterable[SourcePath | tuple[Source, DocumentMetadata]]
"""A directory, a glob pattern or a file; or any number of these and of (source, metadata) pairs."""

_WILDCARDS: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to ingest.

    Attributes:
        document_id: Under which it is to be stored, and reported.
        source: Where it comes from.
        metadata: What the caller says of it; `None` for a listed file.
        error: Why it cannot be ingested, if that is known before.
    """

    document_id: str
    source: Source
    metadata: DocumentMetadata | None = None
    error: RagError | None = None

    @property
    def path(self) -> str | None:
        """The path of a file."""
        return os.fspath(self.source) if isinstance(self.source, (str, PathLike)) else None


def paths_of(sources: ManySources) -> Iterable[SourcePath | tuple[Source, DocumentMetadata]]:
    """Return the items of `sources`, a single path as one.

    Raises:
        InvalidInputError: It is neither a path nor an iterable of them.
    """
    if isinstance(sources, (str, PathLike)):
        return (sources,)
    if isinstance(sources, (bytes, bytearray, memoryview)) or not isinstance(sources, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"sources must be a path or an iterable of paths and (source, metadata) pairs, not {type(sources).__name__}"
        )
    return sources


def list_path(path: SourcePath, registry: ParserRegistry) -> Iterator[Entry | None]:
    """List a directory with all below it, a glob pattern, or one file. Blocks: advance it in a worker thread.

    A file's id is its path relative to the directory, or to the part of the pattern before its first wildcard, with `/`
    between the parts; the id of a file that is named itself is the path as given. Hidden files and directories are left
    out. Links to directories are not followed.

    Yields:
        An entry a file, `None` for one that a directory or a pattern holds and no parser reads.
    """
    root = Path(path)
    if root.is_dir():
        yield from _listed(_walk(root), root, registry)
    elif _WILDCARDS.isdisjoint(os.fspath(path)) or root.exists():
        yield Entry(root.as_posix(), root)
    else:
        yield from _matching(root, registry)


def _matching(pattern: Path, registry: ParserRegistry) -> Iterator[Entry | None]:
    fixed = Path(*_before_wildcard(pattern))
    found = False
    # Unlike Path.glob, this one keeps to visible files and lets `**` stand for files as well.
    for file in map(Path, glob.iglob(os.fspath(pattern), recursive=True)):  # noqa: PTH207
        if not file.is_dir():
            found = True
            yield from _listed((file,), fixed, registry)
    if not found:
        yield Entry(pattern.as_posix(), pattern, error=IngestionError(f"no file matches '{pattern}'"))


def _before_wildcard(pattern: Path) -> Iterator[str]:
    for part in pattern.parts[:-1]:
        if not _WILDCARDS.isdisjoint(part):
            return
        yield part


def _listed(files: Iterable[Path | Entry], root: Path, registry: ParserRegistry) -> Iterator[Entry | None]:
    for file in files:
        if isinstance(file, Entry):
            yield file
        elif registry.supports(file.name) and file.is_file():
            yield Entry(file.relative_to(root).as_posix(), file)
        else:
            yield None


def _walk(root: Path) -> Iterator[Path | Entry]:
    """Yield the files below a directory in a fixed order, and an entry with an error for a directory that is closed."""
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as listing:
                entries = sorted(
                    (entry for entry in listing if not entry.name.startswith(".")), key=lambda entry: entry.name
                )
        except OSError as error:
            failure = IngestionError(f"cannot list the directory '{directory}': {error.strerror}")
            yield Entry(directory.as_posix(), directory, error=failure)
            continue
        folders = [directory / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        waiting.extend(reversed(folders))
        yield from (directory / entry.name for entry in entries if not entry.is_dir())

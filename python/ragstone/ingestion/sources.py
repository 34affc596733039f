"""Where documents come from: bytes, open files and paths."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

from ragstone.errors import IngestionError, InvalidInputError

__all__ = ["BinaryReadable", "Loaded", "Source", "load"]

_LONGEST_SHOWN: Final = 255


class BinaryReadable(Protocol):
    """A file open for reading in binary mode, or anything like it."""

    def read(self) -> bytes:
        """Return all that is left."""
        ...


Source: TypeAlias = str | PathLike[str] | bytes | bytearray | memoryview | BinaryReadable
"""A path, a document's bytes, or an open binary file. A string is a path, never a text."""


class Loaded(NamedTuple):
    """A document's bytes, and the path of the file that they come from, if any."""

    content: bytes
    path: str | None


def load(source: Source) -> Loaded:
    """Read a source. Blocks: call it in a worker thread.

    Raises:
        IngestionError: The file cannot be read.
        InvalidInputError: It is no source.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Loaded(bytes(source), None)
    if isinstance(source, (str, PathLike)):
        return Loaded(_read_file(source), os.fspath(source))
    if not callable(getattr(source, "read", None)):
        raise InvalidInputError(f"a source is a path, bytes or an open binary file, not {type(source).__name__}")
    content = cast("object", source.read())
    if not isinstance(content, bytes):
        raise InvalidInputError(
            f"reading the source gave {type(content).__name__}, not bytes: open the file in binary mode, 'rb'"
        )
    name = getattr(source, "name", None)
    return Loaded(content, name if isinstance(name, str) else None)


def _read_file(path: str | PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except IsADirectoryError as error:
        raise IngestionError(f"'{os.fspath(path)}' is a directory: take it in with ingest_many") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise IngestionError(
            f"cannot read {_shown(os.fspath(path))}: {reason or 'not a path'} (a text goes to ingest_text)"
        ) from error


def _shown(path: str) -> str:
    # A text handed in by mistake must not end up in a log.
    if len(path) > _LONGEST_SHOWN or not path.isprintable():
        return f"a path of {len(path)} characters"
    return f"'{path}'"

"""What the command prints: results on standard output, everything else on standard error.

Text of documents and names of files are data: control characters never reach the terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ragstone.models import IngestionProgress
from ragstone.ports import ProgressCallback

__all__ = ["complain", "ingestion_progress", "on_one_line", "print_json", "printable", "results", "say", "waiting"]

_NAME_WIDTH = 24


def results() -> Console:
    """Return the console of the results: the terminal's width, else 80 columns and no colours."""
    return Console(highlight=False, markup=False, emoji=False)


def _remarks() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """Return the text with every control character but line ends replaced by a space."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def on_one_line(text: str) -> str:
    """Return the text as a single printable line."""
    return printable(" ".join(text.split()))


def complain(message: str) -> None:
    """Print one line to standard error."""
    print(f"ragstone: {on_one_line(message)}", file=sys.stderr)  # noqa: T201


def say(piece: str) -> None:
    """Print a piece of a text that is still coming, at once."""
    sys.stdout.write(printable(piece))
    sys.stdout.flush()


def print_json(data: object) -> None:
    """Print data as JSON; as ASCII where the output's encoding is not Unicode's."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(data, indent=2, ensure_ascii=ascii_only, allow_nan=False))  # noqa: T201


@contextmanager
def waiting(what: str) -> Generator[None]:
    """Show a spinner on a terminal meanwhile."""
    console = _remarks()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


@contextmanager
def ingestion_progress() -> Generator[ProgressCallback | None]:
    """Show a bar on a terminal meanwhile; elsewhere give no callback."""
    console = _remarks()
    if not console.is_terminal:
        yield None
        return
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[chunks]} chunks", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("opening the index", total=None, chunks=0)

        def show(progress: IngestionProgress) -> None:
            name = on_one_line(progress.result.source or progress.result.document_id)
            short = name if len(name) <= _NAME_WIDTH else f"…{name[1 - _NAME_WIDTH :]}"
            bar.update(
                task,
                completed=progress.documents_done,
                total=progress.documents_total,
                chunks=progress.chunks_stored,
                description=short,
            )

        yield show

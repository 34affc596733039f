"""`ragstone info`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.filesize import decimal
from rich.text import Text

from ragstone.cli import output
from ragstone.persistence import IndexDirectory, IndexInfo

__all__ = ["run"]

_NAME_WIDTH = 18


def run(arguments: argparse.Namespace) -> bool:
    """Print what is in an index; return whether it failed."""
    info = IndexDirectory.inspect(Path(arguments.index))
    if arguments.json:
        output.print_json({**asdict(info), "path": str(info.path)})
    else:
        console = output.results()
        for name, value in _rows(info).items():
            line = Text.assemble((name.ljust(_NAME_WIDTH), "bold"), output.on_one_line(value))
            console.print(line, soft_wrap=True)
    return False


def _rows(info: IndexInfo) -> dict[str, str]:
    rows = {
        "Index": str(info.path),
        "Documents": f"{info.documents:,}",
        "Chunks": f"{info.chunks:,}",
        "Size on disk": decimal(info.bytes_on_disk),
        "Embedding model": "none: keyword search only" if info.embedder is None else info.embedder,
    }
    if info.dimensions is not None:
        rows["Dimensions"] = str(info.dimensions)
    return {**rows, "Text analysis": info.analyzer, "Format": str(info.format_version)}

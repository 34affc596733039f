"""`ragstone search`."""

from __future__ import annotations

import argparse
import asyncio
import textwrap
from pathlib import Path
from typing import Any

from rich.text import Text

from ragstone.cli import output
from ragstone.cli.embedding import embedder_of
from ragstone.cli.typed import collect_pairs
from ragstone.errors import CapabilityError
from ragstone.models import SearchResult
from ragstone.options import RetrievalOptions
from ragstone.persistence import IndexDirectory, IndexInfo
from ragstone.pipeline import RagPipeline
from ragstone.retrieval.page import SearchPage

__all__ = ["index_of", "retrieval_of", "run"]

_LINES = 3
_INDENT = "    "


def run(arguments: argparse.Namespace) -> bool:
    """Search and print the page; return whether it failed."""
    options = RetrievalOptions(**retrieval_of(arguments))
    info = index_of(arguments)
    page = asyncio.run(_retrieve(arguments.query, options, info))
    if arguments.json:
        output.print_json(page.to_dict())
    elif arguments.explain:
        output.results().print(output.printable(str(page.explain())), soft_wrap=True)
    else:
        _print_page(page)
    return False


def retrieval_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of retrieval that the command line asks for."""
    return {
        "top_k": arguments.top_k,
        "use_hybrid_search": arguments.hybrid,
        "use_mmr": arguments.mmr,
        "metadata_filter": collect_pairs("--filter", arguments.filters),
        "max_context_tokens": arguments.max_tokens,
    }


def index_of(arguments: argparse.Namespace) -> IndexInfo:
    """Return what is known of the index, which can do what the command line asks for.

    Raises:
        CapabilityError: It has no vectors and they are needed.
        PersistenceError: It is not there, or cannot be read.
    """
    info = IndexDirectory.inspect(Path(arguments.index))
    _require_vectors(info, hybrid=arguments.hybrid, mmr=arguments.mmr)
    return info


def _require_vectors(info: IndexInfo, *, hybrid: bool, mmr: bool) -> None:
    asked = "--hybrid" if hybrid else "--mmr" if mmr else None
    if asked is not None and info.embedder is None:
        raise CapabilityError(
            f"{asked} needs vectors and {info.path} was made without an embedding model: leave {asked} out, or "
            "run  pip install 'ragstone[local]'  and ingest the documents into a new directory"
        )


async def _retrieve(query: str, options: RetrievalOptions, info: IndexInfo) -> SearchPage:
    rag = RagPipeline(embedder=embedder_of(info), path=info.path)
    with output.waiting(f"Opening {info.path}"):
        async with rag:
            return await rag.retrieve(query, options)


def _print_page(page: SearchPage) -> None:
    console = output.results()
    for place, hit in enumerate(page, start=1):
        console.print(_heading(place, hit), soft_wrap=True)
        snippet = textwrap.wrap(
            output.on_one_line(hit.chunk.text),
            width=min(console.width, 100),
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            max_lines=_LINES,
            placeholder=" …",
        )
        console.print("\n".join(snippet), soft_wrap=True)
    for warning in page.warnings:
        output.complain(f"warning: {warning}")
    if not page:
        console.print("No results.")


def _heading(place: int, hit: SearchResult) -> Text:
    chunk = hit.chunk
    breadcrumb, page = chunk.metadata.get("heading_breadcrumb"), chunk.metadata.get("page")
    context = [str(breadcrumb)] * (breadcrumb is not None) + [f"page {page}"] * (page is not None)
    return Text.assemble(
        (f"{place:>2}  ", "bold"),
        (f"{hit.score:.4f} {hit.score_scale}  ", "cyan"),
        (output.on_one_line(f"{chunk.document_id}#{chunk.chunk_index}"), "bold green"),
        *(f" · {output.on_one_line(item)}" for item in context),
    )

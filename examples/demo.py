"""Ragstone on real documents: ingest, search, explain, measure. Run it with `make demo`.

It reads two collections into one index: a thousand abstracts of SciFact with judged claims (see scifact/README.md) and
Ragstone's own documentation. It then asks a few questions and prints why each chunk came back, and at last measures how
well keyword search (BM25), search by meaning (dense) and both together (hybrid) find the abstracts judged relevant.

The embedding model runs in this process: no server, no network, no key.
"""

from __future__ import annotations

import asyncio
import csv
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import ragstone as rs

ROOT = Path(__file__).resolve().parent.parent
SCIFACT = Path(__file__).resolve().parent / "scifact"

QUESTIONS = {
    "Are papers that anyone may read cited more often?": "scifact",
    "How does thalassemia protect against malaria?": "scifact",
    "How are the scores of keyword and vector search fused?": "ragstone",
}

# The page is deeper than the ten documents that are judged, since several of its chunks may come from one document.
CHUNKS, DEPTH = 50, 10
ABSTRACTS = {"collection": "scifact"}
METHODS = {
    # Weight 0 leaves an arm out, so this is BM25 alone.
    "BM25": rs.RetrievalOptions(
        top_k=CHUNKS,
        metadata_filter=ABSTRACTS,
        use_hybrid_search=True,
        ensemble_options=rs.EnsembleOptions(dense_weight=0),
    ),
    "dense": rs.RetrievalOptions(top_k=CHUNKS, metadata_filter=ABSTRACTS),
    "hybrid": rs.RetrievalOptions(top_k=CHUNKS, metadata_filter=ABSTRACTS, use_hybrid_search=True),
}

console = Console(highlight=False, markup=False, width=80)


def scifact_documents() -> Iterator[tuple[bytes, rs.DocumentMetadata]]:
    """Yield each abstract as a text, its title in the first line, and what is to be known of it."""
    with (SCIFACT / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            text = f"{entry['title']}\n{entry['text']}"
            yield (
                text.encode(),
                rs.DocumentMetadata(document_id=entry["_id"], content_type="text/plain", tags=ABSTRACTS),
            )


def own_documents() -> Iterator[tuple[Path, rs.DocumentMetadata]]:
    """Yield Ragstone's README and documentation, tagged so that a filter can tell them from the abstracts."""
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        name = file.relative_to(ROOT).as_posix()
        yield file, rs.DocumentMetadata(document_id=name, file_name=file.name, tags={"collection": "ragstone"})


async def ingest(rag: rs.RagPipeline) -> None:
    """Take both collections in, with a progress bar."""
    sources: list[tuple[Path | bytes, rs.DocumentMetadata]] = [*own_documents(), *scifact_documents()]
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("documents · {task.fields[chunks]} chunks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=len(sources), chunks=0)

        def show(progress: rs.IngestionProgress) -> None:
            bar.update(task, completed=progress.documents_done, chunks=progress.chunks_stored)

        report = await rag.ingest_many(sources, progress=show)
    for failure in report.failures:
        console.print(f"not ingested: {failure.document_id}: {failure.error}")


async def ask(rag: rs.RagPipeline) -> None:
    """Ask each question of its collection and print the record of the search."""
    for question, collection in QUESTIONS.items():
        options = rs.RetrievalOptions(top_k=3, use_hybrid_search=True, metadata_filter={"collection": collection})
        console.rule(style="dim")
        console.print(str(await rag.explain(question, options)))


def judged_claims() -> list[tuple[str, set[str]]]:
    """Return each claim and the ids of the abstracts that were judged relevant to it."""
    with (SCIFACT / "queries.jsonl").open(encoding="utf-8") as lines:
        claims = {entry["_id"]: entry["text"] for entry in map(json.loads, lines)}
    relevant: dict[str, set[str]] = {claim: set() for claim in claims}
    with (SCIFACT / "qrels.tsv").open(encoding="utf-8", newline="") as lines:
        for judgement in csv.DictReader(lines, delimiter="\t"):
            relevant[judgement["query-id"]].add(judgement["corpus-id"])
    return [(claims[claim], relevant[claim]) for claim in claims]


def ranked_documents(page: Sequence[rs.SearchResult]) -> list[str]:
    """Return the documents of a page by their best chunk, each once."""
    return list(dict.fromkeys(hit.chunk.document_id for hit in page))


def ndcg(ranking: Sequence[str], relevant: set[str]) -> float:
    """Return the normalised discounted cumulative gain of a ranking: 1 when all that is relevant comes first."""
    gain = sum(1 / math.log2(rank + 1) for rank, document in enumerate(ranking, start=1) if document in relevant)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), DEPTH) + 1))
    return gain / ideal


def recall(ranking: Sequence[str], relevant: set[str]) -> float:
    """Return the share of the relevant documents that a ranking holds."""
    return len(relevant.intersection(ranking)) / len(relevant)


async def measure(rag: rs.RagPipeline) -> Table:
    """Search with every claim by every method, and return the figures as a table."""
    claims = judged_claims()
    table = Table(title=f"{len(claims)} judged claims, 1,000 abstracts", title_style="bold")
    table.add_column("method")
    for name in (f"nDCG@{DEPTH}", f"Recall@{DEPTH}", "ms a query"):
        table.add_column(name, justify="right")
    for method, options in METHODS.items():
        started = time.perf_counter()
        rankings = [ranked_documents(await rag.retrieve(claim, options))[:DEPTH] for claim, _ in claims]
        milliseconds = (time.perf_counter() - started) * 1e3 / len(claims)
        pairs = [(ranking, relevant) for ranking, (_, relevant) in zip(rankings, claims, strict=True)]
        figures = [sum(score(*pair) for pair in pairs) / len(pairs) for score in (ndcg, recall)]
        table.add_row(method, *(f"{figure:.4f}" for figure in figures), f"{milliseconds:.1f}")
    return table


async def main() -> None:
    """Run the demo in a temporary directory."""
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        async with rs.RagPipeline(embedder=rs.OnnxEmbedder.local(), path=Path(folder) / "demo.rag") as rag:
            console.print("Ingesting a thousand abstracts and Ragstone's own documentation")
            await ingest(rag)
            await ask(rag)
            console.rule(style="dim")
            with console.status("Searching with every judged claim"):
                table = await measure(rag)
            console.print(table)
    console.print("On this subset only: no published figure compares (examples/scifact/README.md).")
    console.print(f"Total time: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    asyncio.run(main())

"""What is measured: ways of retrieving, each over the corpus cut in one of two ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ragstone as rs
from benches.quality.corpora import Judged
from benches.quality.measures import MEASURES, mean

__all__ = ["DEPTH", "Figure", "measured"]

DEPTH = 10
_CHUNKS = 50
_WHOLE = 10_000_000

_HALVES = rs.EnsembleOptions(fusion="relative", dense_weight=0.5, bm25_weight=0.5)
_WHOLE_DOCUMENTS = {
    "BM25": rs.RetrievalOptions(
        top_k=DEPTH, use_hybrid_search=True, ensemble_options=rs.EnsembleOptions(dense_weight=0)
    ),
    "dense": rs.RetrievalOptions(top_k=DEPTH),
    f"hybrid, RRF of lists of {DEPTH}": rs.RetrievalOptions(
        top_k=DEPTH, use_hybrid_search=True, ensemble_options=rs.EnsembleOptions(window=DEPTH)
    ),
    "hybrid, RRF (the default)": rs.RetrievalOptions(top_k=DEPTH, use_hybrid_search=True),
    "hybrid, relative scores, weights 0.5": rs.RetrievalOptions(
        top_k=DEPTH, use_hybrid_search=True, ensemble_options=_HALVES
    ),
}
_DEFAULT_CHUNKS = {
    "chunks: BM25": rs.RetrievalOptions(
        top_k=_CHUNKS, use_hybrid_search=True, ensemble_options=rs.EnsembleOptions(dense_weight=0)
    ),
    "chunks: dense": rs.RetrievalOptions(top_k=_CHUNKS),
    "chunks: hybrid, RRF (the default)": rs.RetrievalOptions(top_k=_CHUNKS, use_hybrid_search=True),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """How well a way of retrieving ranks: the mean of each measure over all questions."""

    method: str
    means: dict[str, float]


async def measured(corpus: Judged, home: Path) -> list[Figure]:
    """Measure every way over the whole documents, then over chunks of the default size."""
    whole = rs.RecursiveChunker(max_size=_WHOLE, overlap=0)
    figures = await _over(corpus, home / f"{corpus.name}-whole.rag", whole, _WHOLE_DOCUMENTS)
    return figures + await _over(corpus, home / f"{corpus.name}-chunks.rag", rs.RecursiveChunker(), _DEFAULT_CHUNKS)


async def _over(
    corpus: Judged, path: Path, chunker: rs.RecursiveChunker, methods: dict[str, rs.RetrievalOptions]
) -> list[Figure]:
    path.parent.mkdir(parents=True, exist_ok=True)
    async with rs.RagPipeline(embedder=rs.OnnxEmbedder.local(), chunker=chunker, path=path) as rag:
        sources = [
            (text.encode(), rs.DocumentMetadata(document_id=name, content_type="text/plain"))
            for name, text in corpus.documents.items()
            if text
        ]
        report = await rag.ingest_many(sources)
        if report.failed:
            raise SystemExit(f"{report.failed} documents failed, the first: {report.failures[0].error}")
        return [await _figure(rag, corpus, name, options) for name, options in methods.items()]


async def _figure(rag: rs.RagPipeline, corpus: Judged, method: str, options: rs.RetrievalOptions) -> Figure:
    scores: dict[str, list[float]] = {name: [] for name in MEASURES}
    for query, text in corpus.queries.items():
        ranking = _documents(await rag.retrieve(text, options))
        for name, measure in MEASURES.items():
            scores[name].append(measure(ranking, corpus.relevant[query], DEPTH))
    return Figure(method, {name: mean(values) for name, values in scores.items()})


def _documents(page: Sequence[rs.SearchResult]) -> list[str]:
    """The documents of a page by their best chunk, each once."""
    return list(dict.fromkeys(hit.chunk.document_id for hit in page))

"""The figures as tables, and the page `docs/quality.md`."""

from __future__ import annotations

from collections.abc import Sequence

from benches.quality.corpora import Judged
from benches.quality.measures import MEASURES
from benches.quality.methods import DEPTH, Figure

__all__ = ["page", "table"]

_ABOUT = {
    "scifact": "scientific claims and the abstracts that support or refute them, English (BEIR's test split)",
    "cranfield": "questions on aerodynamics and abstracts, English",
    "cmrc2018-zh": "questions on encyclopaedia paragraphs, Chinese; the embedding model knows English only",
}

_INTRODUCTION = f"""\
# Quality

How well Ragstone ranks on judged corpora, through `RagPipeline` as a program has it. This page is written by
`python -m benches.quality FOLDER … --output docs/quality.md`, which prints the same tables for any corpus in BEIR's
layout; no figure is typed by hand. The corpora are not part of Ragstone: SciFact, for one, comes from BEIR.

Embeddings are those of `OnnxEmbedder.local()`: all-MiniLM-L6-v2 with 8-bit weights, texts cut at 256 tokens. BM25 is
the default: k1 = 1.5, b = 0.75, neither stemming nor stop words. Measures are means over all judged questions at depth
{DEPTH}: [nDCG](https://doi.org/10.1145/582415.582418) with binary gains, recall, and the reciprocal rank of the first
relevant document. The first rows index each document whole, title, a space and text, the protocol of published figures;
the rows named *chunks* cut it as Ragstone does by default, 512 characters with an overlap of 50, and rank documents by
their best chunk among the best 50.
"""

_READING = """\
## Reading them

- On SciFact the original system that Ragstone re-creates published, with the same model in single precision, 0.64593
  nDCG@10 for dense search and 0.69913 for dense and BM25 fused by RRF over lists of ten.
- Fusing deep lists and cutting afterwards, Ragstone's default, is compared with fusing lists of ten above it.
- In Chinese BM25 works on pairs of characters, while the embedding model has never seen the language: an arm that knows
  nothing pulls a fusion down. Leave it out with a weight of 0, or use a multilingual model.
"""


def table(figures: Sequence[Figure]) -> str:
    """A Markdown table, a way of retrieving a row."""
    width = max(len(figure.method) for figure in figures)
    names = [f"{name}@{DEPTH}" for name in MEASURES]
    rows = [f"| {'':{width}} | " + " | ".join(f"{name:>9}" for name in names) + " |"]
    rows.append(f"| {'-' * width} | " + " | ".join("-" * 8 + ":" for _ in names) + " |")
    rows += [
        f"| {figure.method:{width}} | " + " | ".join(f"{value:>9.5f}" for value in figure.means.values()) + " |"
        for figure in figures
    ]
    return "\n".join(rows)


def page(found: Sequence[tuple[Judged, Sequence[Figure]]]) -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for corpus, figures in found:
        about = _ABOUT.get(corpus.name, "")
        judgements = sum(len(names) for names in corpus.relevant.values())
        size = f"{len(corpus.documents):,} documents, {len(corpus.queries):,} questions, {judgements:,} judgements"
        parts.append(
            f"## {corpus.name}\n\n{f'{about[0].upper()}{about[1:]}: ' if about else ''}{size}.\n\n{table(figures)}\n"
        )
    return "\n".join([*parts, _READING])

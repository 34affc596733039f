"""Judged corpora in the layout of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels.tsv`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Judged"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A corpus, its questions, and which documents were judged relevant to each."""

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]

    @classmethod
    def load(cls, folder: Path) -> Judged:
        """Read a folder; a document's text is its title, a space and its text; questions without a judgement go."""
        documents = {
            entry["_id"]: f"{entry.get('title') or ''} {entry['text']}".strip()
            for entry in _lines(folder / "corpus.jsonl")
        }
        queries = {entry["_id"]: entry["text"] for entry in _lines(folder / "queries.jsonl")}
        relevant: dict[str, set[str]] = {}
        with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows, delimiter="\t"):
                if int(row["score"]) > 0:
                    relevant.setdefault(row["query-id"], set()).add(row["corpus-id"])
        judged = {name: text for name, text in queries.items() if name in relevant}
        return cls(folder.name, documents, judged, relevant)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as rows:
        yield from map(json.loads, rows)

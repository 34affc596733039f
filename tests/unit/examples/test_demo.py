"""The demo's data and measures."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    specification = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (EXAMPLES / "scifact" / name).read_text("utf-8").splitlines()]


def test_the_subset_is_what_its_readme_says() -> None:
    corpus, claims = lines("corpus.jsonl"), lines("queries.jsonl")
    ids = [entry["_id"] for entry in corpus]
    assert len(ids) == len(set(ids)) == 1000
    assert ids == sorted(ids, key=int)
    assert all(entry["title"] and entry["text"] for entry in corpus)
    with (EXAMPLES / "scifact" / "qrels.tsv").open(encoding="utf-8", newline="") as table:
        judgements = list(csv.DictReader(table, delimiter="\t"))
    assert len(judgements) == 339
    assert {judgement["score"] for judgement in judgements} == {"1"}
    judged = {judgement["corpus-id"] for judgement in judgements}
    assert len(judged) == 283
    assert judged <= set(ids)
    assert {judgement["query-id"] for judgement in judgements} == {claim["_id"] for claim in claims}
    assert len(claims) == 300


def test_documents_are_title_and_text(demo: ModuleType) -> None:
    source, metadata = next(demo.scifact_documents())
    first = lines("corpus.jsonl")[0]
    assert source.decode() == f"{first['title']}\n{first['text']}"
    assert metadata.document_id == first["_id"]
    assert metadata.tags == {"collection": "scifact"}


def test_own_documents_are_there(demo: ModuleType) -> None:
    names = [metadata.document_id for _, metadata in demo.own_documents()]
    assert names[0] == "README.md"
    assert "docs/index.md" in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("ranking", "relevant", "ndcg", "recall"),
    [
        (["a", "b"], {"a"}, 1.0, 1.0),
        (["b", "a"], {"a"}, 1 / math.log2(3), 1.0),
        (["a", "x", "b"], {"a", "b", "c"}, (1 + 0.5) / (1 + 1 / math.log2(3) + 0.5), 2 / 3),
        (["x"], {"a"}, 0.0, 0.0),
        ([], {"a"}, 0.0, 0.0),
        ([str(n) for n in range(10)], {str(n) for n in range(12)}, 1.0, 10 / 12),
    ],
)
def test_measures(demo: ModuleType, ranking, relevant, ndcg: float, recall: float) -> None:
    assert demo.ndcg(ranking, relevant) == pytest.approx(ndcg)
    assert demo.recall(ranking, relevant) == pytest.approx(recall)

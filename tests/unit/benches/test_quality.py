"""The measures of benches/quality against hand-worked figures, and its reader of corpora."""

from __future__ import annotations

import json
import math

import pytest
from benches.quality.corpora import Judged
from benches.quality.measures import mean, ndcg, recall, reciprocal_rank
from benches.quality.methods import Figure
from benches.quality.page import page, table


def test_ndcg_discounts_by_rank_and_is_one_for_the_best_ranking():
    assert ndcg(["a", "b", "x"], {"a", "b"}, 10) == 1.0
    assert ndcg(["x", "a"], {"a"}, 10) == pytest.approx(1 / math.log2(3))
    ideal = 1 + 1 / math.log2(3)
    assert ndcg(["a", "x", "y", "b"], {"a", "b"}, 10) == pytest.approx((1 + 1 / math.log2(5)) / ideal)
    assert ndcg(["x"] * 10 + ["a"], {"a"}, 10) == 0.0


def test_more_relevant_documents_than_the_depth_can_still_score_one():
    names = [str(number) for number in range(20)]
    assert ndcg(names[:10], set(names), 10) == pytest.approx(1.0)


def test_recall_and_reciprocal_rank_stop_at_the_depth():
    ranking = ["x", "a", "y", "b"]
    assert recall(ranking, {"a", "b", "c"}, 3) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking, {"b", "a"}, 10) == 0.5
    assert reciprocal_rank(ranking, {"b"}, 3) == 0.0
    assert mean([0.0, 1.0, 0.5]) == 0.5


def test_a_corpus_keeps_judged_questions_only_and_joins_title_and_text(tmp_path):
    entries = [{"_id": "1", "title": "T", "text": "one"}, {"_id": "2", "title": "", "text": ""}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    questions = [{"_id": "q", "text": "which?"}, {"_id": "r", "text": "unjudged"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\nr\t2\t0\n", "utf-8")
    corpus = Judged.load(tmp_path)
    assert corpus.documents == {"1": "T one", "2": ""}
    assert corpus.queries == {"q": "which?"}
    assert corpus.relevant == {"q": {"1"}}
    figures = [Figure("dense", {"nDCG": 0.5, "Recall": 1.0, "MRR": 0.25})]
    assert table(figures).splitlines()[-1] == "| dense |   0.50000 |   1.00000 |   0.25000 |"
    assert "2 documents, 1 questions, 1 judgements" in page([(corpus, figures)])

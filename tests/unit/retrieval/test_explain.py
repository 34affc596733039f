"""The record of a query, as a table and as data."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from ragstone.models import ScoreScale
from ragstone.options import RetrievalOptions
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from support.retrieval import ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit

BM25 = ScoreScale.BM25


async def explained(options=None, *, dense=None, keyword=None):
    dense = (
        [hit("handbook#3", 0.81, text="Parents get 16 weeks of paid leave."), hit("b", 0.5)] if dense is None else dense
    )
    keyword = [hit("handbook#3", 7.5, BM25), hit("c", 2.0, BM25)] if keyword is None else keyword
    searching = Retriever(
        RetrievalParts(
            store=ScriptedStore(dense), keyword_index=ScriptedKeywordIndex(keyword), embedder=TableEmbedder({})
        )
    )
    return (
        await searching.retrieve(
            "how long is parental leave?", options or RetrievalOptions(use_hybrid_search=True, top_k=2)
        )
    ).explain()


async def test_the_table_says_why_each_came_and_why_the_others_did_not():
    text = str(await explained())
    assert "2 of 3 candidates" in text
    assert "handbook#3" in text
    assert "dense rank 1 (0.81 similarity) gives 0.01639; bm25 rank 1 (7.5 bm25) gives" in text
    assert "Parents get 16 weeks of paid leave." in text
    assert "cut, rank 3 is beyond top_k 2" in text
    assert "Arm bm25: 2 hits of 50 asked for" in text
    assert "Time: cut" in text


async def test_the_table_fits_eighty_columns_whatever_the_texts_are():
    dense = [hit(f"folder/{'x' * 20}/document#{i}", 1 - i / 100, text="word " * 200) for i in range(30)]
    text = str(await explained(RetrievalOptions(use_mmr=True, top_k=4, max_context_tokens=300), dense=dense))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "more (to_dict() has all)" in text


async def test_an_empty_page_says_so():
    text = str(await explained(dense=[], keyword=[]))
    assert "No results." in text
    assert "nothing more was eligible" in text


async def test_of_tells_what_became_of_one_chunk():
    explanation = await explained()
    assert explanation.of("handbook", 3).startswith("handbook#3 came back at place 1: dense rank 1")
    assert explanation.of("c", 0) == "c#0 was dropped by cut: rank 3 is beyond top_k 2"
    assert "found by no arm (dense looked 50 deep, bm25 looked 50 deep)" in explanation.of("nowhere", 0)


async def test_the_data_is_json_and_has_everything():
    dense = [hit("a", 0.9, year=2024, at=datetime(2025, 1, 2, tzinfo=UTC), ok=True)]
    data = (await explained(RetrievalOptions(use_mmr=True), dense=dense, keyword=[])).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    (result,) = data["results"]
    assert result["metadata"] == {"year": 2024, "at": "2025-01-02T00:00:00+00:00", "ok": True}
    assert [e["kind"] for e in result["evidence"]] == ["arm", "mmr"]
    assert data["arms"][0]["status"] == "ok"
    assert data["path"] == "dense"

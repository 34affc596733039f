"""No call costs more than its plan says, whatever takes part in it; and no less where nothing is left to chance."""

from __future__ import annotations

import asyncio
import itertools
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragstone as rs
from ragstone.models import WebResult
from ragstone.testing import HashEmbedder, HashSparseEncoder, ScriptedReranker, ScriptedWebSearch
from support.retrieval import PlainDecorator
from support.techniques import HYDE, MULTI_QUERY, SUFFICIENT, TEXTS, chat_of

PAGES = [
    WebResult(url=f"https://example.org/{n}", title="", text=f"page {n}. It has a second sentence.") for n in range(9)
]

QUERY = "the tower is high and also narrow"
"""A multi-hop query, so that adaptive retrieval does what its plan takes for granted."""

PARTS = {
    "hyde": rs.HydeOptions(hypothesis_count=2, prompt_template=HYDE),
    "multi_query": rs.MultiQueryOptions(variant_count=2, prompt_template=MULTI_QUERY),
    "deep_research": rs.DeepResearchOptions(max_depth=2, sub_query_count=2, sufficiency_prompt=SUFFICIENT),
    "parents": rs.ParentDocumentOptions(),
    "time_weighting": rs.TimeWeightedOptions(),
    "tag_retrieval": rs.TagRetrievalOptions(min_score=-1.0),
    "caching": rs.CachingOptions(),
    "guards": [rs.RequiredRolesGuard(["staff"], open_without_key=True)],
}
COMPRESSION = [
    None,
    rs.CompressionOptions(keep_top_sentences=1, in_retrieval=True),
    rs.CompressionOptions(strategy="abstractive", keep_top_sentences=1, in_retrieval=True),
]
parts = st.fixed_dictionaries(
    {
        name: st.sampled_from([None, value]) if name != "guards" else st.sampled_from([(), value])
        for name, value in PARTS.items()
    }
    | {"compression": st.sampled_from(COMPRESSION)}
)
options = st.fixed_dictionaries(
    {
        "top_k": st.integers(1, 2),
        "use_adaptive_retrieval": st.booleans(),
        "use_crag": st.booleans(),
        "crag_score_threshold": st.sampled_from([0.0, 1.0]),
        "crag_fallback_mode": st.sampled_from(["replace", "append"]),
        "use_hybrid_search": st.booleans(),
        "use_mmr": st.booleans(),
        "use_redundancy_filter": st.booleans(),
        "use_reranking": st.booleans(),
        "use_lost_in_the_middle_reordering": st.booleans(),
        "max_context_tokens": st.sampled_from([None, 60]),
        "ensemble_options": st.sampled_from([None, rs.EnsembleOptions(dense_weight=0.0)]),
        "filter": st.sampled_from([None, lambda result: True]),
    }
)


def scripted():
    numbers = itertools.count()

    def verdict(_):
        return json.dumps({"sufficient": False, "subQueries": [f"what else is {next(numbers)}" for _ in range(2)]})

    return chat_of(
        hyde="The tower is ninety metres high.",
        multi_query=lambda prompt: "\n".join(f"tower {n} of {prompt}" for n in range(2)),
        verdict=verdict,
        adaptive="multi_hop",
        crag="irrelevant",
        abstract="short",
        answer="ok",
    )


async def built(parts, *, opaque):
    chat, embedder = scripted(), HashEmbedder(512)
    reranker, web = ScriptedReranker(), ScriptedWebSearch(PAGES)
    inner = rs.stores.InMemoryVectorStore()
    rag = rs.RagPipeline(
        embedder=embedder,
        store=PlainDecorator(inner) if opaque else inner,
        sparse_encoder=None if opaque else HashSparseEncoder(),
        chat=chat,
        reranker=reranker,
        web_search=web,
        **parts,
    )
    for name, text in TEXTS.items():
        metadata = rs.DocumentMetadata(
            document_id=name, tags={"subject": name}, updated_at=datetime(2025, 1, 1, tzinfo=UTC)
        )
        await rag.ingest_text(f"{text} There is one more sentence.", metadata)
    for part in (chat, embedder, reranker, web):
        part.requests.clear()
    return rag, chat, embedder, reranker, web


@pytest.mark.row("F3")
@given(parts=parts, options=options, opaque=st.booleans(), asking=st.booleans())
def test_no_call_costs_more_than_its_plan_says(parts, options, opaque, asking):
    async def compared():
        rag, chat, embedder, reranker, web = await built(parts, opaque=opaque)
        chosen = (rs.RagOptions if asking else rs.RetrievalOptions)(**options)
        plan = rag.plan(chosen)
        assert not chat.calls
        assert not embedder.calls
        page = (await rag.ask(QUERY, chosen)).page if asking else await rag.retrieve(QUERY, chosen)
        spent = {
            "llm_calls": chat.calls,
            "embedding_calls": embedder.calls,
            "rerank_calls": reranker.calls,
            "web_searches": web.calls,
        }
        planned = {name: getattr(plan, name) for name in spent}
        assert [stage.name for stage in plan.stages if stage.name not in ("ask", "cache")] == [
            name for name in page.timings if name != "cache"
        ]
        assert all(spent[name] <= planned[name] for name in spent), (spent, planned, str(plan))
        exact = {"rerank_calls"}
        if options["crag_score_threshold"] == 1.0:
            exact.add("web_searches")
        compression = parts["compression"]
        if not (
            options["use_adaptive_retrieval"]  # words decided
            or parts["tag_retrieval"]  # the filter leaves fewer candidates
            or (compression and compression.strategy == "abstractive")  # or the budget, or a filter
        ):
            exact.add("llm_calls")
        assert {name: spent[name] for name in exact} == {name: planned[name] for name in exact}

    asyncio.run(compared())

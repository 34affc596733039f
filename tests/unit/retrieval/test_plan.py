"""What a call will cost, told before it runs and compared with what it then costs."""

from __future__ import annotations

import json

import pytest

import ragstone as rs
from ragstone.errors import CapabilityError, ConfigurationError
from ragstone.retrieval.planning import Cost, plan_stages
from ragstone.testing import HashEmbedder
from support.techniques import HYDE, MULTI_QUERY, SUFFICIENT, chat_of, pipeline

VARIANTS = ["height of the tower", "how high", "metres"]


def verdicts():
    numbers = iter(range(1000))
    return lambda _: json.dumps({"sufficient": False, "subQueries": [f"part {next(numbers)}" for _ in range(2)]})


def variants_of(prompt):
    return "\n".join(f"{text} {prompt}" for text in VARIANTS)


PARTS = {
    "hyde": rs.HydeOptions(hypothesis_count=2, prompt_template=HYDE),
    "multi_query": rs.MultiQueryOptions(variant_count=3, prompt_template=MULTI_QUERY),
    "deep_research": rs.DeepResearchOptions(max_depth=2, sub_query_count=2, sufficiency_prompt=SUFFICIENT),
}
OPTIONS = {
    "plain": rs.RetrievalOptions(),
    "hybrid": rs.RetrievalOptions(use_hybrid_search=True),
    "keywords only": rs.RetrievalOptions(use_hybrid_search=True, ensemble_options=rs.EnsembleOptions(dense_weight=0)),
    "mmr": rs.RetrievalOptions(top_k=2, use_mmr=True, use_redundancy_filter=True),
    "finished": rs.RetrievalOptions(max_context_tokens=500, use_lost_in_the_middle_reordering=True),
    "filtered": rs.RetrievalOptions(filter=lambda _: True),
}


class OpaqueStore:
    """A store that does not give back its vectors."""

    def __init__(self):
        self._inner = rs.stores.InMemoryVectorStore()
        self.initialize, self.store = self._inner.initialize, self._inner.store
        self.search, self.delete_by_document_id = self._inner.search, self._inner.delete_by_document_id


@pytest.mark.row("F3")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize(
    "techniques",
    [(), ("hyde",), ("multi_query",), ("hyde", "multi_query"), ("deep_research",), tuple(PARTS)],
    ids="+".join,
)
async def test_a_call_costs_what_its_plan_says(techniques, opaque, options):
    embedder = HashEmbedder(512)
    chat = chat_of(hyde=lambda prompt: prompt, multi_query=variants_of, verdict=verdicts())
    rag = await pipeline(
        embedder=embedder,
        chat=chat,
        store=OpaqueStore() if opaque else None,
        **{name: PARTS[name] for name in techniques},
    )
    plan = rag.plan(options)
    assert (chat.calls, embedder.calls) == (0, 0)
    page = await rag.retrieve("tower", options)
    assert [stage.name for stage in plan.stages] == list(page.timings)
    assert (plan.llm_calls, plan.rerank_calls, plan.web_searches) == (chat.calls, 0, 0)
    assert list(plan.arms) == list(dict.fromkeys(arm.arm for arm in page.arms))
    assert plan.stages[-1].queries * len(plan.arms) == len(page.arms)
    assert plan.path == page.path
    if opaque and "deep_research" in techniques and options.use_mmr:
        # Sub-queries find the same chunks again, which are not embedded twice.
        assert plan.embedding_calls >= embedder.calls
    else:
        assert plan.embedding_calls == embedder.calls


@pytest.mark.row("F3")
async def test_the_table_reads_well():
    rag = await pipeline(chat=chat_of(), **PARTS)
    plan = rag.plan(
        rs.RetrievalOptions(use_hybrid_search=True, use_redundancy_filter=True, use_adaptive_retrieval=True)
    )
    assert (
        str(plan)
        == """\
stage            queries        LLM  embedding     rerank        web
adaptive               1          1
deep_research          1          2
cut                    5
redundancy             5
multi_query            5          5
hyde                  20         40         20
search                20
--------------------------------------------------------------------
at most                          48         20

searches: client (dense, bm25)
redundancy: counted is one search; a page left short is searched for again, deeper.
adaptive: shown is a multi_hop query, which costs the most."""
    )
    assert json.loads(json.dumps(plan.to_dict()))["llm_calls"] == 48
    assert plan.to_dict()["stages"][4] == {
        "name": "multi_query",
        "queries": 5,
        "llm_calls": 5,
        "embedding_calls": 0,
        "rerank_calls": 0,
        "web_searches": 0,
    }


@pytest.mark.row("F4")
async def test_adaptive_costs_a_question_only_if_there_is_a_model():
    options = rs.RetrievalOptions(use_adaptive_retrieval=True)
    assert (await pipeline()).plan(options).llm_calls == 0
    assert (await pipeline(chat=chat_of())).plan(options).llm_calls == 1


async def test_asking_adds_the_request_for_the_answer():
    rag = await pipeline(chat=chat_of())
    plan = rag.plan(rs.RagOptions())
    assert [stage.name for stage in plan.stages] == ["ask", "cut", "search"]
    assert plan.llm_calls == 1
    with pytest.raises(ConfigurationError, match="chat="):
        (await pipeline()).plan(rs.RagOptions())


async def test_what_cannot_be_done_cannot_be_planned_either():
    with pytest.raises(CapabilityError, match="use_hybrid_search"):
        rs.RagPipeline().plan(rs.RetrievalOptions(use_hybrid_search=True))
    plan = rs.RagPipeline().plan()
    assert (plan.path, plan.arms, plan.embedding_calls) == ("keyword", ("bm25",), 0)


def test_a_plan_is_to_be_had_without_an_event_loop(tmp_path):
    rag = rs.RagPipeline(embedder=HashEmbedder(), path=tmp_path / "index")
    assert rag.plan().embedding_calls == 1
    with rs.sync(rag) as r:
        assert r.plan() == rag.plan()


class Reranking:
    def cost(self, depth, inner):
        return Cost(rerank_calls=1, llm_calls=depth) + inner(3 * depth)


class Asking:
    def cost(self, depth, inner):
        return Cost(web_searches=2, embeds_query=True) + inner(depth).times(3)


def test_costs_multiply_with_the_texts_and_grow_with_the_depth():
    stages = plan_stages([("ask", Asking()), ("rerank", Reranking()), ("again", Reranking())], 5, embeds_query=True)
    assert [(s.name, s.queries, s.llm_calls, s.rerank_calls, s.web_searches, s.embedding_calls) for s in stages] == [
        ("ask", 1, 0, 0, 2, 0),
        ("rerank", 3, 15, 3, 0, 0),
        ("again", 3, 45, 3, 0, 0),
        ("search", 3, 0, 0, 0, 3),
    ]


def test_the_querys_embedding_is_paid_for_once_by_who_needs_it():
    stages = plan_stages([("a", Asking()), ("b", Asking())], 5, embeds_query=False)
    assert [(stage.name, stage.embedding_calls) for stage in stages] == [("a", 1), ("b", 2), ("search", 0)]

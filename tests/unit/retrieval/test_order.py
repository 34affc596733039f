"""The order of the stages, told by the record of calls that switch on everything there is."""

from __future__ import annotations

import itertools
import json

import pytest

import ragstone as rs
from ragstone.specifications import MinScoreSpec
from ragstone.testing import ScriptedReranker, ScriptedWebSearch
from support.techniques import HYDE, MULTI_QUERY, SUFFICIENT, chat_of, pipeline

ORDER = [
    "adaptive",
    "tags",
    "time_weighting",
    "reorder",
    "budget",
    "compression",
    "deep_research",
    "cache",
    "cut",
    "mmr",
    "redundancy",
    "parents",
    "rerank",
    "guards",
    "crag",
    "multi_query",
    "hyde",
    "filter",
    "search",
]
"""Outermost first, where deep research takes part: what makes a page of a ranking then stands around it."""

SWITCHES = {
    "adaptive": {"use_adaptive_retrieval": True},
    "reorder": {"use_lost_in_the_middle_reordering": True},
    "budget": {"max_context_tokens": 500},
    "mmr": {"use_mmr": True},
    "redundancy": {"use_redundancy_filter": True},
    "crag": {"use_crag": True, "crag_score_threshold": 0.0},
    "filter": {"filter": MinScoreSpec(-1.0)},
}
PARTS = {
    "tags": {"tag_retrieval": rs.TagRetrievalOptions()},
    "time_weighting": {"time_weighting": rs.TimeWeightedOptions()},
    "deep_research": {"deep_research": rs.DeepResearchOptions(sufficiency_prompt=SUFFICIENT)},
    "cache": {"caching": rs.CachingOptions()},
    "compression": {"compression": rs.CompressionOptions(keep_top_sentences=1, in_retrieval=True)},
    "rerank": {"reranker": ScriptedReranker()},
    "guards": {"guards": [rs.RequiredRolesGuard(["staff"], open_without_key=True)]},
    "crag": {"web_search": ScriptedWebSearch()},
    "parents": {"parents": rs.ParentDocumentOptions()},
    "multi_query": {"multi_query": rs.MultiQueryOptions(prompt_template=MULTI_QUERY)},
    "hyde": {"hyde": rs.HydeOptions(prompt_template=HYDE)},
}
ALWAYS = {"cut", "search"}
QUERY = "why is the tower high and also narrow"
"""A multi-hop query, for which adaptive retrieval leaves everything on."""


async def everything(stages):
    chat = chat_of(
        verdict=json.dumps({"sufficient": True}),
        multi_query="the tower",
        hyde="The tower is ninety metres high.",
        crag="relevant",
    )
    parts = {key: value for name, on in PARTS.items() if name in stages for key, value in on.items()}
    switches = {key: value for name, on in SWITCHES.items() if name in stages for key, value in on.items()}
    return await pipeline(chat=chat, **parts), rs.RetrievalOptions(**switches)


def in_order(stages):
    """The stages as they should stand; without deep research a whole page is remembered."""
    order = list(ORDER)
    if "deep_research" not in stages:
        order.remove("cache")
        order.insert(order.index("reorder"), "cache")
    return [name for name in order if name in stages]


@pytest.mark.row("F10")
@pytest.mark.row("G9")
async def test_the_order_of_all_stages():
    rag, options = await everything(ORDER)
    page = await rag.retrieve(QUERY, options)
    assert list(page.timings) == ORDER
    assert [stage.name for stage in rag.plan(options).stages] == ORDER
    assert set(ORDER) == {*SWITCHES, *PARTS, *ALWAYS}


@pytest.mark.row("F10")
@pytest.mark.row("G9")
@pytest.mark.parametrize(
    "pair", list(itertools.combinations([name for name in ORDER if name not in ALWAYS], 2)), ids="+".join
)
async def test_the_order_of_any_two_stages_is_the_same_and_no_other_exists(pair):
    rag, options = await everything(pair)
    page = await rag.retrieve(QUERY, options)
    assert list(page.timings) == in_order({*pair, *ALWAYS})
    assert not page.warnings

"""The order of the stages, told by the record of calls that switch on everything there is."""

from __future__ import annotations

import itertools
import json

import pytest

import ragstone as rs
from support.techniques import HYDE, MULTI_QUERY, SUFFICIENT, chat_of, pipeline

ORDER = [
    "adaptive",
    "reorder",
    "budget",
    "deep_research",
    "cut",
    "mmr",
    "redundancy",
    "multi_query",
    "hyde",
    "filter",
    "search",
]
"""Outermost first."""

SWITCHES = {
    "adaptive": {"use_adaptive_retrieval": True},
    "reorder": {"use_lost_in_the_middle_reordering": True},
    "budget": {"max_context_tokens": 500},
    "mmr": {"use_mmr": True},
    "redundancy": {"use_redundancy_filter": True},
    "filter": {"filter": lambda _: True},
}
PARTS = {
    "deep_research": rs.DeepResearchOptions(sufficiency_prompt=SUFFICIENT),
    "multi_query": rs.MultiQueryOptions(prompt_template=MULTI_QUERY),
    "hyde": rs.HydeOptions(prompt_template=HYDE),
}
ALWAYS = {"cut", "search"}
QUERY = "why is the tower high and also narrow"
"""A multi-hop query, for which adaptive retrieval leaves everything on."""


async def everything(stages):
    chat = chat_of(
        verdict=json.dumps({"sufficient": True}), multi_query="the tower", hyde="The tower is ninety metres high."
    )
    rag = await pipeline(chat=chat, **{name: part for name, part in PARTS.items() if name in stages})
    switches = {key: value for name, on in SWITCHES.items() if name in stages for key, value in on.items()}
    return rag, rs.RetrievalOptions(**switches)


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
    assert list(page.timings) == [name for name in ORDER if name in (*pair, *ALWAYS)]
    assert not page.warnings

"""Deep research: sub-queries until the page suffices."""

from __future__ import annotations

import json
import logging

import pytest

import ragstone as rs
from ragstone.errors import ChatError, ConfigurationError, StoreError
from ragstone.models import RankingEvidence, ScoreScale
from ragstone.retrieval.candidate import Candidates, Query
from ragstone.retrieval.deep_research import DeepResearch
from ragstone.testing import ScriptedChat
from support.techniques import SECRET, SUFFICIENT, TEXTS, FailsOn, chat_of, names, pipeline, prompts

OPTIONS = rs.DeepResearchOptions(sufficiency_prompt=SUFFICIENT)
QUERY = "paid leave"
ENOUGH = '{"sufficient": true, "subQueries": []}'


def needs(*queries):
    return json.dumps({"sufficient": False, "subQueries": list(queries)})


async def researched(replies, query=QUERY, *, options=OPTIONS, call=None, **parts):
    chat = ScriptedChat(replies)
    rag = await pipeline(chat=chat, deep_research=options, **parts)
    return await rag.retrieve(query, call or rs.RetrievalOptions()), chat


def rankings(hit):
    return [(e.kind, e.name, e.rank) for e in hit.evidence if isinstance(e, RankingEvidence)]


@pytest.mark.row("F7")
async def test_a_page_that_suffices_is_passed_through_untouched():
    page, chat = await researched([ENOUGH])
    rag = await pipeline()
    plain = await rag.retrieve(QUERY)
    assert page.results == plain.results
    assert page.dropped == plain.dropped
    assert (page.exhausted, dict(page.notes), page.warnings) == (plain.exhausted, {}, ())
    assert chat.calls == 1
    assert list(page.timings) == ["deep_research", "cut", "search"]


@pytest.mark.row("F7")
async def test_the_model_reads_the_query_and_the_numbered_sources():
    _, chat = await researched([ENOUGH], call=rs.RetrievalOptions(top_k=2))
    (prompt,) = prompts(chat)
    assert prompt.startswith(f"VERDICT {QUERY}\n[Source 1]\n{TEXTS['leave']}\n\n[Source 2]\n")
    assert "[Source 3]" not in prompt


@pytest.mark.row("F7")
async def test_sub_queries_are_searched_and_merged_by_reciprocal_ranks():
    page, chat = await researched([needs("lost laptop", "canteen lunch"), ENOUGH], call=rs.RetrievalOptions(top_k=3))
    assert chat.calls == 2
    assert set(names(page)) == {"leave", "laptop", "lunch"}
    assert ("sub_query", "lost laptop", 1) in rankings(page[names(page).index("laptop")])
    for hit in page:
        assert hit.score_scale is ScoreScale.RRF
        total = 0.0
        for evidence in hit.evidence:
            if isinstance(evidence, RankingEvidence):
                total += evidence.contribution
        assert total == hit.score
    assert page.notes["deep_research"] == "searched for 2 sub-queries"
    assert {arm.query for arm in page.arms} == {None, "lost laptop", "canteen lunch"}


@pytest.mark.row("F7")
async def test_consensus_of_the_sub_queries_can_outrank_the_querys_best():
    page, _ = await researched(
        [needs("tower metres", "ninety metres high"), ENOUGH], "canteen tower", call=rs.RetrievalOptions(top_k=6)
    )
    assert names(page)[0] == "tower"
    assert len(rankings(page[0])) == 3


@pytest.mark.row("F7")
@pytest.mark.parametrize("top_k", [1, 2, 5])
async def test_the_page_is_capped_at_top_k_and_what_is_beyond_has_a_reason(top_k):
    page, _ = await researched([needs("laptop", "lunch", "tower"), ENOUGH], call=rs.RetrievalOptions(top_k=top_k))
    assert len(page) == top_k
    assert not page.exhausted
    keys = {hit.chunk.key for hit in page}
    assert not keys & {dropped.result.chunk.key for dropped in page.dropped}
    if top_k == 1:
        assert ("deep_research", "rank 2 is beyond top_k 1") in [
            (dropped.drop.stage, dropped.drop.reason) for dropped in page.dropped
        ]


@pytest.mark.row("F7")
async def test_rounds_and_sub_queries_are_bounded():
    numbers = iter(range(100))
    chat = chat_of(verdict=lambda _: needs(*(f"sub query {next(numbers)}" for _ in range(5))))
    rag = await pipeline(
        chat=chat,
        deep_research=rs.DeepResearchOptions(max_depth=2, sub_query_count=3, sufficiency_prompt=SUFFICIENT),
    )
    page = await rag.retrieve(QUERY)
    assert chat.calls == 2
    assert page.notes["deep_research"] == "searched for 6 sub-queries"
    assert len(page.arms) == 7
    plan = rag.plan()
    assert (plan.llm_calls, plan.stages[-1].queries) == (2, 7)


@pytest.mark.row("F7")
async def test_a_sub_query_that_was_asked_before_is_not_asked_again():
    replies = [needs("PAID  leave", "tower", "Tower"), needs("tower", "paid leave"), ENOUGH]
    page, chat = await researched(replies)
    assert chat.calls == 2
    assert [arm.query for arm in page.arms] == [None, "tower"]
    only, chat = await researched([needs("Paid Leave", ""), ENOUGH])
    assert chat.calls == 1
    assert only[0].score_scale is ScoreScale.SIMILARITY


@pytest.mark.row("F7")
async def test_the_next_round_sees_what_was_found_in_the_last():
    _, chat = await researched([needs("the tower is ninety metres high"), ENOUGH], call=rs.RetrievalOptions(top_k=2))
    assert TEXTS["tower"] not in prompts(chat)[0]
    assert TEXTS["tower"] in prompts(chat)[1]
    assert prompts(chat)[1].count("[Source ") == 2


@pytest.mark.row("F7")
@pytest.mark.parametrize(
    ("reply", "searched"),
    [
        pytest.param(
            '```json\n{"sufficient": false, "subQueries": ["a [1]", "b"]}\n```\nSee [docs].', ["a [1]", "b"],
            marks=pytest.mark.case("S-048"),
        ),
        pytest.param(
            'Sure: {"sufficient": true, "subQueries": []} Note [1].', [], marks=pytest.mark.case("S-048")
        ),
        pytest.param(
            '{"sufficient": false, "subQueries": ["use ```json fences"]}', ["use ```json fences"],
            marks=pytest.mark.case("S-048"),
        ),
        pytest.param(
            'Use `x` {not json} then {"sufficient": false, "subQueries": ["what is `}`?", "", "  ", 7, null]}',
            ["what is `}`?"],
            marks=pytest.mark.case("S-085"),
        ),
    ],
)  # fmt: skip
async def test_the_answer_is_read_however_it_is_wrapped(reply, searched):
    page, _ = await researched([reply, ENOUGH])
    assert [arm.query for arm in page.arms][1:] == searched
    assert not page.warnings


@pytest.mark.row("F7")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('{"sufficient": "false", "subQueries": ["q"]}', marks=pytest.mark.case("S-085")),
        pytest.param("[]", marks=pytest.mark.case("S-085")),
        pytest.param('{"sufficient": false', marks=pytest.mark.case("S-085")),
        '{"sufficient": false}',
        '{"sufficient": false, "subQueries": "q"}',
        '{"subQueries": ["q"]}',
        '{"sufficient": 0, "subQueries": ["q"]}',
        "I think it is enough.",
        "",
        ChatError("overloaded"),
        OSError(SECRET),
    ],
)
async def test_without_a_verdict_the_page_is_taken_to_suffice(reply, caplog):
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page, chat = await researched([reply, ENOUGH])
    plain = await (await pipeline()).retrieve(QUERY)
    assert page.results == plain.results
    assert chat.calls == 1
    (warning,) = page.warnings
    assert "gave no verdict" in warning
    assert "deep_research_verdict_failed" in caplog.text
    assert SECRET not in caplog.text + warning


@pytest.mark.row("F7")
async def test_a_verdict_that_fails_later_keeps_what_was_found():
    page, chat = await researched([needs("lost laptop"), ChatError("overloaded")])
    assert chat.calls == 2
    assert {"leave", "laptop"} <= set(names(page))
    assert page[0].score_scale is ScoreScale.RRF
    assert len(page.warnings) == 1


@pytest.mark.row("F7")
async def test_a_sub_query_that_fails_is_left_out(caplog):
    index = FailsOn("laptop", StoreError("the index is away"))
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page, _ = await researched([needs("laptop", "canteen"), ENOUGH], embedder=None, keyword_index=index)
    assert names(page) == ["leave", "lunch"]
    assert page.warnings == ("the search for a sub-query failed and was left out: StoreError: the index is away",)
    assert not page.exhausted
    assert "sub_query_failed" in caplog.text
    alone, _ = await researched([needs("laptop"), ENOUGH], embedder=None, keyword_index=index)
    assert [(hit.chunk.document_id, hit.score_scale) for hit in alone] == [("leave", ScoreScale.BM25)]


@pytest.mark.row("F7")
async def test_when_the_first_search_fails_the_error_is_the_calls_and_the_model_is_not_asked():
    chat = chat_of()
    index = FailsOn(QUERY, StoreError("the index is away"))
    rag = await pipeline(embedder=None, keyword_index=index, chat=chat, deep_research=OPTIONS)
    with pytest.raises(StoreError, match="away"):
        await rag.retrieve(QUERY)
    assert chat.calls == 0


@pytest.mark.row("F7")
async def test_a_fault_of_the_set_up_is_not_papered_over():
    index = FailsOn("laptop", ConfigurationError("no such field"))
    with pytest.raises(ConfigurationError, match="no such field"):
        await researched([needs("laptop"), ENOUGH], embedder=None, keyword_index=index)


@pytest.mark.row("F7")
async def test_an_empty_first_page_can_still_be_filled():
    page, chat = await researched([needs("canteen"), ENOUGH], "xylophone", embedder=None)
    assert "(none)" in prompts(chat)[0]
    assert names(page) == ["lunch"]
    assert rankings(page[0]) == [("sub_query", "canteen", 1)]


@pytest.mark.row("F7")
async def test_the_budget_and_the_order_of_reading_hold_for_the_merged_page():
    call = rs.RetrievalOptions(top_k=6, max_context_tokens=40, use_lost_in_the_middle_reordering=True)
    page, _ = await researched([needs("lost laptop", "canteen lunch", "tower"), ENOUGH], call=call)
    assert sum(rs.count_tokens(hit.chunk.text) for hit in page) <= 40
    assert list(page.timings)[:3] == ["reorder", "budget", "deep_research"]
    ranked, _ = await researched(
        [needs("lost laptop", "canteen lunch", "tower"), ENOUGH], call=rs.RetrievalOptions(top_k=6)
    )
    best = names(ranked)[: len(page)]
    assert names(page) == best[::2] + best[1::2][::-1]


@pytest.mark.row("F7")
async def test_the_default_prompt_asks_for_the_json_that_is_read():
    chat = ScriptedChat([ENOUGH])
    rag = await pipeline(chat=chat, deep_research=rs.DeepResearchOptions(sub_query_count=4))
    await rag.ingest_text("{context} and {{y}} and {query}", rs.DocumentMetadata(document_id="braces"))
    await rag.retrieve("{sources} braces {0}", rs.RetrievalOptions(top_k=7))
    (prompt,) = [request.messages[0]["content"] for request in chat.requests]
    assert '{"sufficient": true, "subQueries": []}' in prompt
    assert "at most 4 search queries" in prompt
    assert "Question: {sources} braces {0}\n" in prompt
    assert "{context} and {{y}} and {query}" in prompt


@pytest.mark.row("F7")
async def test_a_call_can_do_without():
    chat = chat_of()
    rag = await pipeline(chat=chat, deep_research=OPTIONS)
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(use_deep_research=False))
    assert (list(page.timings), chat.calls) == (["cut", "search"], 0)
    with pytest.raises(ConfigurationError, match=r"deep_research=DeepResearchOptions.*needs a chat model: give chat="):
        rs.RagPipeline(deep_research=OPTIONS)


@pytest.mark.row("F7")
async def test_a_stage_around_it_that_asks_again_pays_for_no_verdict_twice():
    chat = ScriptedChat([ENOUGH])
    research = DeepResearch(OPTIONS, chat)

    async def search(query):
        return Candidates(kept=())

    query = Query(QUERY, rs.RetrievalOptions(), 5)
    for _ in range(2):
        assert not (await research(query, search)).warnings
    assert chat.calls == 1

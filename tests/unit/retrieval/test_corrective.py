"""Corrective retrieval: how results are judged, when the web is searched, and what then comes back."""

from __future__ import annotations

import asyncio
import logging

import pytest

import ragstone as rs
from ragstone.errors import CapabilityError, ChatError, ConfigurationError
from ragstone.models import GradeEvidence, ScoreScale, WebEvidence, WebResult
from ragstone.options import RetrievalOptions
from ragstone.retrieval.grading import read_grade
from ragstone.retrieval.planning import Cost
from ragstone.retrieval.stages.corrective import CorrectiveRetrieval
from ragstone.testing import (
    FailingChat,
    FailingWebSearch,
    HashEmbedder,
    ScriptedChat,
    ScriptedReranker,
    ScriptedWebSearch,
)
from support.parts import names, searching
from support.retrieval import hit

QUERY = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
CRAG = RetrievalOptions(use_crag=True)
APPEND = RetrievalOptions(use_crag=True, crag_fallback_mode="append")


def web(*names):
    pages = [WebResult(url=f"https://{name}.example/", title=f"Title of {name}", text=f"web {name}") for name in names]
    return ScriptedWebSearch(pages)


def url(name):
    return f"https://{name}.example/"


def hits(*texts):
    return [hit(f"d{i}", 1 - i / 10, text=text) for i, text in enumerate(texts)]


def overlaps(page):
    return [item.overlap for result in page for item in result.evidence if isinstance(item, GradeEvidence)]


@pytest.mark.row("F5")
@pytest.mark.parametrize(
    ("text", "grade", "overlap"),
    [
        ("alpha, BETA and Gamma", "relevant", 0.3),
        ("alpha beta", "irrelevant", 0.2),
        ("alpha alpha alpha beta", "irrelevant", 0.2),
        ("nothing of it", "irrelevant", 0.0),
        ("alphabet betas gammas deltas", "irrelevant", 0.0),
        (QUERY, "relevant", 1.0),
    ],
)
async def test_thirty_percent_of_the_querys_terms_make_a_match(text, grade, overlap):
    page = await searching(hits(text), web_search=FailingWebSearch()).retrieve(QUERY, CRAG)
    assert [e for e in page[0].evidence if isinstance(e, GradeEvidence)] == [
        GradeEvidence(grade=grade, overlap=overlap)
    ]
    assert page.notes == {"crag_triggered": str(grade == "irrelevant").lower()}


@pytest.mark.row("F5")
async def test_repeats_in_the_query_count_once_and_chinese_is_compared_by_its_pairs():
    page = await searching(hits("b c", "a"), web_search=web("w")).retrieve("a a a a a a a b", APPEND)
    assert sorted(overlaps(page)) == [0.5, 0.5]
    chinese = await searching(hits("人工智能很好"), web_search=web("w")).retrieve("人工智能是未来", APPEND)
    assert overlaps(chinese) == [0.5]


@pytest.mark.row("F5")
@pytest.mark.parametrize(
    ("matching", "threshold", "triggered"),
    [(2, 0.5, "false"), (1, 0.5, "true"), (0, 0.5, "true"), (4, 1.0, "false"), (3, 1.0, "true"), (0, 0.0, "false")],
)
async def test_a_share_of_matching_results_below_the_threshold_starts_the_web_search(matching, threshold, triggered):
    search = web("w")
    found = hits(*["alpha beta gamma"] * matching, *["none"] * (4 - matching))
    options = RetrievalOptions(use_crag=True, crag_score_threshold=threshold)
    page = await searching(found, web_search=search).retrieve(QUERY, options)
    assert page.notes["crag_triggered"] == triggered
    assert search.calls == (triggered == "true")
    assert names(page) == ([url("w")] if triggered == "true" else ["d0", "d1", "d2", "d3"])


@pytest.mark.row("F5")
async def test_it_is_off_by_default():
    search = web("w")
    page = await searching(hits("none"), web_search=search).retrieve(QUERY, RetrievalOptions())
    assert (search.calls, dict(page.notes), names(page)) == (0, {}, ["d0"])


@pytest.mark.row("F5")
async def test_the_webs_pages_replace_the_results_as_chunks_of_their_own():
    search = web("a", "b")
    page = await searching(hits("none", "nil"), web_search=search).retrieve(QUERY, CRAG)
    assert search.requests == [(QUERY, 5)]
    first = page[0]
    assert (first.chunk.document_id, first.chunk.chunk_index, first.chunk.text) == (url("a"), 0, "web a")
    assert (first.chunk.start, first.chunk.end, first.chunk.metadata) == (0, 5, {"title": "Title of a"})
    assert [(r.score, r.score_scale) for r in page] == [(1.0, ScoreScale.BACKEND), (0.5, ScoreScale.BACKEND)]
    assert page[1].evidence == (WebEvidence(engine="ragstone.testing.ScriptedWebSearch", url=url("b"), rank=2),)
    assert {(d.drop.stage, d.drop.reason) for d in page.dropped} == {("crag", "replaced by a web search")}
    assert "found on the web at rank 1: https://a.example/" in " ".join(str(page.explain()).split())


@pytest.mark.row("F5")
async def test_appended_pages_stand_after_the_relevant_results_and_before_the_others():
    found = hits("none", "alpha beta gamma", "nil", "null", "void", "unjudged")
    page = await searching(found, web_search=web("a", "b")).retrieve(QUERY, APPEND)
    assert names(page) == ["d1", url("a"), url("b"), "d0", "d2"]
    assert [r.score_scale for r in page][:2] == [ScoreScale.SIMILARITY, ScoreScale.BACKEND]
    room = RetrievalOptions(top_k=10, use_crag=True, crag_fallback_mode="append")
    page = await searching(hits("none", "nil"), web_search=web("a")).retrieve(QUERY, room)
    assert names(page) == [url("a"), "d0", "d1"]
    assert page.exhausted


@pytest.mark.row("F5")
async def test_no_results_at_all_search_the_web():
    page = await searching([], web_search=web("a")).retrieve(QUERY, CRAG)
    assert names(page) == [url("a")]
    assert page.notes["crag_triggered"] == "true"


@pytest.mark.row("F5")
async def test_pages_without_an_address_or_a_text_and_repeats_are_passed_over():
    pages = [
        WebResult(url=url("a"), title="", text="first"),
        WebResult(url=url("a"), title="again", text="second"),
        WebResult(url="", title="", text="nowhere"),
        WebResult(url=url("b"), title="", text=" \n"),
        WebResult(url=url("c"), title="", text="third"),
    ]
    page = await searching([], web_search=ScriptedWebSearch(pages)).retrieve(QUERY, CRAG)
    assert [(r.chunk.document_id, r.chunk.text, r.chunk.metadata) for r in page] == [
        (url("a"), "first", {}),
        (url("c"), "third", {}),
    ]
    assert [r.evidence[0].rank for r in page] == [1, 5]


@pytest.mark.row("F5")
async def test_a_page_that_was_ingested_is_not_there_twice():
    found = [hit(url("a"), 0.9, text="none")]
    page = await searching(found, web_search=web("a", "b")).retrieve(QUERY, APPEND)
    assert [(r.chunk.document_id, r.chunk.text) for r in page] == [(url("b"), "web b"), (url("a"), "none")]
    assert [(d.result.chunk.text, d.drop.reason) for d in page.dropped] == [("web a", "is among the results already")]


@pytest.mark.row("F5")
@pytest.mark.parametrize("mode", ["replace", "append"])
async def test_a_web_search_that_fails_leaves_the_results_with_a_warning(mode, caplog):
    options = RetrievalOptions(use_crag=True, crag_fallback_mode=mode)
    failing = FailingWebSearch()
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching(hits("none", "nil"), web_search=failing).retrieve(QUERY, options)
    assert [(r.chunk.document_id, r.score) for r in page] == [("d0", 1.0), ("d1", 0.9)]
    assert page.notes["crag_triggered"] == "true"
    (warning,) = page.warnings
    assert warning.startswith("the web search failed and the results stay as they were: WebSearchError: ")
    assert "crag_web_search_failed" in caplog.text
    assert QUERY not in caplog.text


@pytest.mark.row("F5")
@pytest.mark.parametrize("answer", [None, 7, ["page"]])
async def test_an_answer_that_is_none_is_a_failure(answer):
    class Nonsense(ScriptedWebSearch):
        async def search(self, query, *, max_results):
            return answer

    page = await searching(hits("none"), web_search=Nonsense()).retrieve(QUERY, CRAG)
    assert names(page) == ["d0"]
    assert page.warnings[0].startswith("the web search failed and the results stay as they were: ")


@pytest.mark.row("F5")
@pytest.mark.parametrize("mode", ["replace", "append"])
async def test_a_web_search_that_finds_nothing_leaves_the_results_with_a_warning(mode):
    options = RetrievalOptions(use_crag=True, crag_fallback_mode=mode)
    page = await searching(hits("none"), web_search=web()).retrieve(QUERY, options)
    assert names(page) == ["d0"]
    assert page.warnings == ("the web search found nothing and the results stay as they were",)


@pytest.mark.row("F5")
async def test_without_a_web_search_the_call_is_refused():
    with pytest.raises(CapabilityError, match="use_crag=True needs a web search: give the pipeline web_search="):
        await searching(hits("none")).retrieve(QUERY, CRAG)


@pytest.mark.case("S-047")
@pytest.mark.row("F5")
async def test_the_models_verdict_is_read_by_whole_words_and_the_threshold_is_strict():
    replies = ["Relevant.", "irrelevant", "Irrelevant - off topic", "**relevant**\n"]
    four = await searching(hits("a", "b", "c", "d"), web_search=web("w"), chat=ScriptedChat(replies)).retrieve(
        "q", CRAG
    )
    assert four.notes["crag_triggered"] == "false"
    grades = [e.grade for r in four for e in r.evidence if isinstance(e, GradeEvidence)]
    assert grades == ["relevant", "irrelevant", "irrelevant", "relevant"]
    five = await searching(
        hits("a", "b", "c", "d", "e"), web_search=web("w"), chat=ScriptedChat([*replies, "not relevant"])
    ).retrieve("q", CRAG)
    assert five.notes["crag_triggered"] == "true"
    assert names(five) == [url("w")]


@pytest.mark.case("S-047")
@pytest.mark.row("F5")
@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("relevant", "relevant"),
        ("RELEVANT", "relevant"),
        ("Verdict: `relevant`", "relevant"),
        ("It's relevant, not irrelevant.", "relevant"),
        ("irrelevant", "irrelevant"),
        ("Not relevant", "irrelevant"),
        ("not very relevant", "irrelevant"),
        ("This isn't relevant", "irrelevant"),
        ("This isn’t really relevant", "irrelevant"),
        ("There is no relevant passage", "irrelevant"),
        ("It cannot be relevant", "irrelevant"),
        ("ambiguous", "ambiguous"),
        ("Ambiguous: it may be relevant", "ambiguous"),
        ("", "ambiguous"),
        ("yes", "ambiguous"),
        ("the relevance is high", "ambiguous"),
        ("irrelevantly", "ambiguous"),
    ],
)
def test_reading_a_verdict(answer, grade):
    assert read_grade(answer) == grade


@pytest.mark.row("F5")
async def test_each_chunk_is_one_call_at_temperature_zero_that_holds_query_and_text_byte_for_byte():
    query, text = 'what is {text} in f"{x!r}"?', "chunk with {query} and `ticks`"
    chat = ScriptedChat("relevant")
    await searching(hits(text, "other"), web_search=web(), chat=chat).retrieve(query, CRAG)
    assert chat.calls == 2
    ((message,), temperature) = chat.requests[0]
    assert (message["role"], temperature) == ("user", 0.0)
    assert message["content"].endswith(f"Question: {query}\n\nPassage:\n{text}")


@pytest.mark.row("F5")
async def test_at_most_four_chunks_are_judged_at_once():
    class Counting(ScriptedChat):
        running = most = 0

        async def complete(self, messages, *, temperature=None):
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.005)
            self.running -= 1
            return await super().complete(messages, temperature=temperature)

    chat = Counting("relevant")
    options = RetrievalOptions(top_k=9, use_crag=True)
    await searching(hits(*"abcdefghij"), web_search=web(), chat=chat).retrieve("q", options)
    assert (chat.calls, chat.most) == (9, 4)


@pytest.mark.row("F5")
async def test_where_the_model_fails_words_decide_with_a_warning(caplog):
    chat = ScriptedChat(["irrelevant", ChatError("overloaded"), OSError("the text of a chunk"), "relevant"])
    found = hits("alpha beta gamma", "alpha beta gamma", "nothing", "nothing")
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching(found, web_search=web("w"), chat=chat).retrieve(QUERY, CRAG)
    grades = [e for r in page for e in r.evidence if isinstance(e, GradeEvidence)]
    assert [(g.grade, g.overlap) for g in grades] == [
        ("irrelevant", None),
        ("relevant", 0.3),
        ("irrelevant", 0.0),
        ("relevant", None),
    ]
    assert page.notes["crag_triggered"] == "false"
    assert page.warnings == ("the model could not grade 2 of 4 results: words decided",)
    assert "the text of a chunk" not in caplog.text


@pytest.mark.row("F5")
async def test_a_fault_of_the_set_up_is_not_papered_over():
    wrong = ConfigurationError("no such model")
    with pytest.raises(ConfigurationError, match="no such model"):
        await searching(hits("a", "b"), web_search=web(), chat=FailingChat(wrong)).retrieve("q", CRAG)
    with pytest.raises(ConfigurationError, match="no such model"):
        await searching(hits("a"), web_search=FailingWebSearch(wrong)).retrieve("q", CRAG)


@pytest.mark.row("F5")
async def test_stages_outside_that_ask_again_pay_nothing_twice():
    chat, search = ScriptedChat("irrelevant"), web("a", "b")
    retriever = searching(hits(*"abcdefgh"), web_search=search, chat=chat, reranker=ScriptedReranker())
    options = RetrievalOptions(use_crag=True, use_redundancy_filter=True, use_mmr=True)
    page = await retriever.retrieve("q", options)
    assert (chat.calls, search.calls) == (5, 1)
    assert set(names(page)) <= {url("a"), url("b")}


def test_the_cost_is_a_judgement_of_each_result_and_one_search():
    inner = Cost(embedding_calls=1)
    stage = CorrectiveRetrieval.of(RetrievalOptions(top_k=7, use_crag=True), web(), ScriptedChat())
    own = Cost(llm_calls=7, web_searches=1, finds_unembedded=True)
    assert stage.cost(21, lambda depth: inner) == own + inner


@pytest.mark.row("F5")
async def test_through_the_pipeline():
    rag = rs.RagPipeline(embedder=HashEmbedder(64), web_search=web("act"))
    await rag.ingest_text("Lunch is at noon.", rs.DocumentMetadata(document_id="lunch"))
    page = await rag.retrieve("latest provisions of the AI act", CRAG)
    assert [r.chunk.document_id for r in page] == [url("act")]

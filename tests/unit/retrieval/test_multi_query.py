"""Multi-query: other phrasings are searched beside the query, and merged with it."""

from __future__ import annotations

import logging

import pytest

import ragstone as rs
from ragstone.errors import ChatError, ConfigurationError, StoreError
from ragstone.models import ArmEvidence, RankingEvidence, ScoreScale
from ragstone.testing import HashEmbedder, ScriptedChat
from support.techniques import HYDE, MULTI_QUERY, SECRET, FailsOn, chat_of, names, pipeline, prompts

OPTIONS = rs.MultiQueryOptions(prompt_template=MULTI_QUERY)
QUERY = "tower height"


def rankings(hit):
    return [(e.name, e.rank) for e in hit.evidence if isinstance(e, RankingEvidence)]


@pytest.mark.row("F2")
@pytest.mark.case("S-045")
async def test_the_query_and_its_variants_are_searched_and_each_hit_names_them():
    answer = "Here are 3 variants:\n\n1. how tall is the tower?\n\n2) metres of the tower\n3: is lunch late\n"
    chat = chat_of(multi_query=answer)
    embedder = HashEmbedder(512)
    rag = await pipeline(embedder=embedder, chat=chat, multi_query=OPTIONS)
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(top_k=2))
    assert prompts(chat) == [f"VARIANTS 3 {QUERY}"]
    assert {text for request in embedder.requests for text in request.texts} == {
        QUERY, "how tall is the tower?", "metres of the tower", "is lunch late",
    }  # fmt: skip
    assert names(page)[0] == "tower"
    assert rankings(page[0])[:3] == [(QUERY, 1), ("how tall is the tower?", 1), ("metres of the tower", 1)]
    assert {e.kind for hit in page for e in hit.evidence if isinstance(e, RankingEvidence)} == {"variant"}


@pytest.mark.row("F2")
async def test_reciprocal_ranks_merge_and_the_contributions_add_up_exactly():
    rag = await pipeline(chat=chat_of(multi_query="canteen lunch\nlost laptop"), multi_query=OPTIONS)
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(top_k=6))
    assert len({hit.chunk.key for hit in page}) == len(page) == 6
    for hit in page:
        total = 0.0
        for evidence in hit.evidence:
            if isinstance(evidence, RankingEvidence):
                assert evidence.contribution == 1 / (60 + evidence.rank)
                assert evidence.scale is ScoreScale.SIMILARITY
                total += evidence.contribution
        assert total == hit.score
        assert hit.score_scale is ScoreScale.RRF
    assert [hit.score for hit in page] == sorted((hit.score for hit in page), reverse=True)


@pytest.mark.row("F2")
async def test_equal_scores_are_ordered_by_document_id():
    rag = rs.RagPipeline(chat=chat_of(multi_query="alpha"), multi_query=OPTIONS)
    for name, text in (("z", "alpha"), ("a", "beta")):
        await rag.ingest_text(text, rs.DocumentMetadata(document_id=name))
    page = await rag.retrieve("beta")
    assert [(hit.chunk.document_id, rankings(hit)) for hit in page] == [
        ("a", [("beta", 1)]),
        ("z", [("alpha", 1)]),
    ]


@pytest.mark.row("F2")
async def test_a_chunk_keeps_the_evidence_of_the_querys_own_search():
    rag = await pipeline(chat=chat_of(multi_query="the tower"), multi_query=OPTIONS)
    plain = await rag.retrieve(QUERY, rs.RetrievalOptions(use_multi_query=False))
    page = await rag.retrieve(QUERY)
    for hit in page:
        own = [e for e in hit.evidence if isinstance(e, ArmEvidence)]
        assert own in [list(other.evidence) for other in plain]


@pytest.mark.row("F2")
async def test_the_record_names_the_searches_and_merges_what_was_dropped():
    rag = await pipeline(chat=chat_of(multi_query="the tower\ncanteen"), multi_query=OPTIONS)
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(top_k=2, use_hybrid_search=True))
    assert [(arm.arm, arm.query) for arm in page.arms] == [
        ("dense", None), ("bm25", None), ("dense", "the tower"), ("bm25", "the tower"), ("dense", "canteen"),
        ("bm25", "canteen"),
    ]  # fmt: skip
    keys = [hit.chunk.key for hit in page] + [dropped.result.chunk.key for dropped in page.dropped]
    assert len(keys) == len(set(keys)) == 6
    text = " ".join(str(page.explain()).split())
    assert "in 3 searches" in text
    assert 'variant "the tower" rank 1 gives 0.01639' in text
    assert all(seconds >= 0 for seconds in page.timings.values())
    assert page.to_dict()["arms"][2]["query"] == "the tower"


@pytest.mark.row("F2")
@pytest.mark.parametrize(("top_k", "exhausted"), [(10, True), (3, False)])
async def test_a_page_is_exhausted_only_if_every_search_is(top_k, exhausted):
    rag = await pipeline(chat=chat_of(multi_query="the tower"), multi_query=OPTIONS)
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(top_k=top_k))
    assert page.exhausted is exhausted


@pytest.mark.row("F2")
@pytest.mark.parametrize("failure", [ChatError("overloaded"), OSError(SECRET), "", QUERY, "1.\n2."])
async def test_without_variants_the_query_is_searched_alone(failure, caplog):
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        rag = await pipeline(chat=chat_of(multi_query=failure), multi_query=OPTIONS)
        page = await rag.retrieve(QUERY)
    plain = await rag.retrieve(QUERY, rs.RetrievalOptions(use_multi_query=False))
    assert page.results == plain.results
    assert len(page.warnings) == 1
    assert "multi_query_failed" in caplog.text
    assert SECRET not in caplog.text + page.warnings[0]
    assert not plain.warnings


@pytest.mark.row("F2")
async def test_a_variant_whose_search_fails_is_left_out(caplog):
    chat = chat_of(multi_query="canteen\nthe tower")
    index = FailsOn("canteen", StoreError("the index is away"))
    rag = await pipeline(embedder=None, keyword_index=index, chat=chat, multi_query=OPTIONS)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await rag.retrieve(QUERY)
    assert [name for name, _ in rankings(page[0])] == [QUERY, "the tower"]
    assert page.warnings == ("the search for a variant failed and was left out: StoreError: the index is away",)
    assert not page.exhausted
    assert "variant_failed" in caplog.text
    # A stage that asks deeper until the page is full ends all the same.
    assert len(await rag.retrieve(QUERY, rs.RetrievalOptions(use_multi_query=True, filter=lambda _: False))) == 0


@pytest.mark.row("F2")
@pytest.mark.parametrize("error", [StoreError("the index is away"), OSError("broken")])
async def test_the_querys_own_search_must_not_fail(error):
    index = FailsOn(QUERY, error)
    chat = chat_of(multi_query="canteen\nthe tower")
    rag = await pipeline(embedder=None, keyword_index=index, chat=chat, multi_query=OPTIONS)
    with pytest.raises(StoreError):
        await rag.retrieve(QUERY)


@pytest.mark.row("F2")
async def test_a_fault_of_the_set_up_is_not_papered_over():
    index = FailsOn("canteen", ConfigurationError("no such field"))
    chat = chat_of(multi_query="canteen\nthe tower")
    rag = await pipeline(embedder=None, keyword_index=index, chat=chat, multi_query=OPTIONS)
    with pytest.raises(ConfigurationError, match="no such field"):
        await rag.retrieve(QUERY)


@pytest.mark.row("F2")
async def test_a_call_can_do_without_and_asking_deeper_costs_nothing_more():
    chat = chat_of(multi_query="the tower")
    rag = await pipeline(chat=chat, multi_query=OPTIONS)
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(use_multi_query=False))
    assert (list(page.timings), chat.calls) == (["cut", "search"], 0)
    await rag.retrieve(QUERY, rs.RetrievalOptions(use_redundancy_filter=True, redundancy_threshold=0.0))
    assert chat.calls == 1


@pytest.mark.row("F2")
async def test_variants_are_asked_for_without_a_temperature_of_ours():
    chat = chat_of(multi_query="the tower")
    rag = await pipeline(chat=chat, multi_query=rs.MultiQueryOptions(variant_count=5, prompt_template=MULTI_QUERY))
    await rag.retrieve("x {count} {query} `y`")
    assert prompts(chat) == ["VARIANTS 5 x {count} {query} `y`"]
    assert chat.requests[0].temperature is None


@pytest.mark.row("F2")
def test_multi_query_without_a_chat_model_is_refused_where_it_is_configured():
    with pytest.raises(ConfigurationError, match=r"multi_query=MultiQueryOptions.*needs a chat model: give chat="):
        rs.RagPipeline(multi_query=OPTIONS)


@pytest.mark.row("F3")
@pytest.mark.parametrize(("variants", "hypotheses"), [(3, 3), (1, 2), (2, 1)])
async def test_every_variant_has_hypotheses_of_its_own(variants, hypotheses):
    answer = "\n".join(f"phrasing {number} of it" for number in range(variants))
    chat = chat_of(multi_query=answer, hyde="The tower is ninety metres high")
    embedder = HashEmbedder(512)
    rag = await pipeline(
        embedder=embedder,
        chat=chat,
        multi_query=rs.MultiQueryOptions(variant_count=variants, prompt_template=MULTI_QUERY),
        hyde=rs.HydeOptions(hypothesis_count=hypotheses, prompt_template=HYDE),
    )
    page = await rag.retrieve(QUERY)
    assert names(page)[0] == "tower"
    assert len(prompts(chat, "hyde")) == (variants + 1) * hypotheses
    assert len(prompts(chat, "multi_query")) == 1
    assert sorted(set(prompts(chat, "hyde"))) == sorted(f"HYPOTHESIS {text}" for text in (QUERY, *answer.splitlines()))
    assert [len(request.texts) for request in embedder.requests] == [hypotheses] * (variants + 1)
    assert list(page.timings) == ["cut", "multi_query", "hyde", "search"]
    plan = rag.plan()
    assert (plan.llm_calls, plan.embedding_calls) == (chat.calls, embedder.calls)


@pytest.mark.row("F3")
async def test_branches_whose_hypotheses_all_fail_warn_once():
    chat = chat_of(multi_query="one\ntwo", hyde=ChatError("overloaded"))
    rag = await pipeline(chat=chat, multi_query=OPTIONS, hyde=rs.HydeOptions(prompt_template=HYDE))
    page = await rag.retrieve(QUERY)
    assert len(page.warnings) == 1


def test_a_scripted_chat_is_one_that_a_pipeline_takes():
    assert isinstance(ScriptedChat(), rs.ports.ChatClient)

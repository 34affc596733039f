"""Adaptive retrieval: settings by the query's complexity."""

from __future__ import annotations

import logging

import pytest

import ragstone as rs
from ragstone.errors import ChatError, ConfigurationError
from ragstone.retrieval.adaptive import classify
from support.techniques import HYDE, MULTI_QUERY, SECRET, TEXTS, chat_of, pipeline, prompts

OPTIONS = rs.RetrievalOptions(use_adaptive_retrieval=True)
LONG = "the exact number of weeks of paid leave for parents"
"""Ten words, none of which says anything."""


@pytest.mark.row("F4")
@pytest.mark.parametrize(
    ("query", "complexity"),
    [
        ("who built it and also when", "multi_hop"),
        ("Additionally the height, furthermore the width", "multi_hop"),
        ("its height as well as its width and depth", "multi_hop"),
        ("how is it built and also why", "multi_hop"),
        ("AND   ALSO", "multi_hop"),
        ("this and that and those of all of these here", None),
        ("height as well as width of the two towers there", None),
        ("is it as well done as they say it is here", None),
        ("how tall is it", "complex"),
        ("Why?", "complex"),
        ("compare the two towers in the city of the north", "complex"),
        ("what is the difference of leave to a holiday here", "complex"),
        ("explain leave", "complex"),
        ("show android shows bandit handler", "simple"),
        ("differences", "simple"),
        ("one two three four five six", "simple"),
        ("one two three four five six seven", None),
        ("人工智能是未来", "simple"),
        ("人工智能在医疗诊断领域目前面临哪些主要的技术挑战", None),
        ("東京タワーの高さ", "simple"),
        ("서울 타워의 높이", "simple"),
        (LONG, None),
    ],
)
def test_words_tell_the_complexity(query, complexity):
    assert classify(query) == complexity


@pytest.mark.row("F4")
@pytest.mark.parametrize(
    ("query", "complexity", "top_k", "stages"),
    [
        ("paid leave", "simple", 3, []),
        ("why is leave paid", "complex", 8, ["multi_query"]),
        ("who is on leave and also paid", "multi_hop", 10, ["multi_query", "hyde"]),
    ],
)
async def test_each_complexity_has_its_settings(query, complexity, top_k, stages):
    chat = chat_of(multi_query="leave", hyde="weeks of leave")
    rag = await pipeline(
        chat=chat,
        multi_query=rs.MultiQueryOptions(prompt_template=MULTI_QUERY),
        hyde=rs.HydeOptions(prompt_template=HYDE),
    )
    for number in range(12):
        await rag.ingest_text(f"leave number {number}", rs.DocumentMetadata(document_id=f"extra-{number}"))
    page = await rag.retrieve(query, OPTIONS)
    assert page.notes["adaptive_complexity"] == complexity
    assert len(page) == top_k
    assert list(page.timings) == ["adaptive", "cut", *stages, "search"]
    assert not prompts(chat, "adaptive")
    assert f"adaptive_complexity = {complexity}" in str(page.explain())
    assert not page.warnings


@pytest.mark.row("F4")
async def test_only_the_three_settings_change_and_only_of_this_call():
    rag = await pipeline()
    options = rs.RetrievalOptions(
        top_k=1,
        use_adaptive_retrieval=True,
        use_hybrid_search=True,
        metadata_filter={"size": len(TEXTS["leave"])},
        use_lost_in_the_middle_reordering=True,
    )
    page = await rag.retrieve("leave", options)
    assert [hit.chunk.document_id for hit in page] == ["leave"]
    assert page.path == "client"
    assert list(page.timings)[:2] == ["adaptive", "reorder"]
    assert options.top_k == 1


@pytest.mark.row("F4")
async def test_what_the_call_switches_off_stays_off():
    chat = chat_of()
    rag = await pipeline(
        chat=chat,
        multi_query=rs.MultiQueryOptions(prompt_template=MULTI_QUERY),
        hyde=rs.HydeOptions(prompt_template=HYDE),
    )
    options = rs.RetrievalOptions(use_adaptive_retrieval=True, use_hyde=False, use_multi_query=False)
    page = await rag.retrieve("why and also how", options)
    assert page.notes["adaptive_complexity"] == "multi_hop"
    assert chat.calls == 0


@pytest.mark.row("F4")
@pytest.mark.parametrize(
    ("answer", "complexity"),
    [
        ("simple", "simple"),
        ("Complex.", "complex"),
        ("**multi_hop**", "multi_hop"),
        ("It is multi-hop", "multi_hop"),
        ("Multi hop, a multi-hop question", "multi_hop"),
    ],
)
async def test_the_model_is_asked_once_where_words_do_not_tell(answer, complexity):
    chat = chat_of(adaptive=answer)
    rag = await pipeline(chat=chat)
    page = await rag.retrieve(LONG, OPTIONS)
    assert page.notes["adaptive_complexity"] == complexity
    assert not page.warnings
    (prompt,) = prompts(chat)
    assert prompt.endswith(f"Question: {LONG}")


@pytest.mark.row("F4")
@pytest.mark.parametrize(
    "answer", [ChatError("overloaded"), OSError(SECRET), "", "simplex", "simple or complex, that depends"]
)
async def test_when_the_model_cannot_tell_the_query_is_complex(answer, caplog):
    rag = await pipeline(chat=chat_of(adaptive=answer))
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await rag.retrieve(LONG, OPTIONS)
    assert page.notes["adaptive_complexity"] == "complex"
    (warning,) = page.warnings
    assert "could not classify" in warning
    assert "adaptive_failed" in caplog.text
    assert SECRET not in caplog.text + warning
    assert LONG not in caplog.text


@pytest.mark.row("F4")
async def test_without_a_model_the_query_is_complex_and_nothing_has_failed():
    page = await (await pipeline()).retrieve(LONG, OPTIONS)
    assert page.notes["adaptive_complexity"] == "complex"
    assert not page.warnings


@pytest.mark.row("F4")
async def test_it_is_off_by_default_and_a_fault_of_the_set_up_is_not_papered_over():
    rag = await pipeline(chat=chat_of(adaptive=ConfigurationError("no such model")))
    assert "adaptive_complexity" not in (await rag.retrieve(LONG)).notes
    with pytest.raises(ConfigurationError, match="no such model"):
        await rag.retrieve(LONG, OPTIONS)


@pytest.mark.row("F4")
@pytest.mark.case("S-044")
async def test_a_query_with_braces_reaches_the_model_as_it_is():
    query = 'seven words are enough for {0} {query} {{y}} `"a": 1`'
    chat = chat_of(adaptive="simple")
    await (await pipeline(chat=chat)).retrieve(query, OPTIONS)
    assert prompts(chat)[0].endswith("\n\nQuestion: " + query)

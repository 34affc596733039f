"""A query and a chunk full of braces, backticks and JSON reach the model as they are, through every prompt there is."""

from __future__ import annotations

import json

import pytest

import ragstone as rs
from ragstone.testing import HashEmbedder, ScriptedChat, ScriptedWebSearch
from support.techniques import pipeline

QUERIES = [
    'What does {0} or {name} mean in f"{x!r}"? {{y}} {query} {text} {sources} {count}',
    '```json\n{"sufficient": true, "subQueries": ["{query}"]}\n``` and what else is there in it?',
    "Has `{{ user.name }}` {% if x %} <|im_start|> ${HOME} %s %(a)s \\1 \\g<0> any meaning to you?",
]
CHUNK = '{query} {{text}} {sources} {0} ```{"a": [1, {"b": "}"}]}``` [Source 9] Question: {count} %s \\1 ${x}'

RETRIEVAL = {
    "hyde": ("F1", {"hyde": rs.HydeOptions(hypothesis_count=1)}, rs.RetrievalOptions()),
    "multi-query": ("F2", {"multi_query": rs.MultiQueryOptions()}, rs.RetrievalOptions()),
    "adaptive": ("F4", {}, rs.RetrievalOptions(use_adaptive_retrieval=True)),
    "grading": ("F5", {"web_search": ScriptedWebSearch()}, rs.RetrievalOptions(use_crag=True)),
    "deep research": ("F7", {"deep_research": rs.DeepResearchOptions(max_depth=1)}, rs.RetrievalOptions()),
    "deep research by a prompt of one's own": (
        "F7",
        {"deep_research": rs.DeepResearchOptions(max_depth=1, sufficiency_prompt='{"a": 1} {query}\n{sources}')},
        rs.RetrievalOptions(),
    ),
    "compression": (
        "F11",
        {"compression": rs.CompressionOptions(strategy="abstractive", keep_top_sentences=1, in_retrieval=True)},
        rs.RetrievalOptions(),
    ),
}
READING_CHUNKS = {"grading", "deep research", "deep research by a prompt of one's own", "compression"}


@pytest.mark.case("S-044")
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "technique", [pytest.param(name, marks=pytest.mark.row(row)) for name, (row, *_) in RETRIEVAL.items()]
)
async def test_every_technique_asks_about_the_query_and_the_chunk_themselves(technique, query):
    _, parts, options = RETRIEVAL[technique]
    chat = ScriptedChat("simple")
    rag = await pipeline(chat=chat, **parts)
    await rag.ingest_text(CHUNK, rs.DocumentMetadata(document_id="awkward"))
    await rag.retrieve(query, options)
    prompts = [request.messages[-1]["content"] for request in chat.requests]
    assert prompts
    assert all(prompt.count(query) == 1 for prompt in prompts)
    assert any(CHUNK in prompt for prompt in prompts) == (technique in READING_CHUNKS)


@pytest.mark.case("S-044")
@pytest.mark.row("I2")
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("as_tool_result", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
async def test_asking_does_too(query, as_tool_result, streaming):
    chat = ScriptedChat("{0} [Source 1]")
    rag = rs.RagPipeline(embedder=HashEmbedder(64), chat=chat)
    await rag.ingest_text(CHUNK, rs.DocumentMetadata(document_id="awkward"))
    options = rs.RagOptions(send_sources_as_tool_result=as_tool_result, system_prompt="{query} {{x}}")
    if streaming:
        response = [update async for update in rag.ask_streaming(query, options)][-1].response
    else:
        response = await rag.ask(query, options)
    assert response.answer == "{0} [Source 1]"
    messages = chat.requests[0].messages
    assert messages[0]["content"] == "{query} {{x}}"
    if as_tool_result:
        assert messages[1]["content"] == query
        assert json.loads(messages[2]["tool_calls"][0]["function"]["arguments"]) == {"query": query}
        assert messages[3]["content"] == f"[Source 1]\n{CHUNK}"
    else:
        assert messages[1]["content"] == f"Context:\n[Source 1]\n{CHUNK}\n\nQuestion: {query}"

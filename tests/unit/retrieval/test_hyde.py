"""HyDE: hypothetical answers are embedded in place of the query."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest

import ragstone as rs
from ragstone.errors import ChatError, ConfigurationError, EmbeddingError
from ragstone.stores import InMemoryVectorStore
from ragstone.testing import FailingEmbedder, HashEmbedder, ScriptedChat
from support.retrieval import TableEmbedder
from support.techniques import HYDE, SECRET, chat_of, names, pipeline, prompts

OPTIONS = rs.HydeOptions(prompt_template=HYDE)
QUERY = "how high does it rise?"


class RecordingStore(InMemoryVectorStore):
    """The store in memory, which remembers the vectors that it was searched with."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings_searched: list[np.ndarray] = []

    async def search(self, embedding, options):
        self.embeddings_searched.append(np.array(embedding))
        return await super().search(embedding, options)


async def searched_with(vectors, **options):
    """The one vector that the store is searched with, and the page, when the hypotheses have these vectors."""
    replies = [f"h{place}" for place in range(len(vectors))]
    store = RecordingStore()
    embedder = TableEmbedder(dict(zip(replies, vectors, strict=True)) | {QUERY: (0.6, 0.8)})
    rag = rs.RagPipeline(
        embedder=embedder,
        store=store,
        chat=ScriptedChat(replies),
        hyde=rs.HydeOptions(hypothesis_count=len(vectors), prompt_template=HYDE),
    )
    await rag.ingest_text("a text", rs.DocumentMetadata(document_id="a"))
    embedder.calls.clear()
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(**options))
    (vector,) = store.embeddings_searched
    return vector, page, embedder


@pytest.mark.row("F1")
async def test_the_hypotheses_are_searched_with_in_place_of_the_query():
    chat = chat_of(hyde="The tower is ninety metres high")
    rag = await pipeline(chat=chat, hyde=OPTIONS)
    page = await rag.retrieve(QUERY)
    assert names(page)[0] == "tower"
    assert not page.warnings
    assert prompts(chat) == [f"HYPOTHESIS {QUERY}"] * 3
    assert {request.temperature for request in chat.requests} == {0.8}
    assert list(page.timings) == ["cut", "hyde", "search"]


@pytest.mark.row("F1")
async def test_one_batch_embeds_all_hypotheses_as_documents_and_the_query_not_at_all():
    embedder = HashEmbedder(64)
    rag = await pipeline(embedder=embedder, chat=ScriptedChat(["a b", "c d", "e f"]), hyde=OPTIONS)
    await rag.retrieve(QUERY)
    (request,) = embedder.requests
    assert sorted(request.texts) == ["a b", "c d", "e f"]
    assert request.input_type == "document"


@pytest.mark.row("F1")
@pytest.mark.case("S-046")
async def test_the_mean_has_unit_length():
    vector, page, _ = await searched_with([(1, 0), (1, 0), (0, 1)])
    assert vector == pytest.approx([0.894427, 0.447214], abs=1e-6)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
    assert not page.warnings


@pytest.mark.row("F1")
@pytest.mark.case("S-046")
@pytest.mark.parametrize("vectors", [[(1, 0), (-1, 0)], [(0, 0)], [(1, 1e-9), (-1, 1e-9)]])
async def test_hypotheses_that_cancel_out_give_way_to_the_query(vectors, caplog):
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        vector, page, _ = await searched_with(vectors)
    assert vector == pytest.approx([0.6, 0.8])
    assert np.isfinite([hit.score for hit in page]).all()
    (warning,) = page.warnings
    assert warning.endswith("the query's own embedding was searched with: the embeddings of the hypotheses cancel out")
    assert "hyde_failed" in caplog.text


@pytest.mark.row("F1")
@pytest.mark.parametrize("count", [1, 3, 9])
async def test_the_number_of_hypotheses_and_their_temperature_are_the_callers(count):
    chat = chat_of(hyde="ninety metres")
    rag = await pipeline(
        chat=chat,
        hyde=rs.HydeOptions(hypothesis_count=count, hypothesis_temperature=1.1, prompt_template=HYDE),
    )
    await rag.retrieve(QUERY)
    assert [request.temperature for request in chat.requests] == [1.1] * count


class BusyChat(ScriptedChat):
    """Counts how many calls are under way at the same time."""

    running = most = 0

    async def _pause(self):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1


@pytest.mark.row("F1")
async def test_four_hypotheses_at_most_are_asked_for_at_the_same_time_whatever_the_branches():
    chat = BusyChat(lambda messages: "a\nb\nc" if "VARIANTS" in messages[-1]["content"] else "ninety metres")
    rag = await pipeline(
        chat=chat,
        hyde=rs.HydeOptions(hypothesis_count=5, prompt_template=HYDE),
        multi_query=rs.MultiQueryOptions(prompt_template="VARIANTS {count} {query}"),
    )
    await rag.retrieve(QUERY)
    assert chat.calls == 1 + 4 * 5
    assert chat.most == 4


@pytest.mark.row("F1")
async def test_the_keyword_arm_keeps_the_query():
    chat = chat_of(hyde="Lunch is served at noon in the canteen")
    rag = await pipeline(chat=chat, hyde=OPTIONS)
    page = await rag.retrieve("tower", rs.RetrievalOptions(use_hybrid_search=True, top_k=2))
    found_by = {hit.chunk.document_id: {e.arm: e.rank for e in hit.evidence} for hit in page}
    assert found_by["tower"]["bm25"] == 1
    assert found_by["lunch"]["dense"] == 1
    assert "bm25" not in found_by["lunch"]


@pytest.mark.row("F1")
async def test_survivors_suffice(caplog):
    chat = ScriptedChat([ChatError("overloaded"), "  ", "The tower is ninety metres high"])
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        rag = await pipeline(chat=chat, hyde=OPTIONS)
        page = await rag.retrieve(f"{QUERY} {SECRET}")
    assert names(page)[0] == "tower"
    assert page.warnings == ("HyDE went on with the others where 2 of 3 hypotheses failed: ChatError: overloaded",)
    assert SECRET not in caplog.text


@pytest.mark.row("F1")
@pytest.mark.parametrize("failure", [ChatError("overloaded"), OSError(f"cannot send {SECRET}"), ""])
async def test_when_all_fail_the_query_is_searched_with(failure, caplog):
    embedder = HashEmbedder(512)
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        rag = await pipeline(embedder=embedder, chat=chat_of(hyde=failure), hyde=OPTIONS)
        page = await rag.retrieve("paid leave")
    plain = await rag.retrieve("paid leave", rs.RetrievalOptions(use_hyde=False))
    assert page.results == plain.results
    assert "hyde_failed" in caplog.text
    assert len(page.warnings) == 1
    assert SECRET not in caplog.text + page.warnings[0]
    assert embedder.requests[0].texts == ("paid leave",)


@pytest.mark.row("F1")
async def test_hypotheses_that_cannot_be_embedded_give_way_to_the_query():
    class PickyEmbedder(HashEmbedder):
        async def embed(self, texts, *, input_type="document"):
            if "poison" in texts:
                raise EmbeddingError("the service is busy")
            return await super().embed(texts, input_type=input_type)

    rag = await pipeline(embedder=PickyEmbedder(512), chat=chat_of(hyde="poison"), hyde=OPTIONS)
    page = await rag.retrieve("paid leave")
    assert names(page)[0] == "leave"
    assert "EmbeddingError: the service is busy" in page.warnings[0]


@pytest.mark.row("F1")
async def test_an_embedder_that_fails_altogether_is_the_calls_error():
    embedder = FailingEmbedder(after=6)
    rag = await pipeline(embedder=embedder, chat=chat_of(hyde="anything"), hyde=OPTIONS)
    assert embedder.calls == 0
    embedder._failure.after = 0
    with pytest.raises(EmbeddingError):
        await rag.retrieve("paid leave")


@pytest.mark.row("F1")
async def test_a_fault_of_the_set_up_is_not_papered_over():
    rag = await pipeline(chat=chat_of(hyde=ConfigurationError("no such model")), hyde=OPTIONS)
    with pytest.raises(ConfigurationError, match="no such model"):
        await rag.retrieve(QUERY)


@pytest.mark.row("F1")
async def test_a_call_can_do_without_and_pays_for_nothing():
    chat = chat_of()
    rag = await pipeline(chat=chat, hyde=OPTIONS)
    page = await rag.retrieve("paid leave", rs.RetrievalOptions(use_hyde=False))
    keywords = rs.EnsembleOptions(dense_weight=0)
    await rag.retrieve("paid leave", rs.RetrievalOptions(use_hybrid_search=True, ensemble_options=keywords))
    assert list(page.timings) == ["cut", "search"]
    assert chat.calls == 0


@pytest.mark.row("F1")
async def test_asking_deeper_does_not_ask_the_model_again():
    embedder = HashEmbedder(512)
    chat = chat_of(hyde="ninety metres")
    rag = await pipeline(embedder=embedder, chat=chat, hyde=OPTIONS)
    options = rs.RetrievalOptions(top_k=1, use_redundancy_filter=True, redundancy_threshold=-1.0)
    page = await rag.retrieve(QUERY, options)
    assert len(page) == 1
    nothing = await rag.retrieve(QUERY, rs.RetrievalOptions(top_k=1, filter=lambda _: False))
    assert nothing.exhausted
    assert (chat.calls, embedder.calls) == (6, 2)


@pytest.mark.row("F1")
@pytest.mark.case("S-044")
async def test_a_query_with_braces_and_json_reaches_the_model_as_it_is():
    query = 'What does {0} or {name} mean in f"{x!r}"? ``` {"a": 1}'
    chat = ScriptedChat("it formats")
    template = 'Answer as {"a": 1}. Q: {query}'
    rag = await pipeline(chat=chat, hyde=rs.HydeOptions(prompt_template=template, hypothesis_count=1))
    await rag.retrieve(query)
    assert prompts_of(chat) == ['Answer as {"a": 1}. Q: ' + query]


def prompts_of(chat):
    return [message["content"] for request in chat.requests for message in request.messages]


@pytest.mark.row("F1")
@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"embedder": HashEmbedder()}, "hyde=HydeOptions.*needs a chat model: give chat="),
        ({"chat": ScriptedChat()}, "hyde=HydeOptions.*needs an embedder: give embedder="),
    ],
)
def test_hyde_without_what_it_needs_is_refused_where_it_is_configured(parts, named):
    with pytest.raises(ConfigurationError, match=named):
        rs.RagPipeline(hyde=OPTIONS, **parts)

"""What a conversation remembers: turns within a budget, and turns of earlier conversations."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragstone as rs
from ragstone.answering import fit_history
from ragstone.errors import ConfigurationError, EmbeddingError, StoreError
from ragstone.models import ScoreScale
from ragstone.options import PersistentMemoryOptions
from ragstone.stores import InMemoryVectorStore
from ragstone.testing import (
    FailingChat,
    FailingEmbedder,
    HangingChat,
    HangingEmbedder,
    HashEmbedder,
    ScriptedChat,
    SettableClock,
)
from support.retrieval import ScriptedStore, TableEmbedder

USER, SAID = "user", "assistant"


def talk(*contents):
    """Messages of a user and an assistant in turn."""
    return [{"role": (USER, SAID)[place % 2], "content": content} for place, content in enumerate(contents)]


def contents(messages):
    return [message["content"] for message in messages]


class Words:
    """Counts words, so that budgets are easy to see."""

    def count(self, texts):
        return [len(text.split()) for text in texts]


# --- the budget ------------------------------------------------------------------------------------------------------


@pytest.mark.row("I9")
@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (100, ["a b", "c d", "e", "f g h"]),
        (8, ["a b", "c d", "e", "f g h"]),
        (7, ["e", "f g h"]),
        (4, ["e", "f g h"]),
        (3, []),
    ],
)
def test_the_newest_turns_stay_whole(budget, kept):
    assert contents(fit_history(talk("a b", "c d", "e", "f g h"), budget, token_counter=Words())) == kept


@pytest.mark.row("I9")
def test_a_turn_that_does_not_fit_ends_it_and_no_older_one_is_squeezed_in():
    messages = talk("a", "b", "much " * 50, "d", "e", "f")
    assert contents(fit_history(messages, 10, token_counter=Words())) == ["e", "f"]


@pytest.mark.row("I9")
def test_leading_system_messages_always_stay_and_count():
    system = [{"role": "system", "content": "be kind now"}, {"role": "developer", "content": "and brief"}]
    assert contents(fit_history([*system, *talk("a", "b")], 7, token_counter=Words())) == [*contents(system), "a", "b"]
    assert contents(fit_history([*system, *talk("a", "b")], 6, token_counter=Words())) == contents(system)
    assert contents(fit_history(system, 1, token_counter=Words())) == contents(system)


@pytest.mark.row("I9")
def test_a_tool_call_and_its_result_stay_with_their_turn():
    call = {"role": SAID, "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    turn = [{"role": USER, "content": "a"}, call, {"role": "tool", "tool_call_id": "c", "content": "r"}]
    assert fit_history(turn, 100) == tuple(turn)
    assert fit_history(turn, 5) == ()
    assert fit_history([], 5) == ()


@pytest.mark.row("I9")
def test_tokens_are_those_of_cl100k():
    messages = talk("tokens of text", "人工智能")
    exact = rs.count_tokens("tokens of text") + rs.count_tokens("人工智能")
    assert len(fit_history(messages, exact)) == 2
    assert fit_history(messages, exact - 1) == ()


@given(st.lists(st.integers(0, 6), max_size=12), st.integers(1, 30))
def test_what_stays_fits_and_is_the_longest_suffix_of_turns(sizes, budget):
    messages = talk(*("w " * size for size in sizes))
    kept = fit_history(messages, budget, token_counter=Words())
    assert list(kept) == messages[len(messages) - len(kept) :]
    assert sum(Words().count(contents(kept))) <= budget
    assert not kept or kept[0]["role"] == USER
    if len(kept) < len(messages):
        longer = messages[next(p for p in reversed(range(len(messages) - len(kept))) if p % 2 == 0) :]
        assert sum(Words().count(contents(longer))) > budget


@pytest.mark.row("I9")
def test_a_conversation_memory_lets_go_of_the_oldest_turns():
    memory = rs.ConversationMemory(4, token_counter=Words())
    for turn in ("a b", "c d", "e f"):
        memory.add(*turn.split())
    assert contents(memory.messages) == ["c", "d", "e", "f"]
    memory.add("one " * 5, "answer")
    assert memory.messages == ()
    memory.add("a", "b")
    memory.clear()
    assert memory.messages == ()
    with pytest.raises(ConfigurationError, match="max_tokens must be at least 1, not 0"):
        rs.ConversationMemory(0)


# --- memory that outlives the conversation ---------------------------------------------------------------------------


def remembering(store=None, embedder=None, **options):
    return rs.PersistentMemory(
        InMemoryVectorStore() if store is None else store,
        HashEmbedder(256) if embedder is None else embedder,
        **options,
    )


@pytest.mark.row("I9")
async def test_turns_are_recalled_by_what_they_are_about_and_from_the_threshold_on():
    table = {"q1\na1": (0.9, 0.4359), "q2\na2": (0.7, 0.7141), "q3\na3": (0.6, 0.8), "query": (1.0, 0.0)}
    memory = remembering(embedder=TableEmbedder(table))
    for place in "213":
        await memory.remember(f"q{place}", f"a{place}")
    turns = await memory.recall("query")
    assert [(turn.question, turn.answer) for turn in turns] == [("q2", "a2"), ("q1", "a1")]
    assert [turn.score for turn in turns] == pytest.approx([0.7, 0.9], abs=1e-3)


@pytest.mark.row("I9")
async def test_at_most_three_turns_from_a_similarity_of_0_7_on_by_default():
    assert (PersistentMemoryOptions().top_k, PersistentMemoryOptions().min_score) == (3, 0.7)
    clock = SettableClock()
    memory = remembering(embedder=TableEmbedder({}), clock=clock)
    for place in range(5):
        await memory.remember(f"q{place}", "a")
        clock.advance(1)
    assert len(await memory.recall("query")) == 3
    for field, value in (("top_k", 0), ("min_score", float("nan")), ("min_score", "high")):
        with pytest.raises(ConfigurationError, match=field):
            PersistentMemoryOptions(**{field: value})


@pytest.mark.row("I9")
async def test_turns_come_back_whole_and_oldest_first():
    clock = SettableClock(datetime(2026, 3, 1, tzinfo=UTC))
    memory = remembering(embedder=TableEmbedder({}), clock=clock)
    question, answer = "line one\nline two 🙂?", "\nanswer\n\nwith {braces}\n"
    await memory.remember("later", "b")
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    await memory.remember(question, answer)
    first, second = await memory.recall("query")
    assert (first.question, first.answer) == (question, answer)
    assert first.remembered_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert second.question == "later"


@pytest.mark.row("I9")
async def test_nobody_recalls_what_another_said():
    store, embedder = InMemoryVectorStore(), TableEmbedder({})
    ada, bob = (remembering(store, embedder, owner=name) for name in ("ada", "bob"))
    turn = await ada.remember("q", "a")
    assert await bob.recall("q") == ()
    assert [each.id for each in await ada.recall("q")] == [turn]
    await ada.forget(turn)
    await ada.forget(turn)
    assert await ada.recall("q") == ()
    with pytest.raises(ConfigurationError, match="owner"):
        remembering(owner="")


class OpaqueStore(ScriptedStore):
    """A store whose scores are only an order."""

    score_scale = ScoreScale.BACKEND


@pytest.mark.row("I9")
async def test_the_threshold_is_skipped_with_one_warning_where_scores_are_no_similarities(caplog):
    store = OpaqueStore()
    memory = remembering(store)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await memory.recall("query")
    assert [search.min_score for search in store.searches] == [0.0] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "memory_threshold_skipped: OpaqueStore scores on the scale 'backend', for which min_score has no meaning"
    ]
    plain = ScriptedStore()
    await remembering(plain).recall("query")
    await remembering(store, options=PersistentMemoryOptions(min_score=0.0)).recall("query")
    assert plain.searches[0].min_score == 0.7
    assert len(caplog.records) == 1


# --- conversations ---------------------------------------------------------------------------------------------------


@pytest.mark.row("I9")
async def test_each_question_is_asked_with_the_turns_before_it():
    chat = ScriptedChat(["a1", "a2", "a3"])
    conversation = rs.Conversation(rs.RagPipeline(chat=chat))
    history = [{"role": "system", "content": "H"}]
    options = rs.RagOptions(system_prompt="S", conversation_history=history)
    await conversation.ask("q1", options)
    streamed = [update async for update in conversation.ask_streaming("q2", options)]
    assert streamed[-1].response.answer == "a2"
    await conversation.ask("q3", options)
    assert contents(chat.requests[2].messages[:-1]) == ["H", "S", "q1", "a1", "q2", "a2"]
    assert contents(conversation.memory.messages) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert options.conversation_history == tuple(history)


@pytest.mark.row("I9")
async def test_earlier_conversations_go_before_this_one_and_are_not_said_twice():
    table = {"q0\na0": (1.0, 0.0), "q1\na1": (1.0, 0.0), "q2": (1.0, 0.0)}
    store, embedder = InMemoryVectorStore(), TableEmbedder(table, default=(0.0, 1.0))
    await rs.PersistentMemory(store, embedder).remember("q0", "a0")
    chat = ScriptedChat(["a1", "a2"])
    conversation = rs.Conversation(rs.RagPipeline(chat=chat), persistent=rs.PersistentMemory(store, embedder))
    await conversation.ask("q1")
    await conversation.ask("q2")
    assert contents(chat.requests[0].messages[1:-1]) == []
    assert contents(chat.requests[1].messages[1:-1]) == ["q0", "a0", "q1", "a1"]


@pytest.mark.row("I9")
async def test_recalled_turns_are_the_first_to_go_when_the_budget_is_short():
    memory = rs.PersistentMemory(InMemoryVectorStore(), TableEmbedder({}))
    await memory.remember("q0 " * 5, "a0")
    chat = ScriptedChat(["a1", "a2"])
    short = rs.ConversationMemory(6, token_counter=Words())
    conversation = rs.Conversation(rs.RagPipeline(chat=chat), memory=short, persistent=memory)
    await conversation.ask("q1")
    await conversation.ask("q2")
    assert contents(chat.requests[0].messages[1:-1]) == ["q0 " * 5, "a0"]
    assert contents(chat.requests[1].messages[1:-1]) == ["q1", "a1"]


class BrokenStore(ScriptedStore):
    """Searches, and cannot store."""

    async def store(self, chunks):
        raise StoreError("disk full")


@pytest.mark.row("I9")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_memory_that_fails_costs_a_warning_and_not_the_answer(caplog, stream):
    persistent = remembering(BrokenStore(fail=StoreError("no answer")))
    conversation = rs.Conversation(rs.RagPipeline(chat=ScriptedChat("ok")), persistent=persistent)
    with caplog.at_level(logging.WARNING):
        if stream:
            response = [update async for update in conversation.ask_streaming("the secret")][-1].response
        else:
            response = await conversation.ask("the secret")
    assert response.answer == "ok"
    assert response.warnings == (
        "earlier conversations could not be recalled: StoreError",
        "the turn could not be remembered: StoreError",
    )
    assert [record.getMessage() for record in caplog.records] == [
        "memory_recall_failed: StoreError",
        "memory_remember_failed: StoreError",
    ]
    assert "secret" not in caplog.text
    assert contents(conversation.memory.messages) == ["the secret", "ok"]


@pytest.mark.row("I9")
async def test_a_question_without_an_answer_is_no_turn():
    conversation = rs.Conversation(rs.RagPipeline(chat=FailingChat(after=1, replies="a1", said="")))
    await conversation.ask("q1")
    with pytest.raises(rs.errors.ChatError):
        await conversation.ask("q2")
    with pytest.raises(rs.errors.ChatError):
        [update async for update in conversation.ask_streaming("q3")]
    assert contents(conversation.memory.messages) == ["q1", "a1"]


@pytest.mark.row("I9")
async def test_a_stream_that_is_closed_early_is_no_turn_and_leaves_nothing_open():
    chat = ScriptedChat("a long answer", chunk_size=2)
    conversation = rs.Conversation(rs.RagPipeline(chat=chat))
    others = asyncio.all_tasks()
    updates = conversation.ask_streaming("q")
    for _ in range(3):
        await anext(updates)
    await updates.aclose()
    assert (conversation.memory.messages, chat.open_streams) == ((), 0)
    assert asyncio.all_tasks() == others


@pytest.mark.row("I9")
@pytest.mark.row("L4")
@pytest.mark.parametrize("where", ["memory", "chat"])
async def test_cancelling_a_conversation(where):
    hanging = HangingEmbedder() if where == "memory" else HangingChat()
    chat = ScriptedChat("ok") if where == "memory" else hanging
    persistent = remembering(embedder=hanging) if where == "memory" else None
    conversation = rs.Conversation(rs.RagPipeline(chat=chat), persistent=persistent)
    asking = asyncio.create_task(conversation.ask("q"))
    await hanging.started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert hanging.cancelled == 1
    assert conversation.memory.messages == ()


async def test_an_embedder_that_fails_is_the_callers_to_see_when_memory_is_used_by_hand():
    memory = remembering(embedder=FailingEmbedder())
    with pytest.raises(EmbeddingError):
        await memory.remember("q", "a")
    with pytest.raises(EmbeddingError):
        await memory.recall("q")


async def test_a_store_is_opened_once_and_only_success_is_remembered():
    class Opening(ScriptedStore):
        opened = 0

        async def initialize(self):
            self.opened += 1
            if self.opened == 1:
                raise StoreError("not yet")

    store = Opening()
    memory = remembering(store, TableEmbedder({}, default=np.ones(2)))
    with pytest.raises(StoreError):
        await memory.recall("q")
    await asyncio.gather(memory.recall("q"), memory.recall("q"))
    assert store.opened == 2

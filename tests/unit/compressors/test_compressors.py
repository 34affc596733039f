"""The compressors: which sentences stay, what a model is asked, and what its answer may be."""

from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.compressors import AbstractiveCompressor, ExtractiveCompressor
from ragstone.compressors.sentences import Limit, Sentences
from ragstone.engine.tokens import count_tokens
from ragstone.errors import ChatError, ConfigurationError, EmbeddingError
from ragstone.ports import Compressor
from ragstone.testing import FailingChat, FailingEmbedder, HangingChat, HashEmbedder, ScriptedChat

TEXT = "Lunch is at noon. Parents get paid leave.\n\nThe tower is tall. Paid leave is sixteen weeks. Call the desk."
LEAVE = "Parents get paid leave."
WEEKS = "Paid leave is sixteen weeks."


def extractive(embedder=None, **limits):
    return ExtractiveCompressor(embedder or HashEmbedder(512), **limits)


@pytest.mark.row("F11")
@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"keep_top_sentences": 1}, WEEKS),
        ({"keep_top_sentences": 2}, f"{LEAVE} {WEEKS}"),
        ({"keep_top_sentences": 2, "max_tokens_per_chunk": 1}, f"{LEAVE} {WEEKS}"),
        ({"max_tokens_per_chunk": 12}, f"{LEAVE} {WEEKS}"),
        ({"max_tokens_per_chunk": 7}, WEEKS),
        ({"max_tokens_per_chunk": 1}, WEEKS),
        ({"keep_top_sentences": 5}, TEXT),
        ({"max_tokens_per_chunk": 200}, TEXT),
    ],
)
async def test_the_sentences_nearest_to_the_query_stay_in_their_order(limits, kept):
    assert await extractive(**limits).compress("paid leave weeks sixteen", [TEXT]) == [kept]


@pytest.mark.row("F11")
async def test_neighbours_keep_what_stands_between_them():
    text = "Nothing here. One fox.\n\nTwo foxes fox.\tNothing there."
    assert await extractive(keep_top_sentences=2).compress("fox", [text]) == ["One fox.\n\nTwo foxes fox."]


@pytest.mark.row("F11")
async def test_all_sentences_of_all_texts_are_one_batch_and_whole_texts_are_not_embedded():
    embedder = HashEmbedder(512)
    texts = [TEXT, "Short. Text.", "", "One fox. Two foxes. Three."]
    answer = await extractive(embedder, keep_top_sentences=2).compress("fox", texts)
    assert answer[1:3] == ["Short. Text.", ""]
    query, sentences = embedder.requests
    assert query == (("fox",), "query")
    assert sentences.input_type == "document"
    assert sentences.texts[-3:] == ("One fox.", "Two foxes.", "Three.")
    assert len(sentences.texts) == 8
    await extractive(embedder, keep_top_sentences=2).compress("fox", ["Short. Text."])
    assert embedder.calls == 2


@pytest.mark.row("F11")
async def test_equal_similarities_keep_the_earlier_sentence():
    assert await extractive(keep_top_sentences=1).compress("zebra", ["One. Two. Three."]) == ["One."]


@pytest.mark.row("F11")
async def test_a_single_sentence_over_the_limit_stays_whole():
    assert await extractive(max_tokens_per_chunk=2).compress("fox", ["One very long sentence about a fox."]) == [
        "One very long sentence about a fox."
    ]


def squashed(text):
    return "".join(text.split())


@pytest.mark.row("F11")
@given(st.lists(st.sampled_from(["One fox. ", "Two.\n", "是的。", "No! ", "\t \n"]), max_size=9), st.integers(1, 12))
def test_a_compressed_text_keeps_to_its_tokens_and_is_made_of_sentences_in_their_order(parts, limit):
    text = "".join(parts)
    (kept,) = asyncio.run(extractive(max_tokens_per_chunk=limit).compress("two foxes", [text]))
    assert kept is not None
    sentences = Sentences(text).texts()
    if len(sentences) < 2:
        assert kept == text
        return
    rest = squashed(kept)
    for sentence in sentences:
        rest = rest.removeprefix(squashed(sentence))
    assert rest == ""
    assert count_tokens(kept) <= max(limit, *(count_tokens(sentence) for sentence in sentences))


@pytest.mark.row("F11")
async def test_an_embedder_that_fails_fails_the_compression():
    with pytest.raises(EmbeddingError):
        await extractive(FailingEmbedder(after=1), keep_top_sentences=1).compress("q", [TEXT])


def abstractive(chat, **limits):
    return AbstractiveCompressor(chat, **{"keep_top_sentences": 2, **limits})


@pytest.mark.row("F11")
async def test_the_model_is_asked_once_a_text_and_told_the_limit():
    query, text = 'what is {text} in f"{x!r}"?', "chunk with {query} and `ticks`, long enough"
    chat = ScriptedChat("Ticks.")
    assert await abstractive(chat).compress(query, [text, TEXT]) == ["Ticks.", "Ticks."]
    ((message,), temperature) = chat.requests[0]
    assert temperature == 0.0
    asked = message["content"]
    assert asked.endswith(f"Question: {query}\n\nPassage:\n{text}\n\nUse at most 2 sentences.")
    one = ScriptedChat("Ticks.")
    await abstractive(one, keep_top_sentences=1).compress(query, [text])
    await AbstractiveCompressor(one, max_tokens_per_chunk=30, prompt_template="{query}|{text}").compress("q", [text])
    endings = [request.messages[0]["content"].rpartition("\n")[2] for request in one.requests]
    assert endings == ["Use at most 1 sentence.", "Use at most 30 tokens."]
    assert one.requests[1].messages[0]["content"].startswith(f"q|{text}\n")


@pytest.mark.row("F11")
@pytest.mark.parametrize(
    ("limits", "answer", "kept"),
    [
        ({}, "One fox. Two foxes. Three foxes.", "One fox. Two foxes."),
        ({"keep_top_sentences": None, "max_tokens_per_chunk": 6}, "One fox. Two foxes. Three.", "One fox."),
        ({"keep_top_sentences": None, "max_tokens_per_chunk": 1}, "One fox. Two foxes.", "One fox."),
        ({}, "  One fox.  \n", "One fox."),
        ({}, "NONE", ""),
        ({}, " none. ", ""),
        ({}, "**NONE**", ""),
        ({}, "None of the parents pay.", "None of the parents pay."),
        ({}, "", None),
        ({}, "x" * 500, TEXT),
        ({}, "half \ud83d a pair", "half ? a pair"),
    ],
)
async def test_the_models_answer_is_kept_to_the_limit_by_whole_sentences(limits, answer, kept):
    assert await abstractive(ScriptedChat(answer), **limits).compress("q", [TEXT]) == [kept]


@pytest.mark.row("F11")
async def test_at_most_four_texts_are_with_the_model_at_once():
    class Counting(ScriptedChat):
        running = most = 0

        async def complete(self, messages, *, temperature=None):
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.005)
            self.running -= 1
            return await super().complete(messages, temperature=temperature)

    chat = Counting("Short.")
    assert await abstractive(chat).compress("q", [TEXT] * 9) == ["Short."] * 9
    assert (chat.calls, chat.most) == (9, 4)


@pytest.mark.row("F11")
async def test_a_text_whose_call_fails_stays_whole_and_the_others_do_not(caplog):
    chat = ScriptedChat(["One.", ChatError("overloaded"), OSError("the passage itself"), "Four."])
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        assert await abstractive(chat).compress("q", [TEXT] * 4) == ["One.", None, None, "Four."]
    assert [record.getMessage() for record in caplog.records] == [
        "abstract_failed: ragstone.testing.ScriptedChat: ChatError: overloaded",
        "abstract_failed: ragstone.testing.ScriptedChat: OSError",
    ]


@pytest.mark.row("F11")
async def test_a_fault_of_the_set_up_ends_the_compression():
    with pytest.raises(ConfigurationError, match="no such model"):
        await abstractive(FailingChat(ConfigurationError("no such model"))).compress("q", [TEXT] * 6)


@pytest.mark.row("L4")
@pytest.mark.row("F11")
async def test_cancelling_abstraction_cancels_every_call_under_way():
    chat = HangingChat()
    call = asyncio.create_task(abstractive(chat).compress("q", [TEXT] * 6))
    await asyncio.wait_for(chat.started.wait(), 5)
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert chat.cancelled == 4
    assert len(asyncio.all_tasks()) == 1


def test_the_identity_names_strategy_limit_model_and_a_prompt_of_ones_own():
    embedder, chat = HashEmbedder(8), ScriptedChat()
    compressors = [
        extractive(embedder, keep_top_sentences=3),
        extractive(embedder, max_tokens_per_chunk=3),
        extractive(HashEmbedder(9), keep_top_sentences=3),
        abstractive(chat),
        abstractive(chat, keep_top_sentences=3),
        abstractive(chat, prompt_template="{query} {text}"),
        abstractive(chat, prompt_template="{text} {query}"),
    ]
    assert all(isinstance(compressor, Compressor) for compressor in compressors)
    assert len({compressor.identity for compressor in compressors}) == len(compressors)
    assert compressors[0].identity == "extractive/3 sentences/ragstone.testing.HashEmbedder(8)"
    assert compressors[3].identity == "abstractive/2 sentences/ragstone.testing.ScriptedChat"


@pytest.mark.row("F11")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "compression needs a limit"),
        ({"keep_top_sentences": 0}, "keep_top_sentences must be at least 1, not 0"),
        ({"max_tokens_per_chunk": -1}, "max_tokens_per_chunk must be at least 1, not -1"),
        ({"keep_top_sentences": True}, "keep_top_sentences must be an integer"),
    ],
)
def test_a_limit_is_needed_and_checked(limits, message):
    with pytest.raises(ConfigurationError, match=message):
        extractive(**limits)
    with pytest.raises(ConfigurationError, match=message):
        AbstractiveCompressor(ScriptedChat(), **limits)


def test_the_prompt_must_hold_both_placeholders():
    with pytest.raises(ConfigurationError, match=r"prompt_template must hold the placeholder \{text\}"):
        abstractive(ScriptedChat(), prompt_template="{query}")


def test_white_space_alone_is_no_sentence():
    assert len(Sentences(" \n\t")) == 0
    assert Sentences("  One.  \n\n  ").texts() == ["One."]
    assert Sentences(" \n").fits(Limit(sentences=1))

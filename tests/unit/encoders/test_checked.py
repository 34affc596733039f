"""What an embedder answers is verified before anything else sees it."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.encoders import embed_checked
from ragstone.errors import CapabilityError, EmbeddingError

SECRET = "the salary of Jane Doe"


class Answering:
    """Answers with what it was given, whatever the question."""

    identity = "answering"

    def __init__(self, answer, dimensions=None):
        self.answer = answer
        self.dimensions = dimensions
        self.asked = []

    async def embed(self, texts, *, input_type="document"):
        self.asked.append((list(texts), input_type))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(texts) if callable(self.answer) else self.answer


async def test_a_right_answer_passes_without_a_copy():
    answer = np.array([[1, 2], [3, 4]], dtype=np.float32)
    embedder = Answering(answer, 2)
    assert await embed_checked(embedder, ["a", "b"], input_type="query") is answer
    assert embedder.asked == [(["a", "b"], "query")]


@pytest.mark.parametrize(
    "answer",
    [
        np.array([[1, 2, 0], [3, 4, 0]])[:, :2],
        np.asfortranarray(np.array([[1, 2], [3, 4]], dtype=np.float32)),
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        [[1, 2], [3, 4]],
        [np.array([1.0, 2.0]), (3.0, 4.0)],
    ],
)
async def test_any_numbers_become_contiguous_float32(answer):
    vectors = await embed_checked(Answering(answer, 2), ["a", "b"])
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("known", "width"), [(None, 0), (7, 7)])
async def test_no_texts_make_no_call(known, width):
    embedder = Answering(RuntimeError("called"), known)
    vectors = await embed_checked(embedder, [])
    assert vectors.shape == (0, width)
    assert vectors.dtype == np.float32
    assert embedder.asked == []


@pytest.mark.case("S-058")
@pytest.mark.parametrize("came", [2, 4])
async def test_a_wrong_count_names_both(came):
    with pytest.raises(EmbeddingError, match=rf"3 texts went in and {came} vectors came back"):
        await embed_checked(Answering(np.ones((came, 2))), ["a", "b", "c"])


@pytest.mark.case("S-058")
async def test_vectors_of_different_lengths_are_an_error():
    with pytest.raises(EmbeddingError, match="different lengths"):
        await embed_checked(Answering([[1, 2], [1, 2], [1, 2, 3]]), ["a", "b", "c"])


@pytest.mark.case("S-058")
@pytest.mark.row("D3")
async def test_a_wrong_dimension_names_both():
    with pytest.raises(EmbeddingError, match="vectors of 3 dimensions came back instead of 2"):
        await embed_checked(Answering(np.ones((1, 3)), 2), ["a"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones(2), r"shape \(2,\) instead of \(2, dimensions\)"),
        (np.ones((2, 3, 1)), r"shape \(2, 3, 1\)"),
        (np.ones((2, 0)), r"shape \(2, 0\)"),
        (None, "object"),
        (np.float32(1), "0 vectors came back"),
        ([["1.5"], ["2"]], "numbers are due"),
        ([[True], [False]], "bool"),
        ([[None], [1.0]], "object"),
        ([[1j], [2j]], "complex"),
    ],
)
async def test_another_shape_or_kind_is_an_error(answer, message):
    with pytest.raises(EmbeddingError, match=message):
        await embed_checked(Answering(answer), ["a", "b"])


@pytest.mark.row("D3")
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), 1e300])
async def test_a_number_that_is_not_finite_names_its_text_by_place(bad):
    with pytest.raises(EmbeddingError, match="text 1 holds NaN or infinity") as raised:
        await embed_checked(Answering([[1, 2], [bad, 1], [bad, 2]]), ["a", SECRET, "c"])
    assert raised.value.text_index == 1
    assert SECRET not in str(raised.value)


@pytest.mark.row("L3")
async def test_a_foreign_error_becomes_ours_with_its_cause_and_without_the_text():
    cause = RuntimeError(f"cannot embed {SECRET}")
    with pytest.raises(EmbeddingError, match="answering: embedding text 0 of 1 failed with RuntimeError") as raised:
        await embed_checked(Answering(cause), [SECRET])
    assert raised.value.__cause__ is cause
    assert SECRET not in str(raised.value)


@pytest.mark.row("L3")
@pytest.mark.parametrize("error", [EmbeddingError("ours"), CapabilityError("ours too")])
async def test_an_error_of_ours_passes_unchanged(error):
    with pytest.raises(type(error)) as raised:
        await embed_checked(Answering(error), ["a"])
    assert raised.value is error


@pytest.mark.row("L4")
async def test_cancellation_passes_and_nothing_is_asked_again():
    embedder = Answering(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await embed_checked(embedder, ["a", "b"])
    assert len(embedder.asked) == 1


def refusing(*bad):
    def answer(texts):
        if set(bad) & set(texts):
            raise ValueError("too long")
        return np.ones((len(texts), 2))

    return Answering(answer, 2)


@pytest.mark.case("S-087")
async def test_the_one_text_that_an_embedder_cannot_take_is_named():
    with pytest.raises(EmbeddingError, match="embedding text 2 of 5 failed with ValueError") as raised:
        await embed_checked(refusing("t2"), [f"t{i}" for i in range(5)])
    assert raised.value.text_index == 2


@given(count=st.integers(2, 300), data=st.data())
def test_the_bad_text_is_found_in_few_calls(count, data):
    bad = data.draw(st.integers(0, count - 1))
    embedder = refusing(f"t{bad}")
    with pytest.raises(EmbeddingError) as raised:
        asyncio.run(embed_checked(embedder, [f"t{i}" for i in range(count)]))
    assert raised.value.text_index == bad
    assert len(embedder.asked) <= 3 + (count - 1).bit_length()


@pytest.mark.parametrize("error", [RuntimeError("down"), ConnectionError("down"), TimeoutError()])
async def test_an_outage_blames_no_text(error):
    embedder = Answering(error)
    with pytest.raises(EmbeddingError, match=r"a batch of 64 texts failed") as raised:
        await embed_checked(embedder, ["t"] * 64)
    assert raised.value.text_index is None
    assert len(embedder.asked) == 1 or not isinstance(error, OSError)


async def test_a_passing_fault_blames_no_text():
    faults = [RuntimeError("once")]

    def answer(texts):
        if faults:
            raise faults.pop()
        return np.ones((len(texts), 2))

    with pytest.raises(EmbeddingError) as raised:
        await embed_checked(Answering(answer), ["a", "b", "c"])
    assert raised.value.text_index is None

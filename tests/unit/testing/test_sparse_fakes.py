"""The doubles of sparse encoders."""

from __future__ import annotations

import asyncio

import pytest

from ragstone.errors import EmbeddingError
from ragstone.ports import SparseEmbedder
from ragstone.testing import FailingSparseEncoder, HangingSparseEncoder, HashSparseEncoder


async def test_texts_score_by_the_words_that_they_share():
    encoder = HashSparseEncoder()
    assert isinstance(encoder, SparseEmbedder)
    one, two, none = await encoder.embed_sparse(["Paid leave", "unpaid LEAVE", ""])
    assert set(one.to_dict()) & set(two.to_dict())
    assert len(none) == 0
    assert encoder.requests == [(("Paid leave", "unpaid LEAVE", ""), "document")]
    assert encoder.identity != HashSparseEncoder("other").identity


async def test_a_failing_encoder_fails_when_it_is_told_to():
    encoder = FailingSparseEncoder(after=1)
    await encoder.embed_sparse(["a"])
    with pytest.raises(EmbeddingError):
        await encoder.embed_sparse(["a"])
    with pytest.raises(KeyError):
        await FailingSparseEncoder(KeyError("x")).embed_sparse(["a"])


async def test_a_hanging_encoder_answers_when_it_is_released_and_counts_who_gave_up():
    encoder = HangingSparseEncoder()
    call, other = (asyncio.create_task(encoder.embed_sparse([text])) for text in "ab")
    await encoder.started.wait()
    call.cancel()
    encoder.release.set()
    assert await other == encoder.vectors(["b"])
    with pytest.raises(asyncio.CancelledError):
        await call
    assert encoder.cancelled == 1

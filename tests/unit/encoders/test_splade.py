"""The SPLADE encoder over small graphs of known logits, and over a real small model."""

from __future__ import annotations

import asyncio
import math
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone import extras
from ragstone.encoders import OnnxSpladeEncoder
from ragstone.encoders._sparse_model import SparseModel, strongest
from ragstone.errors import ConfigurationError, EmbeddingError, MissingDependencyError
from ragstone.ports import SparseEmbedder
from ragstone.sparse_vector import SparseVector
from support.bert_onnx import small_splade, small_splade_onnx
from support.onnx_files import write_lookup, write_vocabulary

WORDS = ["kite", "lamp", "moss", "nan", "flat"]
VOCABULARY = 4 + len(WORDS)

pytestmark = pytest.mark.row("B3")


@pytest.fixture
def ids(tmp_path):
    return write_vocabulary(tmp_path / "vocab.txt", WORDS)


@pytest.fixture
def table(ids):
    """Logits that each token gives to each term of the vocabulary, whatever stands around it."""
    logits = np.full((VOCABULARY, VOCABULARY), -1.0, dtype=np.float32)
    logits[ids["[CLS]"], ids["[CLS]"]] = 0.5
    logits[ids["[PAD]"]] = 9.0
    logits[ids["kite"], ids["kite"]] = 3.0
    logits[ids["kite"], ids["lamp"]] = 1.0
    logits[ids["lamp"], ids["lamp"]] = 2.0
    logits[ids["lamp"], ids["moss"]] = 0.0
    logits[ids["nan"], ids["moss"]] = np.nan
    logits[ids["flat"]] = 1.0
    return logits


@pytest.fixture
def make(tmp_path, table):
    def make(graph=None, **options):
        write_lookup(tmp_path / "model.onnx", table, output="logits", **(graph or {}))
        return OnnxSpladeEncoder(tmp_path / "model.onnx", tmp_path / "vocab.txt", threads=1, **options)

    return make


async def test_a_weight_is_log_one_plus_relu_and_the_largest_over_the_tokens(make, ids):
    [vector] = await make().embed_sparse(["kite lamp"])
    assert vector.to_dict() == pytest.approx(
        {ids["[CLS]"]: math.log1p(0.5), ids["kite"]: math.log1p(3.0), ids["lamp"]: math.log1p(2.0)}
    )


async def test_padding_is_not_attended_to(make):
    encoder = make()
    alone = [(await encoder.embed_sparse([text]))[0] for text in ("kite", "kite lamp moss kite lamp")]
    assert await encoder.embed_sparse(["kite", "kite lamp moss kite lamp"]) == alone


async def test_only_the_heaviest_terms_stay(make, ids):
    [vector] = await make(top_terms=2).embed_sparse(["kite lamp"])
    assert vector.indices.tolist() == [ids["kite"], ids["lamp"]]


async def test_of_equal_weights_the_lower_terms_stay(make):
    for count in range(1, VOCABULARY + 2):
        [vector] = await make(top_terms=count).embed_sparse(["flat"])
        assert vector.indices.tolist() == list(range(min(count, VOCABULARY)))


@given(
    weights=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]), min_size=1, max_size=60),
    count=st.integers(1, 70),
)
def test_the_heaviest_terms_are_those_of_a_sort(weights, count):
    order = sorted((-weight, term) for term, weight in enumerate(weights) if weight > 0)
    expected = SparseVector.from_dict({term: -weight for weight, term in order[:count]})
    assert strongest(np.array(weights, dtype=np.float32), count) == expected


async def test_a_text_without_a_positive_logit_has_no_terms(make, tmp_path, table, ids):
    write_lookup(tmp_path / "none.onnx", np.full_like(table, -2.0), output="logits")
    encoder = OnnxSpladeEncoder(tmp_path / "none.onnx", tmp_path / "vocab.txt")
    assert await encoder.embed_sparse(["kite", ""]) == [SparseVector.from_dict({})] * 2


async def test_a_long_text_is_cut(make):
    encoder = make(max_tokens=3)
    assert await encoder.embed_sparse(["kite lamp"]) == await encoder.embed_sparse(["kite"])


async def test_questions_and_passages_are_read_alike(make):
    encoder = make()
    assert await encoder.embed_sparse(["kite"], input_type="query") == await encoder.embed_sparse(["kite"])


async def test_no_texts_give_no_vectors(make):
    assert await make().embed_sparse([]) == []


@pytest.mark.parametrize(
    "graph", [{"inputs": ["input_ids"]}, {"inputs": ["input_ids", "attention_mask"]}, {"last_axis": "vocabulary"}]
)
async def test_graphs_of_other_exporters_give_the_same(make, graph):
    expected = await make().embed_sparse(["kite lamp", "moss"])
    assert await make(graph).embed_sparse(["kite lamp", "moss"]) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(texts=st.lists(st.lists(st.sampled_from(WORDS[:3]), max_size=9).map(" ".join), max_size=70))
def test_batches_by_length_keep_the_order(make, texts):
    encoder = make()

    async def both():
        return await encoder.embed_sparse(texts), [(await encoder.embed_sparse([text]))[0] for text in texts]

    together, alone = asyncio.run(both())
    assert together == alone


async def test_a_run_holds_a_bounded_number_of_logits(make, monkeypatch):
    runs = []
    infer = SparseModel.infer
    monkeypatch.setattr(SparseModel, "infer", lambda self, batch: runs.append(len(batch)) or infer(self, batch))
    monkeypatch.setattr("ragstone.encoders.splade._LOGITS_IN_A_RUN", 20 * VOCABULARY)
    await make().embed_sparse(["kite " * 8] * 4 + ["kite"] * 4 + ["kite " * 40])
    assert runs == [1, 2, 2, 4]


async def test_nan_of_the_model_is_an_error_that_names_the_text(make):
    with pytest.raises(EmbeddingError, match="the logits of text 1 hold NaN") as raised:
        await make().embed_sparse(["kite lamp", "nan", "kite"])
    assert raised.value.text_index == 1


async def test_a_failing_run_is_an_embedding_error(make, tmp_path, table):
    encoder = make()
    write_lookup(tmp_path / "model.onnx", table[:4], output="logits")
    with pytest.raises(EmbeddingError, match="ONNX Runtime failed"):
        await encoder.embed_sparse(["kite"])


async def test_it_is_a_sparse_embedder_whose_identity_tells_apart_what_changes_its_vectors(make, tmp_path, table):
    encoders = [make(**each) for each in ({}, {"name": "other"}, {"max_tokens": 9}, {"top_terms": 9})]
    assert isinstance(encoders[0], SparseEmbedder)
    identities = [encoder.identity for encoder in encoders]
    write_lookup(tmp_path / "model.onnx", table * 2, output="logits")
    identities.append(OnnxSpladeEncoder(tmp_path / "model.onnx", tmp_path / "vocab.txt").identity)
    write_vocabulary(tmp_path / "vocab.txt", WORDS[:2])
    identities.append(OnnxSpladeEncoder(tmp_path / "model.onnx", tmp_path / "vocab.txt").identity)
    assert len(set(identities)) == len(identities)


async def test_identity_is_blind_to_speed(make):
    assert make().identity == OnnxSpladeEncoder(make()._model_path, make()._tokenizer_path, threads=2).identity


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"top_terms": 0}, "top_terms must be at least 1, not 0"),
        ({"top_terms": True}, "top_terms must be an integer"),
        ({"output_name": ""}, "output_name must be the name of an output of the graph, not ''"),
    ],
)
def test_a_bad_option_is_refused_where_it_is_written(tmp_path, make, options, message):
    make()
    with pytest.raises(ConfigurationError, match=message):
        OnnxSpladeEncoder(tmp_path / "model.onnx", tmp_path / "vocab.txt", **options)


@pytest.mark.row("L3")
def test_a_missing_file_is_named(make, tmp_path):
    make()
    with pytest.raises(ConfigurationError, match=r"model_path: there is no file .*absent\.onnx"):
        OnnxSpladeEncoder(tmp_path / "absent.onnx", tmp_path / "vocab.txt")
    with pytest.raises(ConfigurationError, match=r"tokenizer_vocab_path: there is no file .*absent\.txt"):
        OnnxSpladeEncoder(tmp_path / "model.onnx", tmp_path / "absent.txt")


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        ({"inputs": ["pixels"]}, {}, "this graph takes pixels: a SPLADE model takes input_ids"),
        ({}, {"output_name": "scores"}, r"output_name='scores': the graph has no such output, it gives logits \[batch"),
        ({"pooled": True}, {}, r"output_name='logits' has 2 axes, and logits have three.*gives logits \[batch, 9\]"),
        ({}, {"max_tokens": 2}, "max_tokens must be above 2"),
    ],
)
async def test_a_graph_of_another_kind_is_refused_with_what_was_found(make, graph, options, message):
    with pytest.raises(ConfigurationError, match=message):
        await make(graph, **options).load()


@pytest.mark.row("L3")
async def test_an_output_that_is_no_logits_is_refused(make, tmp_path, table):
    write_lookup(tmp_path / "hidden.onnx", table[:, :4], output="last_hidden_state")
    encoder = OnnxSpladeEncoder(tmp_path / "hidden.onnx", tmp_path / "vocab.txt", output_name="last_hidden_state")
    with pytest.raises(ConfigurationError, match="'last_hidden_state' has 4 values a token and the tokenizer 9"):
        await encoder.embed_sparse(["kite"])


@pytest.mark.row("L3")
@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_package_is_one_pip_command(make, monkeypatch, package):
    make()
    real = extras.importlib.import_module

    def fail(name, *rest):
        if name == package:
            raise ModuleNotFoundError(name=package)
        return real(name, *rest)

    monkeypatch.setattr(extras.importlib, "import_module", fail)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragstone\[onnx\]'"):
        make()


@pytest.mark.row("L4")
async def test_a_cancelled_call_stops_at_once_and_leaves_the_loop_free(make, monkeypatch):
    encoder = make()
    await encoder.load()
    started, opened, runs = threading.Event(), threading.Event(), []
    infer = SparseModel.infer

    def held(model, batch):
        runs.append(len(batch))
        started.set()
        opened.wait(10)
        return infer(model, batch)

    monkeypatch.setattr(SparseModel, "infer", held)
    call = asyncio.create_task(encoder.embed_sparse(["kite"] * 100))
    await asyncio.to_thread(started.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 1)
    opened.set()
    assert len(await encoder.embed_sparse(["lamp"])) == 1
    assert runs == [32, 1]


# --- a real model


@pytest.fixture(scope="module")
def real():
    return OnnxSpladeEncoder(small_splade_onnx(), small_splade() / "tokenizer.json", threads=1)


async def test_a_real_model_ranks_what_is_meant_before_what_is_not(real):
    texts = [
        "Employees are entitled to sixteen weeks of paid parental leave.",
        "The car needs new brakes and a new engine.",
        "Boil the pasta in salted water for nine minutes.",
    ]
    passages = await real.embed_sparse(texts)
    for query, best in (("maternity vacation for mothers", 0), ("automobile repair", 1), ("how to cook noodles", 2)):
        [question] = await real.embed_sparse([query], input_type="query")
        scores = [_dot(question, passage) for passage in passages]
        assert max(range(3), key=scores.__getitem__) == best, (query, scores)


async def test_a_real_model_expands_a_text_by_words_that_it_does_not_hold(real):
    [vector] = await real.embed_sparse(["The car needs new brakes."])
    vocabulary = real._thread.loaded._tokenizer._tokenizer.get_vocab()
    weights = vector.to_dict()
    assert weights[vocabulary["car"]] > 0
    assert weights[vocabulary["engine"]] > 0
    assert vocabulary["banana"] not in weights
    assert len(vector) <= 256


async def test_a_real_model_gives_the_same_in_batches_and_alone(real):
    texts = ["a short one", "paid leave " * 90, "", "The quick brown fox jumps over the lazy dog."]
    together = await real.embed_sparse(texts)
    for text, vector in zip(texts, together, strict=True):
        [alone] = await real.embed_sparse([text])
        np.testing.assert_array_equal(alone.indices, vector.indices)
        np.testing.assert_allclose(alone.values, vector.values, rtol=1e-4)


def _dot(one: SparseVector, other: SparseVector) -> float:
    weights = other.to_dict()
    return sum(weight * weights.get(term, 0.0) for term, weight in one.to_dict().items())

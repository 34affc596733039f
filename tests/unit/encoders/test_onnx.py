"""The in-process embedder over small graphs of known results: pooling, batching, errors, cancellation."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from ragstone import extras
from ragstone.encoders import OnnxEmbedder
from ragstone.encoders._sentence_model import SentenceModel
from ragstone.errors import ConfigurationError, EmbeddingError, MissingDependencyError
from ragstone.ports import Embedder
from support.onnx_files import FLOAT, INT32, write_lookup, write_vocabulary

WORDS = ["one", "two", "three", "zero", "nan", "query", "passage", ":"]
DIMENSIONS = 4


@pytest.fixture(scope="module")
def ids(tmp_path_factory):
    return write_vocabulary(tmp_path_factory.mktemp("vocabulary") / "vocab.txt", WORDS)


@pytest.fixture(scope="module")
def table(ids):
    rows = np.random.default_rng(3).standard_normal((len(ids), DIMENSIONS)).astype(np.float32)
    rows[ids["zero"]] = 0.0
    rows[ids["nan"]] = np.nan
    return rows


@pytest.fixture
def make(tmp_path, table):
    def make(graph=None, **options):
        write_vocabulary(tmp_path / "vocab.txt", WORDS)
        write_lookup(tmp_path / "model.onnx", table, **(graph or {}))
        return OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "vocab.txt", threads=1, **options)

    return make


def unit(vector):
    return vector / np.linalg.norm(vector)


async def test_it_is_an_embedder_that_knows_its_dimensions_once_loaded(make):
    embedder = make()
    assert isinstance(embedder, Embedder)
    assert embedder.dimensions is None
    await embedder.load()
    assert embedder.dimensions == DIMENSIONS


async def test_mean_pooling_averages_the_attended_tokens(make, table, ids):
    vectors = await make(normalize=False).embed(["One two", "three"])
    short = table[[ids["[CLS]"], ids["three"], ids["[SEP]"]]].mean(axis=0)
    long = table[[ids["[CLS]"], ids["one"], ids["two"], ids["[SEP]"]]].mean(axis=0)
    np.testing.assert_allclose(vectors, [long, short], rtol=1e-6)


async def test_cls_pooling_takes_the_first_token(make, table, ids):
    vectors = await make(pooling="cls").embed(["one"])
    np.testing.assert_allclose(vectors[0], unit(table[ids["[CLS]"]]), rtol=1e-6)


async def test_a_graph_that_pools_by_itself_is_taken_at_its_word(make, table, ids):
    embedder = make({"pooled": True, "output": "sentence_embedding"}, pooling="model")
    vectors = await embedder.embed(["one"])
    rows = table[[ids["[CLS]"], ids["one"], ids["[SEP]"]]]
    np.testing.assert_allclose(vectors[0], unit(rows.mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize(
    "graph",
    [
        {"inputs": ["input_ids"]},
        {"inputs": ["input_ids", "attention_mask"]},
        {"input_kind": INT32},
        {"output": "token_embeddings"},
        {"output": "whatever"},
        {"last_axis": "hidden"},
    ],
)
async def test_graphs_of_other_exporters_give_the_same(make, graph):
    expected = await make().embed(["one two", "three"])
    embedder = make(graph)
    np.testing.assert_array_equal(await embedder.embed(["one two", "three"]), expected)
    assert embedder.dimensions == DIMENSIONS


async def test_vectors_have_length_one_and_a_zero_vector_stays_zero(make, tmp_path, table):
    vectors = await make().embed(["one", "two three"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-6)
    write_lookup(tmp_path / "zeros.onnx", np.zeros_like(table))
    zeros = await OnnxEmbedder(tmp_path / "zeros.onnx", tmp_path / "vocab.txt").embed(["one", ""])
    np.testing.assert_array_equal(zeros, np.zeros((2, DIMENSIONS)))


@pytest.mark.row("D3")
async def test_nan_of_the_model_is_an_error_that_names_the_text(make):
    with pytest.raises(EmbeddingError, match="text 2 holds NaN") as raised:
        await make().embed(["one", "two", "nan", "three"])
    assert raised.value.text_index == 2


async def test_a_long_text_is_cut(make, table, ids):
    vectors = await make(normalize=False, max_tokens=3).embed(["one two three"])
    np.testing.assert_allclose(vectors[0], table[[ids["[CLS]"], ids["one"], ids["[SEP]"]]].mean(axis=0), rtol=1e-6)


async def test_special_tokens_in_a_text_are_text(make):
    written, unknown = await make().embed(["[SEP]", "( nothing )"])
    np.testing.assert_array_equal(written, unknown)


async def test_a_tokenizer_json_is_read_without_its_padding_and_truncation(make, tmp_path):
    expected = await make().embed(["One two three", "zero"])
    tokenizer = BertWordPieceTokenizer(str(tmp_path / "vocab.txt"))
    tokenizer.enable_padding(length=16, pad_id=1, pad_token="[UNK]")
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    embedder = OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    np.testing.assert_array_equal(await embedder.embed(["One two three", "zero"]), expected)


async def test_each_kind_of_text_has_its_prefix(make):
    plain, prefixed = make(), make(query_prefix="query: ", document_prefix="passage: ")
    expected = await plain.embed(["query: one", "passage: one"])
    np.testing.assert_array_equal((await prefixed.embed(["one"], input_type="query"))[0], expected[0])
    np.testing.assert_array_equal((await prefixed.embed(["one"]))[0], expected[1])


async def test_no_texts_give_no_vectors(make):
    assert (await make().embed([])).shape == (0, DIMENSIONS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    texts=st.lists(st.lists(st.sampled_from(["one", "two", "three", "zero"]), max_size=9).map(" ".join), max_size=80),
    batch_size=st.integers(1, 5),
)
def test_batches_by_length_keep_the_order(make, texts, batch_size):
    embedder = make(batch_size=batch_size, normalize=False)

    async def both():
        return await embedder.embed(texts), [await embedder.embed([text]) for text in texts]

    together, alone = asyncio.run(both())
    np.testing.assert_allclose(together, np.concatenate([np.empty((0, DIMENSIONS)), *alone]), rtol=1e-5, atol=1e-6)


async def test_a_batch_is_padded_only_to_its_longest_text(make, monkeypatch):
    seen = []
    infer = SentenceModel.infer

    def record(self, batch):
        seen.append([len(tokens.ids) for tokens in batch])
        return infer(self, batch)

    monkeypatch.setattr(SentenceModel, "infer", record)
    await make(batch_size=2).embed(["one", "one two three", "one two", "one"])
    assert seen == [[5, 4], [3, 3]]


async def test_a_run_takes_fewer_long_texts(make, monkeypatch):
    seen = []
    infer = SentenceModel.infer
    monkeypatch.setattr(SentenceModel, "infer", lambda self, batch: seen.append(len(batch)) or infer(self, batch))
    texts = ["one " * 600] * 4 + ["one"] * 40
    await make(max_tokens=600).embed(texts)
    assert seen == [3, 3, 32, 6]


@pytest.mark.case("S-053")
async def test_identity_tells_apart_whatever_changes_the_vectors(make, tmp_path, table):
    identities = [
        make(**options).identity
        for options in (
            {},
            {"name": "other"},
            {"pooling": "cls"},
            {"max_tokens": 128},
            {"normalize": False},
            {"query_prefix": "a"},
            {"document_prefix": "a"},
        )
    ]
    write_lookup(tmp_path / "model.onnx", table * 2)
    identities.append(OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "vocab.txt").identity)
    (tmp_path / "model.onnx_data").write_bytes(b"weights")
    identities.append(OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "vocab.txt").identity)
    write_vocabulary(tmp_path / "vocab.txt", [*WORDS, "more"])
    identities.append(OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "vocab.txt").identity)
    assert len(set(identities)) == len(identities)


async def test_identity_is_the_same_for_the_same_and_blind_to_speed(make):
    assert make().identity == make(batch_size=1).identity
    assert make().identity.startswith("onnx:model@")


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "pooling must be one of mean, cls, model, not 'max'"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_size": True}, "batch_size must be an integer"),
        ({"normalize": 1}, "normalize must be True or False"),
    ],
)
def test_a_bad_option_is_refused_where_it_is_written(make, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**options)


@pytest.mark.row("L3")
def test_a_missing_file_is_named(make, tmp_path):
    make()
    with pytest.raises(ConfigurationError, match=r"model_path: there is no file .*absent\.onnx"):
        OnnxEmbedder(tmp_path / "absent.onnx", tmp_path / "vocab.txt")
    with pytest.raises(ConfigurationError, match=r"tokenizer_path: there is no file .*absent\.json"):
        OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "absent.json")


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        ({"inputs": ["pixels"]}, {}, "this graph takes pixels: a sentence transformer takes input_ids"),
        ({"inputs": ["input_ids", "position_ids"]}, {}, "takes input_ids, position_ids"),
        ({"mask_kind": FLOAT}, {}, r"its input 'attention_mask' is a tensor\(float\)"),
        ({"pooled": True, "output": "vec"}, {}, r"gives vec \[batch, 4\]: try pooling='model'"),
        ({}, {"pooling": "model"}, r"last_hidden_state \[batch, sequence, 4\]: try pooling='mean' or 'cls'"),
        ({}, {"max_tokens": 2}, "max_tokens must be above 2"),
    ],
)
async def test_a_graph_of_another_kind_is_refused_with_what_was_found(make, graph, options, message):
    with pytest.raises(ConfigurationError, match=message):
        await make(graph, **options).load()


@pytest.mark.row("L3")
@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt", "tokenizer.json"])
async def test_a_damaged_file_is_named(make, tmp_path, name):
    make()
    (tmp_path / name).write_bytes(b"\x00damaged\n")
    tokenizer = name if name != "model.onnx" else "vocab.txt"
    with pytest.raises(ConfigurationError, match=name):
        await OnnxEmbedder(tmp_path / "model.onnx", tmp_path / tokenizer).load()


async def test_a_failed_load_is_tried_again(make, tmp_path):
    embedder = make()
    good = (tmp_path / "model.onnx").read_bytes()
    (tmp_path / "model.onnx").write_bytes(b"not yet")
    with pytest.raises(ConfigurationError):
        await embedder.embed(["one"])
    (tmp_path / "model.onnx").write_bytes(good)
    assert (await embedder.embed(["one"])).shape == (1, DIMENSIONS)


async def test_a_failing_run_is_an_embedding_error(make, tmp_path, table):
    embedder = make()
    write_lookup(tmp_path / "model.onnx", table[:4])
    with pytest.raises(EmbeddingError, match="ONNX Runtime failed"):
        await embedder.embed(["one"])


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


class Gate:
    """Holds up the model's runs until it is opened, and counts them."""

    def __init__(self, monkeypatch):
        self.started, self.opened = threading.Event(), threading.Event()
        self.runs = self.running = self.most_running = 0
        infer = SentenceModel.infer

        def held(model, batch):
            self.runs += 1
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            self.started.set()
            self.opened.wait(10)
            self.running -= 1
            return infer(model, batch)

        monkeypatch.setattr(SentenceModel, "infer", held)


@pytest.mark.row("L4")
async def test_a_cancelled_call_stops_at_once_and_before_its_next_batch(make, monkeypatch):
    embedder = make(batch_size=1)
    await embedder.load()
    gate = Gate(monkeypatch)
    call = asyncio.create_task(embedder.embed(["one"] * 50))
    await asyncio.to_thread(gate.started.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 1)
    assert gate.running == 1
    gate.opened.set()
    assert (await embedder.embed(["two"])).shape == (1, DIMENSIONS)
    assert gate.runs == 2


@pytest.mark.case("S-059")
async def test_concurrent_calls_share_one_thread_and_leave_the_loop_free(make, monkeypatch):
    embedder = make()
    await embedder.load()
    gate = Gate(monkeypatch)
    before = set(threading.enumerate())
    calls = [asyncio.create_task(embedder.embed([word])) for word in ["one", "two", "three"] * 10]
    await asyncio.to_thread(gate.started.wait, 10)
    new = set(threading.enumerate()) - before
    gate.opened.set()
    vectors = await asyncio.gather(*calls)
    assert len({vector.tobytes() for vector in vectors}) == 3
    assert gate.most_running == 1
    assert len(new) == 1, "only the one in which this test waits"


def test_one_embedder_serves_several_event_loops(make):
    embedder = make()
    first, second = (asyncio.run(embedder.embed(["one"])) for _ in range(2))
    np.testing.assert_array_equal(first, second)

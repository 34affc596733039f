"""The ONNX reranker with a cross-encoder whose scores are known: a sum of weights of shared words."""

from __future__ import annotations

import asyncio
import random
import threading
import time

import numpy as np
import pytest

import ragstone as rs
from ragstone import extras
from ragstone.errors import ConfigurationError, MissingDependencyError, RerankError
from ragstone.models import RerankEvidence
from ragstone.options import RetrievalOptions
from ragstone.ports import Reranker, VocabularyAware
from ragstone.rerankers import _cross_encoder
from ragstone.testing import HashEmbedder
from support.cross_encoder import WEIGHTS, WORDS, write_cross_encoder
from support.onnx_files import write_lookup
from support.parts import names, searching
from support.retrieval import hit
from support.stalls import longest_stall

QUERY = "paid leave for parents"
TEXTS = ["the tower is tall", "Leave is paid.", "parents", "", "lunch at noon for parents: paid leave"]
SCORES = [0.0, 3.0, 4.0, 0.0, 7.0]


@pytest.fixture
def make(tmp_path):
    def make(graph=None, **options):
        model, tokenizer = write_cross_encoder(tmp_path, **(graph or {}))
        return rs.OnnxReranker(model, tokenizer, **options)

    return make


@pytest.mark.row("G2")
@pytest.mark.parametrize(
    ("graph", "factor"),
    [({}, 1.0), ({"columns": None}, 1.0), ({"columns": (0.25, 1.0)}, 0.75), ({"output": "score"}, 1.0)],
    ids=["batch-by-one", "batch", "two-classes", "another-name"],
)
async def test_each_pair_has_its_score_at_its_place(make, graph, factor):
    reranker = make(graph)
    assert isinstance(reranker, Reranker)
    assert await reranker.rerank(QUERY, TEXTS) == [score * factor for score in SCORES]
    assert await reranker.rerank(QUERY, []) == []


@pytest.mark.row("G2")
@pytest.mark.parametrize(("columns", "width"), [((1.0,), 1), ((1.0, 2.0, 3.0), 3)])
async def test_an_output_of_unknown_width_is_judged_when_it_comes(make, columns, width):
    reranker = make({"columns": columns, "open_width": True})
    if width == 1:
        assert await reranker.rerank(QUERY, TEXTS) == SCORES
    else:
        with pytest.raises(RerankError, match=r"output 'logits' has shape \(5, 3\) for 5 pairs"):
            await reranker.rerank(QUERY, TEXTS)


@pytest.mark.row("G2")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"columns": (1.0, 2.0, 3.0)}, r"gives logits \[batch, 3\]: a cross-encoder gives one score a pair"),
        ({"columns": ()}, r"gives logits \[batch, 0\]"),
    ],
)
async def test_a_graph_that_gives_something_else_is_refused_with_its_shape(make, graph, message):
    with pytest.raises(ConfigurationError, match=message):
        await make(graph).load()


@pytest.mark.row("L3")
async def test_an_embedding_model_or_another_input_is_refused(tmp_path, make):
    table = np.zeros((20, 3), dtype=np.float32)
    _, tokenizer = write_cross_encoder(tmp_path)
    embedding = write_lookup(tmp_path / "embedding.onnx", table)
    with pytest.raises(ConfigurationError, match=r"last_hidden_state \[batch, sequence, 3\]"):
        await rs.OnnxReranker(embedding, tokenizer).load()
    other = write_lookup(tmp_path / "other.onnx", table, inputs=("pixels",))
    with pytest.raises(ConfigurationError, match="takes pixels: a cross-encoder takes input_ids"):
        await rs.OnnxReranker(other, tokenizer).load()
    with pytest.raises(ConfigurationError, match="no model that ONNX Runtime can load"):
        await rs.OnnxReranker(tokenizer, tokenizer).load()


@pytest.mark.row("G2")
@pytest.mark.parametrize("batch_size", [1, 3, 32])
async def test_batches_of_any_size_give_the_same_scores_in_the_texts_order(make, batch_size):
    choice = random.Random(7)
    texts = [" ".join(choice.choices(WORDS, k=choice.randrange(40))) for _ in range(60)]
    query = "tower leave tall"
    expected = [sum(WEIGHTS[word] for word in query.split() if word in text.split()) for text in texts]
    assert await make(batch_size=batch_size).rerank(query, texts) == expected


@pytest.mark.row("G2")
async def test_pairs_of_like_length_run_together_within_the_limits(make, monkeypatch):
    runs = []
    real = _cross_encoder.CrossEncoder.infer

    def infer(self, batch):
        runs.append([len(tokens.ids) for tokens in batch])
        return real(self, batch)

    monkeypatch.setattr(_cross_encoder.CrossEncoder, "infer", infer)
    texts = ["lunch " * count for count in (1, 500, 2, 500, 3, 4)]
    await make(batch_size=3).rerank("lunch", texts)
    assert runs == [[504, 504, 8], [7, 6, 5]]
    runs.clear()
    await make().rerank("lunch", ["lunch " * 600] * 20)
    assert runs == [[512] * 8, [512] * 8, [512] * 4]


@pytest.mark.row("G2")
async def test_a_pair_is_cut_at_max_length_the_longer_text_first(make):
    text = "lunch " * 600 + "tower"
    assert await make().rerank("tower", [text]) == [0.0]
    assert await make(max_length=700).rerank("tower", [text]) == [8.0]
    assert await make(max_length=6).rerank("tower " + "lunch " * 50, ["tower"]) == [8.0]
    for length in (1, 3):
        with pytest.raises(ConfigurationError, match=f"must be above|max_length must be above 3.*not {length}"):
            await make(max_length=length).load()


@pytest.mark.row("G2")
@pytest.mark.parametrize("columns", [(1.0,), (1.0, 1.0)], ids=["infinity", "nan"])
async def test_a_score_that_is_not_finite_is_an_error_that_names_the_text(make, columns):
    reranker = make({"weights": {"leave": 3e38}, "columns": columns})
    with pytest.raises(RerankError, match="the score of text 1 is NaN or infinite"):
        await reranker.rerank("leave leave", ["paid", "leave"])


@pytest.mark.row("G2")
@pytest.mark.row("G4")
async def test_how_much_of_the_texts_it_does_not_know_is_told_and_warned_of(make):
    reranker = make()
    assert isinstance(reranker, VocabularyAware)
    await reranker.load()
    assert reranker.unknown_share(["paid leave", "bezahlter Urlaub"]) == 0.5
    assert reranker.unknown_share(["paid leave [UNK]"]) == pytest.approx(3 / 5)
    assert reranker.unknown_share(["", " "]) == 0.0
    hits = [hit("a", 0.9, text="Bezahlter Urlaub und Elternzeit"), hit("b", 0.8, text="paid")]
    page = await searching(hits, reranker=reranker).retrieve("Urlaub paid", RetrievalOptions())
    assert "71% of the tokens are unknown to the reranker" in page.warnings[0]
    known = await searching(hits[1:], reranker=reranker).retrieve("paid leave", RetrievalOptions())
    assert not known.warnings


@pytest.mark.row("G2")
@pytest.mark.row("G4")
async def test_it_reorders_a_page_of_the_pipeline(make):
    reranker = make()
    rag = rs.RagPipeline(embedder=HashEmbedder(256), reranker=reranker)
    for name, text in (
        ("lunch", "lunch at noon for paid"),
        ("leave", "leave for parents"),
        ("tower", "the tall tower"),
    ):
        await rag.ingest_text(text, rs.DocumentMetadata(document_id=name))
    page = await rag.retrieve(QUERY, rs.RetrievalOptions(top_k=2))
    assert [(r.chunk.document_id, r.score) for r in page] == [("leave", 6.0), ("lunch", 1.0)]
    evidence = next(item for item in page[0].evidence if isinstance(item, RerankEvidence))
    assert evidence.reranker == reranker.identity


@pytest.mark.row("G2")
async def test_the_event_loop_stays_free_and_calls_take_turns(make):
    reranker = make(threads=1)
    await reranker.load()
    texts = ["lunch " * 500] * 24

    async def work():
        first, second = await asyncio.gather(reranker.rerank("lunch", texts), reranker.rerank("tower", ["tower"]))
        assert (first, second) == ([0.0] * 24, [8.0])

    assert await longest_stall(work, limit=0.1) < 0.1


@pytest.mark.row("L4")
@pytest.mark.row("G2")
async def test_a_cancelled_call_stops_before_its_next_batch(make, monkeypatch):
    runs, started = [], threading.Event()
    real = _cross_encoder.CrossEncoder.infer

    def infer(self, batch):
        runs.append(len(batch))
        started.set()
        time.sleep(0.05)
        return real(self, batch)

    monkeypatch.setattr(_cross_encoder.CrossEncoder, "infer", infer)
    reranker = make(batch_size=1)
    call = asyncio.create_task(reranker.rerank("tower", ["tower"] * 50))
    await asyncio.to_thread(started.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await reranker.rerank("tower", ["tower"]) == [8.0]
    assert len(runs) <= 3


@pytest.mark.row("G2")
async def test_identity_tells_apart_whatever_changes_the_scores(make, tmp_path):
    first = make().identity
    assert make(batch_size=7, threads=1).identity == first
    assert make(max_length=100).identity != first
    assert make({"weights": {"paid": 3.0}}).identity != first
    assert make(name="other").identity.startswith("onnx:other@")
    assert first.startswith("onnx:cross-encoder@")
    assert str(tmp_path) in repr(make())


@pytest.mark.row("G2")
@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length must be at least 1, not 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
    ],
)
def test_a_bad_option_is_refused_where_it_is_written(make, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**options)


@pytest.mark.row("L3")
def test_a_missing_file_or_package_says_what_to_do(make, tmp_path, monkeypatch):
    model, tokenizer = write_cross_encoder(tmp_path)
    with pytest.raises(ConfigurationError, match="model_path: there is no file"):
        rs.OnnxReranker(tmp_path / "none.onnx", tokenizer)
    with pytest.raises(ConfigurationError, match="tokenizer_path: there is no file"):
        rs.OnnxReranker(model, tmp_path / "none.json")

    def fail(name, *rest):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(extras.importlib, "import_module", fail)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragstone\[onnx\]'"):
        rs.OnnxReranker(model, tokenizer)


def test_one_reranker_serves_several_event_loops(make):
    reranker = make()
    assert asyncio.run(reranker.rerank(QUERY, TEXTS)) == asyncio.run(reranker.rerank(QUERY, TEXTS)) == SCORES


async def test_names_are_those_of_the_documents(make):
    hits = [hit(name, 0.5, text=text) for name, text in zip("abcde", TEXTS, strict=True)]
    assert names(await searching(hits, reranker=make()).retrieve(QUERY, RetrievalOptions())) == list("ecbad")

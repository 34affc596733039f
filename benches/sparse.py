"""Learned sparse vectors: the ten best dot products of 30 weighted terms with documents of about 120.

Ragstone beside splade-index (numba) and scipy, on the same vectors, which are given: no model runs. They are synthetic,
shaped as SPLADE's are: half of a document's terms come from a topic, half from a vocabulary of 30,522 whose frequencies
fall by Zipf's law, with log-normal weights; a question takes terms from the heaviest of one document and some others.

    python -m benches.run sparse
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benches.figures import percentile
from benches.harness import OURS, Session
from benches.worker import built, seconds_each

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Learned sparse vectors"
ABOUT = """\
- All are exact, which is checked first: same ids, same scores. The vectors are synthetic, of the shape of SPLADE's.
- splade-index is its index on numba with one thread, without its model and torch: it is given the weights that a model
  would have computed. scipy is the whole matrix times the question, the best ten by `argpartition`.
- Ragstone takes a `SparseVector` and gives back document ids, chunk indices and scores. It alone can change.
- Memory is not measured: the vectors are made in the process first, and what that frees the index takes up again."""

VOCABULARY = 30_522
TERMS = 120
TOPICS = 500
TOPIC_TERMS = 400
QUESTIONS = 500
K = 10
CHECKED = 100
WARM_UP = 2000

Integers = NDArray[np.int32]
Weights = NDArray[np.float32]
Question = tuple[Integers, Weights]


class Rows(NamedTuple):
    """Sparse vectors one after the other: where each begins, its terms ascending, their weights."""

    starts: NDArray[np.int64]
    terms: Integers
    weights: Weights

    def first(self, count: int) -> Rows:
        end = self.starts[count]
        return Rows(self.starts[: count + 1], self.terms[:end], self.weights[:end])


def made(count: int) -> tuple[Rows, list[Question]]:
    """Return `count` documents and the questions, the same at every call."""
    rng = np.random.default_rng(11)
    frequency = 1 / (np.arange(VOCABULARY) + 30.0) ** 0.95
    bounds = np.cumsum(frequency / frequency.sum())
    topics = np.searchsorted(bounds, rng.random((TOPICS, TOPIC_TERMS)))
    sizes = np.clip(rng.lognormal(np.log(TERMS), 0.3, count), 20, 400).astype(np.int64)
    documents = np.repeat(np.arange(count), sizes)
    of_topic = topics[rng.integers(TOPICS, size=count)[documents], rng.integers(TOPIC_TERMS, size=len(documents))]
    background = np.searchsorted(bounds, rng.random(len(documents)))
    terms = np.where(rng.random(len(documents)) < 0.5, of_topic, background)
    # A document's equal terms become one.
    keys = np.unique(documents * VOCABULARY + np.minimum(terms, VOCABULARY - 1))
    starts = np.searchsorted(keys, np.arange(count + 1) * VOCABULARY)
    weights = rng.lognormal(-0.7, 0.7, len(keys)).astype(np.float32)
    rows = Rows(starts, (keys % VOCABULARY).astype(np.int32), weights)
    return rows, [_question(rows, rng, bounds) for _ in range(QUESTIONS)]


def _question(rows: Rows, rng: np.random.Generator, bounds: NDArray[np.float64]) -> Question:
    start, end = rows.starts[(document := int(rng.integers(len(rows.starts) - 1))) : document + 2]
    heavy = rows.terms[start:end][np.argsort(-rows.weights[start:end])[:40]]
    own = rng.choice(heavy, min(22, len(heavy)), replace=False)
    terms = np.unique(np.concatenate([own, np.searchsorted(bounds, rng.random(9))])).astype(np.int32)
    return terms, rng.lognormal(-0.3, 0.7, len(terms)).astype(np.float32)


class Peer:
    """What the peers share: the vectors and how a round is timed."""

    def load(self, count: int) -> None:
        rows, questions = made(count)
        self.questions = [self.asked(*question) for question in questions]
        self.rows = rows.first(WARM_UP)
        self.build()
        self.search(self.questions[0])
        self.rows = rows

    def asked(self, terms: Integers, weights: Weights) -> Any:
        """Return the question as the peer's encoder would hand it over."""
        return terms, weights

    def build(self) -> None:
        raise NotImplementedError

    def search(self, question: Any) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def time_build(self) -> dict[str, float | None]:
        return built(self.build)

    def answers(self) -> list[list[tuple[Any, float]]]:
        return [self.search(question) for question in self.questions[:CHECKED]]

    def time_search(self, budget: float) -> list[float]:
        return seconds_each(self.search, self.questions, budget=budget)


class Ragstone(Peer):
    def load(self, count: int) -> None:
        from ragstone.sparse_vector import SparseVector

        self.vector = SparseVector
        super().load(count)

    def build(self) -> None:
        from ragstone.engine.sparse import SparseIndex

        self.index = SparseIndex()
        starts, terms, weights = self.rows
        step = 1000  # so that what is handed over is not held as a whole
        for first in range(0, len(starts) - 1, step):
            numbers = range(first, min(first + step, len(starts) - 1))
            spans = [slice(starts[number], starts[number + 1]) for number in numbers]
            vectors = [self.vector(terms[span], weights[span]) for span in spans]
            self.index.add_many(numbers, [0] * len(numbers), vectors)

    def asked(self, terms: Integers, weights: Weights) -> Any:
        return self.vector(terms, weights)

    def search(self, question: Any) -> list[tuple[Any, float]]:
        return [(hit.document_id, hit.score) for hit in self.index.search(question, top_k=K)]


class Scipy(Peer):
    def build(self) -> None:
        from scipy.sparse import csr_array

        starts, terms, weights = self.rows
        self.matrix = csr_array((weights, terms, starts), shape=(len(starts) - 1, VOCABULARY)).copy()

    def search(self, question: Question) -> list[tuple[Any, float]]:
        asked = np.zeros(VOCABULARY, np.float32)
        asked[question[0]] = question[1]
        scores = self.matrix @ asked
        best = np.argpartition(scores, -K)[-K:]
        best = best[np.argsort(-scores[best])]
        return list(zip(best.tolist(), scores[best].tolist(), strict=True))


class SpladeIndex(Peer):
    """Its index and search; the model in it is `Given`, which hands out what is given."""

    def build(self) -> None:
        from splade_index import SPLADE

        self.index = SPLADE(backend="numba")
        count = len(self.rows.starts) - 1
        self.given = Given(self.rows)
        self.index.index(self.given, [""] * count, show_progress=False, compile_numba_code=False)

    def search(self, question: Question) -> list[tuple[Any, float]]:
        self.given.question = question
        found = self.index.retrieve(["question"], k=K, show_progress=False)
        return list(zip(found.doc_ids[0].tolist(), found.scores[0].tolist(), strict=True))


class Given:
    """Stands for the model and, in splade-index's eyes, for the tensors that it returns."""

    tokenizer = SimpleNamespace(get_vocab=dict)

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.question: Question | None = None

    def encode_document(self, documents: list[str], **_: object) -> Any:
        from scipy.sparse import csr_array

        starts, terms, weights = self.rows
        columns = csr_array((weights, terms, starts), shape=(len(documents), VOCABULARY)).tocsc()
        tensor = SimpleNamespace(
            values=lambda: _Array(columns.data),
            row_indices=lambda: _Array(columns.indices),
            ccol_indices=lambda: _Array(columns.indptr),
        )
        return SimpleNamespace(to_sparse_csc=lambda: tensor)

    def encode_query(self, _: list[str], **__: object) -> list[Any]:
        assert self.question is not None
        terms, weights = self.question
        tensor = SimpleNamespace(indices=lambda: [_Array(terms)], values=lambda: _Array(weights))
        return [SimpleNamespace(coalesce=lambda: tensor)]


class _Array(NamedTuple):
    array: NDArray[Any]

    def numpy(self) -> NDArray[Any]:
        return self.array


PEERS = {OURS: Ragstone, "splade-index": SpladeIndex, "scipy": Scipy}


def run(session: Session) -> None:
    """Build, compare answers, time them on one thread."""
    count = 2 * session.settings.chunks
    workers = session.loaded(PEERS, threads=1, count=count)
    builds = session.built(workers)
    session.record(f"building from {count:,} vectors", "s", builds, lambda result: result["seconds"])
    session.check_rankings("ten best", {peer: worker.call("answers").result for peer, worker in workers.items()})
    one = session.rounds(workers, "time_search", budget=session.settings.budget)
    session.record(
        "one question, median", "µs", one, lambda seconds: percentile(seconds, 50) * 1e6, goals={"splade-index": 1.5}
    )
    session.record("one question, 99th percentile", "µs", one, lambda seconds: percentile(seconds, 99) * 1e6)

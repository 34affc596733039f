"""The nearest ten by cosine, exact: one question, a batch, a filter, a vector added.

Ragstone beside faiss (IndexFlatIP) and numpy (BLAS), on unit vectors, with one thread and with all of them; and beside
a loop that does no more than read as much memory, which no exact scan can beat.

    python -m benches.run dense
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benches import corpus
from benches.figures import percentile
from benches.harness import OURS, Session, Worker
from benches.worker import seconds_each, threads

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Vectors"
ABOUT = """\
- Reading alone is a compiled loop that adds up as many numbers as the vectors have, on pages of 2 MiB: the limit of a
  scan that looks at every vector. Batches look at each vector once for many questions and are not bound by it.
- All three are exact, which is checked first: same ids, same scores. The vectors are synthetic; that changes nothing
  for an exact scan. Ragstone returns document ids, chunk indices and handles, faiss and numpy row numbers.
- faiss gains nothing from a second thread on one question; with 32 at once all three share out the work.
- The filter lets one vector in ten through: faiss by a bitmap made before, numpy by rows gathered for each question,
  Ragstone by typed metadata, evaluated for each question.
- A vector is added and found again: numpy copies its matrix to do so."""

Vectors = NDArray[np.float32]

DIMENSIONS = 384
K = 10
BATCH = 32
CHECKED = 100
PARTS = 10
ALLOWED_PART = 3


class Peer:
    """What the peers share: the vectors and how a round is timed."""

    scans_rows = False
    """Whether it searches the vectors as they were given, rather than a copy."""

    def load(self, count: int) -> None:
        self.rows, self.asked = corpus.vectors(count, DIMENSIONS)
        self.build()
        if not self.scans_rows:
            del self.rows

    def build(self) -> None:
        raise NotImplementedError

    def search(self, question: Vectors) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def search_many(self, questions: Vectors) -> object:
        raise NotImplementedError

    def search_part(self, question: Vectors) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def add(self, number: int, vector: Vectors) -> None:
        raise NotImplementedError

    def answers(self) -> list[list[tuple[Any, float]]]:
        return [self.search(question) for question in self.asked[:CHECKED]]

    def part_answers(self) -> list[list[tuple[Any, float]]]:
        return [self.search_part(question) for question in self.asked[:CHECKED]]

    def time_search(self, budget: float) -> list[float]:
        return seconds_each(self.search, self.asked, budget=budget)

    def time_search_many(self, budget: float) -> list[float]:
        starts = range(0, len(self.asked) - BATCH, BATCH)
        return seconds_each(self.search_many, [self.asked[start : start + BATCH] for start in starts], budget=budget)

    def time_search_part(self, budget: float) -> list[float]:
        return seconds_each(self.search_part, self.asked, budget=budget)

    def time_add(self, times: int) -> list[float]:
        spent = []
        for vector in self.asked[:times]:
            # Off the axis of every vector added in an earlier round, so that the nearest is this one alone.
            fresh = vector + np.random.default_rng(self.size()).normal(0, 0.05, DIMENSIONS).astype(np.float32)
            fresh /= np.linalg.norm(fresh)
            number = self.size()
            start = time.perf_counter()
            self.add(number, fresh)
            found = self.search(fresh)
            spent.append(time.perf_counter() - start)
            if found[0][0] != number:
                raise AssertionError(f"asked for vector {number}, got {found[0]}")
        return spent

    def size(self) -> int:
        raise NotImplementedError


class Ragstone(Peer):
    def build(self) -> None:
        from ragstone.engine.dense import VectorIndex

        self.index = VectorIndex(DIMENSIONS)
        numbers = range(len(self.rows))
        self.index.upsert(numbers, [0] * len(self.rows), self.rows, [{"part": number % PARTS} for number in numbers])

    def search(self, question: Vectors) -> list[tuple[Any, float]]:
        return [(hit.document_id, hit.score) for hit in self.index.search(question, top_k=K)]

    def search_many(self, questions: Vectors) -> object:
        return self.index.search_many(questions, top_k=K)

    def search_part(self, question: Vectors) -> list[tuple[Any, float]]:
        hits = self.index.search(question, top_k=K, metadata_filter={"part": ALLOWED_PART})
        return [(hit.document_id, hit.score) for hit in hits]

    def add(self, number: int, vector: Vectors) -> None:
        self.index.upsert([number], [0], vector[None], [{"part": number % PARTS}])

    def size(self) -> int:
        return len(self.index)


class Faiss(Peer):
    def build(self) -> None:
        import faiss

        self.index = faiss.IndexFlatIP(DIMENSIONS)
        self.index.add(self.rows)
        allowed = np.packbits(np.arange(len(self.rows)) % PARTS == ALLOWED_PART, bitorder="little")
        self.part = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(allowed))
        self.bitmap = allowed  # faiss reads it where it lies

    def nearest(self, question: Vectors, **options: Any) -> list[tuple[Any, float]]:
        scores, numbers = self.index.search(question[None], K, **options)
        return list(zip(numbers[0].tolist(), scores[0].tolist(), strict=True))

    def search(self, question: Vectors) -> list[tuple[Any, float]]:
        return self.nearest(question)

    def search_many(self, questions: Vectors) -> object:
        return self.index.search(questions, K)

    def search_part(self, question: Vectors) -> list[tuple[Any, float]]:
        return self.nearest(question, params=self.part)

    def add(self, number: int, vector: Vectors) -> None:  # noqa: ARG002  faiss numbers by itself
        self.index.add(vector[None])

    def size(self) -> int:
        return int(self.index.ntotal)


class Numpy(Peer):
    scans_rows = True

    def build(self) -> None:
        self.part = np.arange(ALLOWED_PART, len(self.rows), PARTS)

    def search(self, question: Vectors) -> list[tuple[Any, float]]:
        scores = self.rows @ question
        best = np.argpartition(scores, -K)[-K:]
        best = best[np.argsort(-scores[best])]
        return list(zip(best.tolist(), scores[best].tolist(), strict=True))

    def search_many(self, questions: Vectors) -> object:
        scores = questions @ self.rows.T
        best = np.argpartition(scores, -K, axis=1)[:, -K:]
        found = np.take_along_axis(scores, best, axis=1)
        order = np.argsort(-found, axis=1)
        return np.take_along_axis(best, order, axis=1), np.take_along_axis(found, order, axis=1)

    def search_part(self, question: Vectors) -> list[tuple[Any, float]]:
        scores = self.rows[self.part] @ question
        best = np.argpartition(scores, -K)[-K:]
        best = best[np.argsort(-scores[best])]
        return list(zip(self.part[best].tolist(), scores[best].tolist(), strict=True))

    def add(self, number: int, vector: Vectors) -> None:  # noqa: ARG002  a row's number is its place
        self.rows = np.vstack([self.rows, vector])

    def size(self) -> int:
        return len(self.rows)


class Reading(Peer):
    """Reads the memory that as many vectors take, with all threads of the process."""

    def load(self, count: int) -> None:
        import numba

        self.asked = np.zeros((1000, DIMENSIONS), np.float32)
        # Large arrays of numpy lie on huge pages.
        values = np.ones(count * DIMENSIONS, np.float32)
        self.pool = ThreadPoolExecutor(threads())
        self.shares = np.array_split(values, threads())
        self.total: Any = numba.njit(nogil=True, fastmath=True)(_total)

    def search(self, question: Vectors) -> list[tuple[Any, float]]:  # noqa: ARG002  it looks at nothing
        if len(self.shares) == 1:
            return [(0, self.total(self.shares[0]))]
        return list(enumerate(self.pool.map(self.total, self.shares)))


def _total(values: Vectors) -> float:
    # Four places at a time, since the processor then fetches ahead at all of them; the last few do not count.
    quarter = values.size // 4
    a = b = c = d = np.float32(0.0)
    for place in range(quarter):
        a += values[place]
        b += values[quarter + place]
        c += values[2 * quarter + place]
        d += values[3 * quarter + place]
    return a + b + c + d


LIMIT = "reading alone"
PEERS = {OURS: Ragstone, "faiss": Faiss, "numpy": Numpy, LIMIT: Reading}


def run(session: Session) -> None:
    """Check the answers, then time one thread and all of them."""
    settings = session.settings
    for count in dict.fromkeys((1, settings.threads)):
        workers = session.loaded(PEERS, threads=count, count=settings.vectors)
        searching = {peer: worker for peer, worker in workers.items() if peer != LIMIT}
        if count == 1:
            _check(session, searching)
        _time(session, workers, count)
        if count == 1:
            _time_live(session, searching)
        for worker in workers.values():
            worker.close()


def _check(session: Session, workers: dict[str, Worker]) -> None:
    for method, what in (("answers", "ten nearest"), ("part_answers", "ten nearest that pass the filter")):
        session.check_rankings(what, {peer: worker.call(method).result for peer, worker in workers.items()})


def _time(session: Session, workers: dict[str, Worker], count: int) -> None:
    settings = session.settings
    label = f"{settings.vectors:,} vectors, {count} thread{'s' if count > 1 else ''}"
    one = session.rounds(workers, "time_search", budget=settings.budget)
    goals = {LIMIT: 0.9} if count == 1 else {LIMIT: 0.9, "faiss": 1.5, "numpy": 1.5}
    session.record(f"one question, {label}", "ms", one, _median_ms, goals=goals)
    gigabytes = settings.vectors * DIMENSIONS * 4 / 1e9
    session.record(
        f"memory read a second, {label}",
        "GB/s",
        one,
        lambda seconds: gigabytes / percentile(seconds, 50),
        more_is_better=True,
    )
    searching = {peer: worker for peer, worker in workers.items() if peer != LIMIT}
    many = session.rounds(searching, "time_search_many", budget=settings.budget)
    session.record(f"{BATCH} questions at once, {label}", "ms", many, _median_ms, goals={"numpy": 1.2})


def _time_live(session: Session, workers: dict[str, Worker]) -> None:
    label = f"{session.settings.vectors:,} vectors, 1 thread"
    part = session.rounds(workers, "time_search_part", budget=session.settings.budget)
    session.record(f"one question, filter of 10 %, {label}", "ms", part, _median_ms)
    added = session.rounds(workers, "time_add", times=3)
    session.record(f"adding one vector and finding it, {label}", "ms", added, _median_ms)


def _median_ms(seconds: list[float]) -> float:
    return percentile(seconds, 50) * 1e3

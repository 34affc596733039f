"""Many threads, forked processes, and the interpreter lock."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ragstone.engine.dense import VectorIndex

DIMENSIONS = 128
ENOUGH_FOR_THREADS = 40_000


@pytest.fixture(scope="module")
def large() -> tuple[VectorIndex, np.ndarray]:
    vectors = np.random.default_rng(5).standard_normal((ENOUGH_FOR_THREADS, DIMENSIONS)).astype(np.float32)
    index = VectorIndex()
    index.upsert(["d"] * len(vectors), range(len(vectors)), vectors)
    return index, vectors


@pytest.mark.row("D1", "A6")
def test_a_divided_scan_finds_what_numpy_finds(large):
    index, vectors = large
    query = vectors[17] + vectors[40]
    cosines = vectors.astype(np.float64) @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    hits = index.search(query, top_k=50)
    assert [hit.chunk_index for hit in hits] == np.argsort(-cosines)[:50].tolist()
    assert [hit.score for hit in hits] == pytest.approx(np.sort(cosines)[::-1][:50], abs=1e-6)


@pytest.mark.row("D1")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_child_searches(large):
    index, vectors = large
    wanted = index.search(vectors[3])  # the parent's threads exist by now; the child inherits none of them
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(index.search(vectors[3])), daemon=True)
    child.start()
    try:
        assert receiver.poll(60), "the child waits for ever"
        assert receiver.recv() == wanted
    finally:
        child.kill()
        child.join()
    assert index.search(vectors[3]) == wanted


@pytest.mark.row("D1")
def test_the_interpreter_lock_is_released(large):
    index, vectors = large

    def longest_gap() -> tuple[float, float]:
        """The main thread's longest pause while another thread searches, and how long the search took."""
        started, took = threading.Event(), []

        def search() -> None:
            started.set()
            begin = time.perf_counter()
            index.search_many(vectors[:64], top_k=1)
            took.append(time.perf_counter() - begin)

        thread = threading.Thread(target=search)
        thread.start()
        started.wait()
        last, gap = time.perf_counter(), 0.0
        while not took:
            now = time.perf_counter()
            last, gap = now, max(gap, now - last)
        thread.join()
        return gap, took[0]

    # Held, the lock would stop the main thread for the whole search, every time.
    assert min(gap / took for gap, took in (longest_gap() for _ in range(5))) < 0.5


@pytest.mark.row("D1")
def test_adding_removing_and_searching_at_once():
    index, stop, rng = VectorIndex(2), threading.Event(), np.random.default_rng(6)
    index.upsert(["fixed"], [0], [[1, 0]])

    def write(worker: int) -> None:
        for round_ in range(60):
            count = int(rng.integers(1, 40)) if worker == 0 else 20
            index.replace_document(f"w{worker}", range(count), [[round_ + 1, worker + 1]] * count)
            if round_ % 3 == 2:
                index.remove(f"w{worker}")

    def read() -> int:
        pages = 0
        while not (pages and stop.is_set()):
            hits = index.search([1, 0], top_k=500)
            assert ("fixed", 0, 1.0, 0) in hits
            assert hits == sorted(hits, key=lambda hit: (-hit.score, hit[:2]))
            for worker in (1, 2):
                scores = [hit.score for hit in hits if hit.document_id == f"w{worker}"]
                assert len(scores) in (0, 20)
                assert len(set(scores)) <= 1
            pages += 1
        return pages

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for writer in [pool.submit(write, worker) for worker in range(3)]:
                writer.result()
        finally:
            stop.set()
        assert all(reader.result() > 0 for reader in readers)
    assert index.search([1, 0]) == [("fixed", 0, 1.0, 0)]

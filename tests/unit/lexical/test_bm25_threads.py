"""Many threads at once, and many processes."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from ragstone.engine.lexical import Bm25Index

CHUNKS = 7


def churn(index: Bm25Index, name: str, stop: threading.Event) -> None:
    for version in itertools.count():
        if stop.is_set():
            return
        index.replace_document(name, range(CHUNKS), [f"{name} version{version}"] * CHUNKS)
        index.add_many([f"{name}-noise"] * 3, range(3), ["noise and nothing else"] * 3)
        if version % 3 == 2:
            index.remove(name)
            index.remove(f"{name}-noise")


def watch(index: Bm25Index, name: str, stop: threading.Event, seen: Counter[tuple[int, ...]]) -> None:
    while not stop.is_set():
        seen[tuple(hit.chunk_index for hit in index.search(name, top_k=100))] += 1


@pytest.mark.row("A4")
def test_no_search_sees_half_a_document() -> None:
    index, stop, whole = Bm25Index(), threading.Event(), tuple(range(CHUNKS))
    pages: dict[str, Counter[tuple[int, ...]]] = {"ant": Counter(), "bee": Counter()}
    threads = [threading.Thread(target=churn, args=(index, name, stop)) for name in pages]
    threads += [threading.Thread(target=watch, args=(index, name, stop, seen)) for name, seen in pages.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while min(seen[whole] for seen in pages.values()) < 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    for seen in pages.values():
        assert seen[whole] >= 200
        assert set(seen) <= {(), whole}

    for name in pages:
        index.remove(name)
        index.remove(f"{name}-noise")
        index.add(name, 0, name)
    fresh = Bm25Index()
    fresh.add_many(list(pages), [0, 0], list(pages))
    assert index.search("ant bee noise") == fresh.search("ant bee noise")


@pytest.mark.row("A4")
@pytest.mark.case("S-059")
def test_other_threads_run_while_the_core_works() -> None:
    texts = [" ".join(f"w{number * step % 997}" for step in range(1, 40)) for number in range(50_000)]
    query = " ".join(f"w{number}" for number in range(997))
    index = Bm25Index()
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            ticks.append(time.perf_counter())

    ticker = threading.Thread(target=tick)
    ticker.start()
    for work in (
        lambda: index.add_many(range(len(texts)), [0] * len(texts), texts),
        lambda: index.search_many([query] * 40, top_k=1),
    ):
        start = time.perf_counter()
        work()
        end = time.perf_counter()
        during = sum(start < moment < end for moment in ticks)
        assert during > 10 * (end - start), f"{during} ticks of a millisecond in {end - start:.2f} s"
    stop.set()
    ticker.join()


@pytest.mark.row("A4")
def test_reading_a_large_batch_gives_way() -> None:
    """With no thread ever asked to give up the interpreter, another runs only where the core pauses by itself."""
    chunks, runs, stop = 100_000, 0, threading.Event()
    started = threading.Event()
    seen: list[int] = []

    def run() -> None:
        nonlocal runs
        while not stop.is_set():
            runs += 1
            started.set()
            time.sleep(0)

    def metadata() -> Iterator[dict[str, object]]:
        for _ in range(chunks):
            seen.append(runs)
            yield {}

    index, runner = Bm25Index(), threading.Thread(target=run)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        runner.start()
        started.wait()
        index.add_many(range(chunks), [0] * chunks, ["a"] * chunks, metadata())  # type: ignore[arg-type]
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        runner.join()
    # Reading so much takes many times the millisecond after which the core pauses, on any machine.
    assert len(seen) == chunks
    assert len(set(seen)) > 5


SCRIPT = """
import hashlib, os, sys
from ragstone.engine.lexical import Bm25Index

texts = [f"n{number % 91} m{number % 7} all" for number in range(3000)]
index = Bm25Index()
index.add_many(range(3000), [0] * 3000, texts)
queries = [f"n{number} m{number % 7} all" for number in range(60)]
page = repr(index.search_many(queries, top_k=25)).encode()
if sys.argv[1] == "fork":
    child = os.fork()
    if child == 0:
        index.add_many(range(3000), [1] * 3000, texts)
        os._exit(0 if len(index.search_many(queries, top_k=25)) == 60 else 1)
    assert os.waitpid(child, 0)[1] == 0
print(hashlib.sha256(page).hexdigest())
"""


def run(argument: str, threads: str) -> str:
    environment = {**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, argument]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.row("A6")
def test_pages_are_the_same_on_any_number_of_threads() -> None:
    assert len({run("", "1"), run("", "2"), run("", "5")}) == 1


@pytest.mark.row("A4")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_search_and_write() -> None:
    assert run("fork", "3") == run("", "3")

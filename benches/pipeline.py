"""Hybrid retrieval from question to chunks: the pipeline beside a stack by hand and beside the frameworks.

`RagPipeline` in memory, vectors and BM25 fused by RRF, beside faiss, bm25s (numba) and a dictionary, and beside the
hybrid retrieval of LanceDB, LangChain, LlamaIndex and Haystack. The vectors are given: no model runs. Each arm fetches
20, ten come back.

    python -m benches.run pipeline
"""

from __future__ import annotations

from benches.figures import overlap, percentile
from benches.frameworks import Haystack, LanceDb, LangChain, LangChainFaiss, LlamaIndex
from benches.harness import OURS, Session, Worker
from benches.stacks import ByHand, Ragstone, RagstoneInt8

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Hybrid retrieval"
ABOUT = """\
- The pipeline gives back chunks with their evidence (arm, rank, score, contribution), checks its options and runs the
  two arms in worker threads, off the event loop; the stack by hand gives back texts and does nothing else. With int8
  the pipeline searches its vectors by codes and scores what it finds exactly.
- bm25s reads text its own way, and the dictionary and Ragstone break ties in their own, so the pages overlap rather
  than being equal. The stack by hand cannot take in or remove a document without building bm25s anew.
- LangChain is `EnsembleRetriever` over its in-memory store, or over faiss, and `BM25Retriever`; LlamaIndex is
  `QueryFusionRetriever` over a vector index and its `BM25Retriever`; Haystack a pipeline of its in-memory retrievers
  and a `DocumentJoiner`; LanceDB its hybrid search with `RRFReranker` over a table on disk, without a vector index, so
  that all are exact. Their keyword rankings have other tokens and, in part, other formulas. The slow ones are asked a
  few questions a round; nothing is extrapolated."""

INT8 = "ragstone with int8"
BY_HAND = "faiss + bm25s by hand"
PEERS = {
    OURS: Ragstone,
    INT8: RagstoneInt8,
    BY_HAND: ByHand,
    "LanceDB": LanceDb,
    "LangChain, faiss": LangChainFaiss,
    "LangChain": LangChain,
    "LlamaIndex": LlamaIndex,
    "Haystack": Haystack,
}
CHECKED = 100
CHECKED_SLOW = 5
GOALS = {
    BY_HAND: 1.3,
    "LanceDB": 25.0,
    "LangChain, faiss": 40.0,
    "LangChain": 200.0,
    "LlamaIndex": 200.0,
    "Haystack": 200.0,
}


def run(session: Session) -> None:
    """Build all, compare pages, time them."""
    settings = session.settings
    workers = session.loaded(PEERS, folder=str(settings.data), documents=settings.chunks)
    builds = session.built(workers)
    size = f"{settings.chunks:,} chunks"
    session.record(f"indexing {size}, vectors given", "s", builds, lambda result: result["seconds"])
    session.record(f"memory of {size} beside texts and vectors", "MiB", builds, lambda result: result["mib"])
    _check(session, workers)
    one = session.rounds(workers, "time_search", budget=settings.budget)
    int8 = one.pop(INT8)
    session.record("one question, median", "ms", one, _median_ms, goals=GOALS)
    quick = {OURS: one[OURS], BY_HAND: one[BY_HAND]}
    session.record("one question, 99th percentile", "ms", quick, lambda seconds: percentile(seconds, 99) * 1e3)
    session.record("one question, int8, median", "ms", {**quick, OURS: int8}, _median_ms, goals={BY_HAND: 2.0})
    filtering = {peer: workers[peer] for peer in quick}
    part = session.rounds(filtering, "time_search_part", budget=settings.budget)
    session.record("one question, filter of 10 %, median", "ms", part, _median_ms)


def _check(session: Session, workers: dict[str, Worker]) -> None:
    pages = {peer: _pages(worker, "answers") for peer, worker in workers.items()}
    for peer in workers:
        if peer != OURS:
            shared = overlap(pages[OURS][: len(pages[peer])], pages[peer])
            session.check(peer, "pages", f"{shared:.1%} of the ten chunks are the same")
    shared = overlap(*(_pages(workers[peer], "part_answers") for peer in (OURS, BY_HAND)))
    session.check(BY_HAND, "filtered pages", f"{shared:.1%} of the ten chunks are the same")


def _pages(worker: Worker, method: str) -> list[list[int]]:
    count = CHECKED if worker.peer in {OURS, INT8, BY_HAND} else CHECKED_SLOW
    found: list[list[int]] = worker.call(method, count=count).result
    return found


def _median_ms(seconds: list[float]) -> float:
    return percentile(seconds, 50) * 1e3

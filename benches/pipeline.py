"""Hybrid retrieval from question to chunks: the pipeline beside the quickest stack put together by hand.

`RagPipeline` in memory, vectors and BM25 fused by RRF, beside faiss, bm25s (numba) and a dictionary. The vectors are
given: no model runs. Each arm fetches 20, ten come back.

    python -m benches.run pipeline
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches import corpus
from benches.bm25 import WARM_UP, Bm25s
from benches.figures import overlap, percentile
from benches.harness import OURS, Session
from benches.worker import built, seconds_each

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Hybrid retrieval"
ABOUT = """\
- The pipeline gives back chunks with their evidence (arm, rank, score, contribution), checks its options and runs the
  two arms in worker threads, off the event loop; the stack by hand gives back texts and does nothing else.
- bm25s reads text its own way, and the dictionary and Ragstone break ties in their own, so the pages overlap rather
  than being equal.
- The stack by hand cannot take in or remove a document without building bm25s anew; the pipeline can."""

DIMENSIONS = 384
WINDOW = 20
K = 10
PARTS = 10
ALLOWED_PART = 3
CHECKED = 100

Vectors = NDArray[np.float32]


class Peer:
    """What the peers share: texts, vectors and questions."""

    def load(self, folder: str, documents: int) -> None:
        texts = corpus.documents(Path(folder), documents)
        self.questions = corpus.questions(Path(folder))
        rows, asked = corpus.vectors(documents, DIMENSIONS, len(self.questions))
        self.vector_of = dict(zip(self.questions, asked, strict=True))
        self.texts, self.rows = texts[:WARM_UP], rows[:WARM_UP]
        self.build()
        self.search(self.questions[0])
        self.texts, self.rows = texts, rows

    def build(self) -> None:
        raise NotImplementedError

    def search(self, question: str) -> list[int]:
        raise NotImplementedError

    def search_part(self, question: str) -> list[int]:
        raise NotImplementedError

    def time_build(self) -> dict[str, float | None]:
        return built(self.build)

    def answers(self) -> list[list[int]]:
        return [self.search(question) for question in self.questions[:CHECKED]]

    def part_answers(self) -> list[list[int]]:
        return [self.search_part(question) for question in self.questions[:CHECKED]]

    def time_search(self, budget: float) -> list[float]:
        return seconds_each(self.search, self.questions, budget=budget)

    def time_search_part(self, budget: float) -> list[float]:
        return seconds_each(self.search_part, self.questions, budget=budget)


class GivenVectors:
    """An embedder that looks its vectors up."""

    identity = "given vectors"
    dimensions = DIMENSIONS

    def __init__(self, vector_of: dict[str, Vectors]) -> None:
        self._vector_of = vector_of

    async def embed(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:  # noqa: ARG002  the port's
        return np.stack([self._vector_of[text] for text in texts])


class Ragstone(Peer):
    def build(self) -> None:
        from ragstone.models import EmbeddedChunk, TextChunk
        from ragstone.options import EnsembleOptions, RetrievalOptions
        from ragstone.pipeline import RagPipeline
        from ragstone.stores import InMemoryBm25Index, InMemoryVectorStore

        chunks = [
            TextChunk(text, str(number), 0, 0, len(text), {"part": number % PARTS})
            for number, text in enumerate(self.texts)
        ]
        store, keyword_index = InMemoryVectorStore(), InMemoryBm25Index()
        keyword_index.add(chunks)
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(
            store.store([EmbeddedChunk(chunk, row) for chunk, row in zip(chunks, self.rows, strict=True)])
        )
        self.pipeline = RagPipeline(embedder=GivenVectors(self.vector_of), store=store, keyword_index=keyword_index)
        arms = EnsembleOptions(window=WINDOW)
        self.everything = RetrievalOptions(top_k=K, use_hybrid_search=True, ensemble_options=arms)
        self.part = RetrievalOptions(
            top_k=K, use_hybrid_search=True, ensemble_options=arms, metadata_filter={"part": ALLOWED_PART}
        )

    def search(self, question: str) -> list[int]:
        page = self.loop.run_until_complete(self.pipeline.retrieve(question, self.everything))
        return [int(hit.chunk.document_id) for hit in page]

    def search_part(self, question: str) -> list[int]:
        page = self.loop.run_until_complete(self.pipeline.retrieve(question, self.part))
        return [int(hit.chunk.document_id) for hit in page]


class ByHand(Peer):
    def build(self) -> None:
        import faiss

        faiss.omp_set_num_threads(1)  # a second thread makes one question slower
        self.vectors = faiss.IndexFlatIP(DIMENSIONS)
        self.vectors.add(self.rows)
        self.words = Bm25s()
        self.words.texts = self.texts
        self.words.build()
        self.bitmap = np.packbits(self.words.part > 0, bitorder="little")
        self.allowed = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(self.bitmap))

    def lexical(self, question: str, mask: Vectors | None = None) -> list[int]:
        tokens = self.words.tokens([question])
        numbers, scores = self.words.index.retrieve(tokens, k=WINDOW, show_progress=False, weight_mask=mask)
        # A mask only makes scores 0: short of matches, what it hides comes back.
        return [n for n, score in zip(numbers[0].tolist(), scores[0].tolist(), strict=True) if score > 0]

    def fuse(self, *rankings: list[int]) -> list[int]:
        scores: dict[int, float] = {}
        for numbers in rankings:
            for rank, number in enumerate(numbers, 1):
                scores[number] = scores.get(number, 0.0) + 1 / (60 + rank)
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:K]
        self.page = [self.texts[number] for number in best]
        return best

    def search(self, question: str) -> list[int]:
        _, numbers = self.vectors.search(self.vector_of[question][None], WINDOW)
        return self.fuse(numbers[0].tolist(), self.lexical(question))

    def search_part(self, question: str) -> list[int]:
        _, numbers = self.vectors.search(self.vector_of[question][None], WINDOW, params=self.allowed)
        return self.fuse(numbers[0].tolist(), self.lexical(question, self.words.part))


PEERS = {OURS: Ragstone, "faiss + bm25s by hand": ByHand}


def run(session: Session) -> None:
    """Build both, compare pages, time them."""
    settings = session.settings
    workers = {peer: session.start(peer) for peer in PEERS}
    for worker in workers.values():
        worker.call("load", folder=str(settings.data), documents=settings.chunks)
    builds = {peer: [session.measure_once(worker, "time_build")] for peer, worker in workers.items()}
    size = f"{settings.chunks:,} chunks"
    session.record(f"indexing {size}, vectors given", "s", builds, lambda result: result["seconds"])
    session.record(f"memory of {size} beside texts and vectors", "MiB", builds, lambda result: result["mib"])
    for method, what in (("answers", "pages"), ("part_answers", "filtered pages")):
        ours, theirs = (workers[peer].call(method).result for peer in PEERS)
        session.check("faiss + bm25s by hand", what, f"{overlap(ours, theirs):.1%} of the ten chunks are the same")
    one = session.rounds(workers, "time_search", budget=settings.budget)
    session.record("one question, median", "ms", one, lambda seconds: percentile(seconds, 50) * 1e3)
    session.record("one question, 99th percentile", "ms", one, lambda seconds: percentile(seconds, 99) * 1e3)
    part = session.rounds(workers, "time_search_part", budget=settings.budget)
    session.record("one question, filter of 10 %, median", "ms", part, lambda seconds: percentile(seconds, 50) * 1e3)

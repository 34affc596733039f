"""Stacks for hybrid retrieval: Ragstone's pipeline, and the quickest one put together by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benches import corpus
from benches.bm25_peers import ALLOWED, PARTS, WARM_UP, Bm25s
from benches.worker import built, seconds_each

if TYPE_CHECKING:
    from ragstone.engine.dense import Quantization

__all__ = ["DIMENSIONS", "PART", "WINDOW", "ByHand", "K", "Peer", "Ragstone", "RagstoneInt8"]

DIMENSIONS = 384
WINDOW = 20
K = 10
PART = PARTS[0]

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

    def answers(self, count: int) -> list[list[int]]:
        return [self.search(question) for question in self.questions[:count]]

    def part_answers(self, count: int) -> list[list[int]]:
        return [self.search_part(question) for question in self.questions[:count]]

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
    quantization: Quantization | None = None

    def build(self) -> None:
        from ragstone.models import EmbeddedChunk, TextChunk
        from ragstone.options import EnsembleOptions, RetrievalOptions
        from ragstone.pipeline import RagPipeline
        from ragstone.stores import InMemoryBm25Index, InMemoryVectorStore

        chunks = [
            TextChunk(text, str(number), 0, 0, len(text), {"part": number % PART})
            for number, text in enumerate(self.texts)
        ]
        store, keyword_index = InMemoryVectorStore(quantization=self.quantization), InMemoryBm25Index()
        keyword_index.add(chunks)
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(
            store.store([EmbeddedChunk(chunk, row) for chunk, row in zip(chunks, self.rows, strict=True)])
        )
        self.pipeline = RagPipeline(embedder=GivenVectors(self.vector_of), store=store, keyword_index=keyword_index)
        arms = EnsembleOptions(window=WINDOW)
        self.everything = RetrievalOptions(top_k=K, use_hybrid_search=True, ensemble_options=arms)
        self.part = RetrievalOptions(
            top_k=K, use_hybrid_search=True, ensemble_options=arms, metadata_filter={"part": ALLOWED}
        )

    def search(self, question: str) -> list[int]:
        page = self.loop.run_until_complete(self.pipeline.retrieve(question, self.everything))
        return [int(hit.chunk.document_id) for hit in page]

    def search_part(self, question: str) -> list[int]:
        page = self.loop.run_until_complete(self.pipeline.retrieve(question, self.part))
        return [int(hit.chunk.document_id) for hit in page]


class RagstoneInt8(Ragstone):
    quantization = "int8"


class ByHand(Peer):
    def build(self) -> None:
        import faiss

        faiss.omp_set_num_threads(1)  # a second thread makes one question slower
        self.vectors = faiss.IndexFlatIP(DIMENSIONS)
        self.vectors.add(self.rows)
        self.words = Bm25s()
        self.words.texts = self.texts
        self.words.build()
        self.bitmap = np.packbits(self.words.masks[PART] > 0, bitorder="little")
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
        return self.fuse(numbers[0].tolist(), self.lexical(question, self.words.masks[PART]))

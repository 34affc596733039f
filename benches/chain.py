"""What the chain of retrieval itself costs: a store that answers at once, and nothing switched on.

`RagPipeline.retrieve` over a stub store and a stub embedder, inside a running event loop, beside the stub's own search:
what is left is composing the stages, timing them, and making the page with its record. Five come back.

    python -m benches.run chain
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benches.figures import percentile
from benches.harness import OURS, Session

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "The chain itself"
ABOUT = """\
- A stub store and a stub embedder answer at once, and every stage is off: what is measured is composing the chain,
  timing it, and making the page with its record.
- It has no peer: nobody else keeps such a record. The bound that it must stay under is 60 µs."""

K = 5
CALLS = 100


class Stubs:
    """A store and an embedder that answer the same at once."""

    identity = "stub"
    dimensions = 2

    def __init__(self) -> None:
        from ragstone.models import SearchResult, TextChunk

        self.vector: NDArray[np.float32] = np.ones((1, 2), dtype=np.float32)
        self.hits = [SearchResult(TextChunk("text", f"d{i}", 0), 0.9 - i / 100) for i in range(K)]

    async def embed(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:  # noqa: ARG002  the port's
        return self.vector

    async def initialize(self) -> None: ...

    async def store(self, chunks: object) -> None: ...

    async def delete_by_document_id(self, document_id: str) -> None: ...

    async def search(self, embedding: object, options: object) -> list[object]:  # noqa: ARG002  the port's
        return list(self.hits)


class Ragstone:
    def load(self) -> None:
        from ragstone.options import RetrievalOptions
        from ragstone.pipeline import RagPipeline

        stubs = Stubs()
        self.pipeline = RagPipeline(embedder=stubs, store=stubs)  # type: ignore[arg-type]
        self.options = RetrievalOptions(top_k=K)

    def time_calls(self, budget: float) -> list[float]:
        """Seconds a call, each of the mean of a hundred."""
        return asyncio.run(self._timed(budget))

    async def _timed(self, budget: float) -> list[float]:
        await self.pipeline.retrieve("question", self.options)
        spent: list[float] = []
        end = time.perf_counter() + budget
        while not spent or time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(CALLS):
                await self.pipeline.retrieve("question", self.options)
            spent.append((time.perf_counter() - start) / CALLS)
        return spent


PEERS = {OURS: Ragstone}


def run(session: Session) -> None:
    """Time it."""
    workers = {OURS: session.start(OURS)}
    workers[OURS].call("load")
    calls = session.rounds(workers, "time_calls", budget=session.settings.budget)
    session.record("a call with every stage off, median", "µs", calls, lambda seconds: percentile(seconds, 50) * 1e6)

"""The nearest ten by cosine over smaller codes: int8 and binary codes with exact rescoring, and half precision.

Ragstone's vector index with `quantization=` beside the exact scans of faiss (IndexFlatIP) and numpy (BLAS), on the same
clustered unit vectors. Recall is the share of the exact ten nearest that the codes find; scores are exact in any case.

    python -m benches.run codes
"""

from __future__ import annotations

from typing import Any

from benches.dense import BATCH, DIMENSIONS, Faiss, Numpy, Ragstone
from benches.figures import overlap, percentile
from benches.harness import OURS, PeerError, Session, Worker

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Vector codes"
ABOUT = """\
- Ragstone searches int8 or binary codes, or vectors in half precision, and scores what it finds exactly; faiss and
  numpy scan the vectors. Each code has its default number of candidates a hit.
- Recall is the share of the ten nearest of the exact scan, over 100 questions. The vectors are synthetic, clustered and
  with a falling spectrum, as embeddings are; on vectors without structure binary codes find less."""

LEAST_RECALL = {"int8": 0.999, "binary": 0.98, "f16": 0.98}
GOALS = {"int8": 3.0, "binary": 8.0}
"""How many times faster than the best exact peer one question is to be answered."""


class Codes(Ragstone):
    """Ragstone's index with codes."""

    def load(self, count: int, quantization: str = "int8") -> None:
        self.quantization: Any = quantization
        super().load(count)

    def build(self) -> None:
        from ragstone.engine.dense import VectorIndex

        self.index = VectorIndex(DIMENSIONS, quantization=self.quantization)
        self.index.upsert(range(len(self.rows)), [0] * len(self.rows), self.rows)


PEERS = {OURS: Codes, "faiss": Faiss, "numpy": Numpy}


def run(session: Session) -> None:
    """Check the recall of each kind of code, then time all of them on one thread."""
    settings = session.settings
    exact = session.loaded([peer for peer in PEERS if peer != OURS], threads=1, count=settings.vectors)
    truth = _ids(exact["faiss"])
    codes: dict[str, Worker] = {}
    for quantization, least in LEAST_RECALL.items():
        codes |= {quantization: session.start(OURS, threads=1)}
        codes[quantization].call("load", count=settings.vectors, quantization=quantization)
        found = overlap(_ids(codes[quantization]), truth)
        if found < least:
            raise PeerError(f"{quantization} codes find {found:.4f} of the ten nearest, less than {least}")
        session.check("faiss", f"{quantization}, ten nearest", f"recall {found:.4f}")
    for method, what in (("time_search", "one question"), ("time_search_many", f"{BATCH} questions at once")):
        rounds = session.rounds({**codes, **exact}, method, budget=settings.budget)
        for quantization in codes:
            goal = GOALS.get(quantization) if method == "time_search" else None
            session.record(
                f"{what}, {quantization}, {settings.vectors:,} vectors",
                "ms",
                {OURS: rounds[quantization], **{peer: rounds[peer] for peer in exact if peer in rounds}},
                lambda seconds: percentile(seconds, 50) * 1e3,
                goals=dict.fromkeys(exact, goal) if goal else None,
            )


def _ids(worker: Worker) -> list[list[int]]:
    return [[number for number, _ in ranking] for ranking in worker.call("answers").result]

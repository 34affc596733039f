"""The nearest ten by cosine over smaller codes: int8 and binary codes with exact rescoring, and half precision.

Ragstone's vector index with `quantization=` beside the exact scans of faiss (IndexFlatIP) and numpy (BLAS), on the same
clustered unit vectors. Recall is the share of the exact ten nearest that the codes find; scores are exact in any case.

    python -m benches.run codes
    python -m benches.run codes --documents 1000000
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
    """Check the recall of each kind of code, then time it on one thread."""
    exact = {peer: session.start(peer, threads=1) for peer in PEERS if peer != OURS}
    for worker in exact.values():
        worker.call("load", count=session.settings.documents)
    truth = _ids(exact["faiss"])
    for quantization, least in LEAST_RECALL.items():
        with session.start(OURS, threads=1) as ours:
            ours.call("load", count=session.settings.documents, quantization=quantization)
            found = overlap(_ids(ours), truth)
            if found < least:
                raise PeerError(f"{quantization} codes find {found:.4f} of the ten nearest, less than {least}")
            session.check("faiss", f"{quantization}, ten nearest", f"recall {found:.4f}")
            _time(session, {OURS: ours, **exact}, quantization)


def _ids(worker: Worker) -> list[list[int]]:
    return [[number for number, _ in ranking] for ranking in worker.call("answers").result]


def _time(session: Session, workers: dict[str, Worker], quantization: str) -> None:
    settings = session.settings
    for method, what in (("time_search", "one question"), ("time_search_many", f"{BATCH} questions at once")):
        rounds = session.rounds(workers, method, budget=settings.budget)
        session.record(f"{what}, {quantization}, {settings.documents:,} vectors", "ms", rounds, _median_ms)


def _median_ms(seconds: list[float]) -> float:
    return percentile(seconds, 50) * 1e3

"""Reciprocal rank fusion and maximal marginal relevance, as a query of a RAG service needs them.

Ragstone beside LangChain (`EnsembleRetriever.weighted_reciprocal_rank`, `maximal_marginal_relevance`) and beside what a
careful user writes by hand: a dictionary, and a numpy loop that keeps a running maximum.

    python -m benches.run fusion
"""

from __future__ import annotations

import math
import random
from itertools import repeat
from typing import Any

import numpy as np

from benches.figures import percentile
from benches.harness import OURS, PeerError, Session, Worker
from benches.worker import seconds_each

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Fusion and diversity"
ABOUT = """\
- The fused scores and the picks are checked to be the same first; fused documents of equal score may come in another
  order.
- LangChain fuses its `Document` objects, made beforehand, and gives back the order alone; Ragstone and the dictionary
  take ids as strings, and Ragstone gives back with each score what every list adds to it.
- LangChain's MMR gets float lists, as its in-memory store hands them over, and beside them one array, which is
  quicker. It computes all similarities to all picks anew for every pick. Ragstone gives back with each pick its
  relevance, redundancy and value."""

LISTS = 3
CONSTANT = 60
LAMBDA = 0.5
SELECTIONS = ((100, 10, 384), (1000, 50, 384), (1000, 50, 1536))
"""Candidates, picks, dimensions."""


class Rrf:
    """Ranked lists of ids that share about half of them."""

    def load(self, length: int) -> None:
        rng = random.Random(length)
        ids = [f"handbook/chapter-{number:05d}" for number in range(length * 2)]
        self.lists = [rng.sample(ids, length) for _ in range(LISTS)]
        self.prepare()

    def prepare(self) -> None:
        pass

    def fuse(self) -> Any:
        raise NotImplementedError

    def order(self) -> list[str]:
        raise NotImplementedError

    def scores(self) -> list[float]:
        """Return the exact score of each fused id, in the peer's order."""
        ranks = [{key: rank for rank, key in enumerate(ids, 1)} for ids in self.lists]
        return [math.fsum(1 / (CONSTANT + found[key]) for found in ranks if key in found) for key in self.order()]

    def time(self, budget: float) -> list[float]:
        return seconds_each(lambda _: self.fuse(), repeat(0, 20_000), budget=budget)


class RrfRagstone(Rrf):
    def prepare(self) -> None:
        from ragstone.engine.rank import rrf

        self.rrf = rrf

    def fuse(self) -> Any:
        return self.rrf(self.lists, k=CONSTANT)

    def order(self) -> list[str]:
        return [fused.id for fused in self.fuse()]


class RrfLangchain(Rrf):
    def prepare(self) -> None:
        from langchain_classic.retrievers.ensemble import EnsembleRetriever
        from langchain_core.documents import Document
        from langchain_core.runnables import RunnableLambda

        nothing = [RunnableLambda(lambda _: []) for _ in self.lists]
        self.ensemble = EnsembleRetriever(retrievers=nothing, weights=[1.0] * LISTS, c=CONSTANT, id_key="id")
        self.documents = [[Document(page_content=key, metadata={"id": key}) for key in ids] for ids in self.lists]

    def fuse(self) -> Any:
        return self.ensemble.weighted_reciprocal_rank(self.documents)

    def order(self) -> list[str]:
        return [document.metadata["id"] for document in self.fuse()]


class RrfByHand(Rrf):
    def fuse(self) -> Any:
        scores: dict[str, float] = {}
        for ids in self.lists:
            for rank, key in enumerate(ids, 1):
                scores[key] = scores.get(key, 0.0) + 1 / (CONSTANT + rank)
        return sorted(scores, key=scores.__getitem__, reverse=True)

    def order(self) -> list[str]:
        return list(self.fuse())


class Mmr:
    """Candidates around a query, in groups of near-twins, unit length."""

    def load(self, candidates: int, picks: int, dimensions: int) -> None:
        rng = np.random.default_rng(candidates)
        query = rng.standard_normal(dimensions)
        groups = query + rng.standard_normal((15, dimensions))
        rows = groups[rng.integers(len(groups), size=candidates)] + 0.4 * rng.standard_normal((candidates, dimensions))
        self.query = (query / np.linalg.norm(query)).astype(np.float32)
        self.rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        self.wanted = picks
        self.prepare()

    def prepare(self) -> None:
        pass

    def pick(self) -> Any:
        raise NotImplementedError

    def order(self) -> list[int]:
        return [int(place) for place in self.pick()]

    def time(self, budget: float) -> list[float]:
        return seconds_each(lambda _: self.pick(), repeat(0, 20_000), budget=budget)


class MmrRagstone(Mmr):
    def prepare(self) -> None:
        from ragstone.engine.rank import mmr

        self.mmr = mmr

    def pick(self) -> Any:
        return self.mmr(self.query, self.rows, k=self.wanted, lambda_=LAMBDA)

    def order(self) -> list[int]:
        return [pick.index for pick in self.pick()]


class MmrLangchainOnArray(Mmr):
    def prepare(self) -> None:
        from langchain_core.vectorstores.utils import maximal_marginal_relevance

        self.maximal_marginal_relevance = maximal_marginal_relevance
        self.given: Any = self.rows

    def pick(self) -> Any:
        return self.maximal_marginal_relevance(self.query, self.given, lambda_mult=LAMBDA, k=self.wanted)


class MmrLangchain(MmrLangchainOnArray):
    def prepare(self) -> None:
        super().prepare()
        self.given = self.rows.tolist()


class MmrByHand(Mmr):
    def pick(self) -> Any:
        rows = self.rows
        relevance = rows @ self.query
        best = int(relevance.argmax())
        picks, redundancy = [best], rows @ rows[best]
        while len(picks) < self.wanted:
            value = LAMBDA * relevance - (1 - LAMBDA) * redundancy
            value[picks] = -np.inf
            best = int(value.argmax())
            picks.append(best)
            np.maximum(redundancy, rows @ rows[best], out=redundancy)
        return picks


RRF_PEERS = {OURS: RrfRagstone, "LangChain": RrfLangchain, "a dictionary": RrfByHand}
MMR_PEERS = {
    OURS: MmrRagstone,
    "LangChain": MmrLangchain,
    "LangChain, given an array": MmrLangchainOnArray,
    "numpy by hand": MmrByHand,
}
PEERS = {f"rrf/{peer}": kind for peer, kind in RRF_PEERS.items()} | {
    f"mmr/{peer}": kind for peer, kind in MMR_PEERS.items()
}


def run(session: Session) -> None:
    """Fuse two sizes of lists and choose from two sizes of candidates, each checked before it is timed."""
    quick = session.settings.quick
    fusing = {peer: session.start(f"rrf/{peer}") for peer in RRF_PEERS}
    for length in (100,) if quick else (100, 1000):
        what = f"RRF of {LISTS} lists of {length:,}"
        for worker in fusing.values():
            worker.call("load", length=length)
        _check(session, fusing, "scores", what, 1e-12)
        _time(session, fusing, what, {"a dictionary": 2.0, "LangChain": 10.0} if length == 1000 else {})
    choosing = {peer: session.start(f"mmr/{peer}", threads=1) for peer in MMR_PEERS}
    for candidates, picks, dimensions in SELECTIONS[:1] if quick else SELECTIONS:
        what = f"MMR, {picks} of {candidates:,}, {dimensions:,} dimensions"
        for worker in choosing.values():
            worker.call("load", candidates=candidates, picks=picks, dimensions=dimensions)
        _check(session, choosing, "order", what, 0.0)
        _time(session, choosing, what, {"numpy by hand": 3.0, "LangChain": 1000.0} if candidates == 1000 else {})


def _check(session: Session, workers: dict[str, Worker], method: str, what: str, tolerance: float) -> None:
    answers = {peer: worker.call(method).result for peer, worker in workers.items()}
    for peer, theirs in answers.items():
        if not np.allclose(answers[OURS], theirs, rtol=tolerance, atol=0.0):
            raise PeerError(f"{what}: {peer} gives another answer")
        if peer != OURS:
            session.check(peer, what, f"the same {method}")


def _time(session: Session, workers: dict[str, Worker], what: str, goals: dict[str, float]) -> None:
    rounds = session.rounds(workers, "time", budget=session.settings.budget)
    session.record(what, "µs", rounds, lambda seconds: percentile(seconds, 50) * 1e6, goals=goals)

"""Measures of a ranking against judgements, all in [0, 1]: binary relevance, cut at `depth`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["MEASURES", "mean", "ndcg", "recall", "reciprocal_rank"]


def ndcg(ranking: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002): gain 1, discount log2(rank + 1)."""
    gain = sum(1 / math.log2(rank + 1) for rank, name in enumerate(ranking[:depth], start=1) if name in relevant)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), depth) + 1))
    return gain / ideal


def recall(ranking: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """The share of what is relevant that the ranking holds."""
    return len(set(relevant).intersection(ranking[:depth])) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """One over the rank of the first relevant document; 0 where there is none."""
    return next((1 / rank for rank, name in enumerate(ranking[:depth], start=1) if name in relevant), 0.0)


MEASURES: Mapping[str, Callable[[Sequence[str], Collection[str], int], float]] = {
    "nDCG": ndcg,
    "Recall": recall,
    "MRR": reciprocal_rank,
}


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)

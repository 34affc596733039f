"""The harness's arithmetic: medians, ratios, overlaps, and when two rankings are the same.

Pure functions and plain data; nothing here measures anything.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

__all__ = ["Absence", "Check", "Hit", "Measurement", "overlap", "percentile", "rate", "ratio", "same_ranking"]

Hit: TypeAlias = tuple[int, float]
"""A document's number and its score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One figure of one peer.

    Attributes:
        task: The script it comes from, such as `bm25`.
        peer: Whose figure it is.
        metric: What was measured, the size of the input included.
        unit: Of every round.
        rounds: One value a round, in the order of the rounds.
        more_is_better: True for rates, False for times and sizes.
        disturbed: How many rounds other programs disturbed, however often they were repeated.
        note: What a reader must know about this figure alone.
        goal: What is asked for: of a peer's figure, how many times better Ragstone's must be at least; of Ragstone's
            own, the bound that it must keep.
    """

    task: str
    peer: str
    metric: str
    unit: str
    rounds: tuple[float, ...]
    more_is_better: bool = False
    disturbed: int = 0
    note: str = ""
    goal: float | None = None

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.rounds)

    def to_json(self) -> dict[str, Any]:
        """Return it with five significant digits a round."""
        return {**asdict(self), "rounds": [float(f"{value:.5g}") for value in self.rounds]}

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> Measurement:
        """Rebuild it from `to_json`."""
        return cls(**{**line, "rounds": tuple(line["rounds"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A peer that could not be measured, and why."""

    task: str
    peer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What comparing two peers' answers gave, before anything was timed."""

    task: str
    peer: str
    what: str
    result: str


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest of `values` that at least `percent` per cent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def ratio(ours: Measurement, theirs: Measurement) -> float:
    """How many times better ours is: the median over the rounds, which were measured side by side.

    Where the two have not as many rounds as each other, the ratio of the medians.
    """
    if len(ours.rounds) == len(theirs.rounds):
        pairs = list(zip(ours.rounds, theirs.rounds, strict=True))
    else:
        pairs = [(ours.median, theirs.median)]
    return statistics.median(a / b if ours.more_is_better else b / a for a, b in pairs)


def overlap(ours: Sequence[Sequence[Any]], theirs: Sequence[Sequence[Any]]) -> float:
    """Return the mean share of each of our lists of ids that is in their list too; two empty lists agree."""
    shares = [len(set(a) & set(b)) / max(len(a), len(b)) if a or b else 1.0 for a, b in zip(ours, theirs, strict=True)]
    return statistics.fmean(shares)


def same_ranking(ours: Sequence[Hit], theirs: Sequence[Hit], *, tolerance: float) -> bool:
    """Whether two rankings have the same scores, rank by rank, and the same ids wherever scores do not tie.

    Args:
        ours: Pairs of id and score, best first.
        theirs: The same questions' pairs from another engine.
        tolerance: The relative difference, absolute below 1e-3, up to which two scores count as one.
    """

    def close(a: float, b: float) -> bool:
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-3)

    if len(ours) != len(theirs):
        return False
    if not all(close(a, b) for (_, a), (_, b) in zip(ours, theirs, strict=True)):
        return False
    scores = dict(theirs)
    last = ours[-1][1] if ours else 0.0
    return all(close(scores[key], score) if key in scores else close(score, last) for key, score in ours)


def rate(seconds: Sequence[float]) -> float:
    """Calls a second over all the calls of a round."""
    return len(seconds) / sum(seconds)

"""Time weighting: `score * e^(-decay_rate * age_hours)`, around the whole chain."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ragstone.metadata import MetadataValue
from ragstone.models import DecayEvidence, ScoreScale
from ragstone.options import TimeWeightedOptions
from ragstone.ports import Clock
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.stages.reorder import arranged, ranked

__all__ = ["TimeWeighting", "parse_instant"]

_log = logging.getLogger(__name__)

_OVERFETCH: Final = 3
_SECONDS_IN_AN_HOUR: Final = 3600.0
_OWN_KEYS: Final = ("updated_at", "created_at")
_SIMILARITIES: Final = frozenset({ScoreScale.SIMILARITY, ScoreScale.DOT, ScoreScale.BM25, ScoreScale.RELATIVE})


@dataclass(frozen=True, slots=True)
class TimeWeighting:
    """Lower the scores of what is old, and order the page by what is left of them.

    A chunk beyond the page may be fresher than all on it, so three times as many candidates are fetched and the cut
    comes after the decay. Where maximal marginal relevance chooses the page's chunks, that many would undo its choice:
    then only their order changes.

    Decay never raises a score: an instant in the future is an age of 0, and a score that is not above 0, as some
    rerankers give, stays as it is. Scores of a store's own fusion mean nothing but an order: such a page is left alone.
    """

    options: TimeWeightedOptions
    clock: Clock

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the page by decayed scores; equal ones keep their order."""
        found = await search(query.deeper(self._depth(query)))
        candidates = ranked(found.kept, query.options)
        scales = {candidate.scale for candidate in candidates}
        if ScoreScale.BACKEND in scales:
            _log.warning("time_weighting_skipped: scores of a store's own fusion cannot be decayed")
            return _cut(found, candidates, query).warning(
                "time weighting did nothing: the store's own fused scores are an order and cannot be decayed"
            )
        now = self.clock.now()
        decayed = sorted((self._decay(candidate, now) for candidate in candidates), key=_rank)
        page = _cut(found, decayed, query)
        others = ", ".join(sorted(scales - _SIMILARITIES))
        return page.noting(time_weighting=f"decayed scores on the scale {others}") if others else page

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the one deeper search."""
        return inner(_OVERFETCH * depth)

    @staticmethod
    def _depth(query: Query) -> int:
        return query.depth if query.options.use_mmr else _OVERFETCH * query.depth

    def _decay(self, candidate: Candidate, now: datetime) -> Candidate:
        key, instant = self._timestamp(candidate.chunk.metadata)
        age = None if instant is None else max(0.0, (now - instant).total_seconds() / _SECONDS_IN_AN_HOUR)
        factor = 1.0 if age is None or candidate.score <= 0.0 else math.exp(-self.options.decay_rate * age)
        evidence = DecayEvidence(
            factor=factor, age_hours=age, key=key, score_before=candidate.score, scale_before=candidate.scale
        )
        return candidate.scored(candidate.score * factor, ScoreScale.DECAYED, evidence)

    def _timestamp(self, metadata: Mapping[str, MetadataValue]) -> tuple[str | None, datetime | None]:
        """The first key that holds an instant, and that instant."""
        for key in (*_OWN_KEYS, *self.options.fallback_metadata_keys):
            instant = parse_instant(metadata.get(key))
            if instant is not None:
                return key, instant
        return None, None


def parse_instant(value: MetadataValue | None) -> datetime | None:
    """Return the instant that a datetime or an ISO 8601 text names, in UTC; `None` where it names none.

    A text may be a date alone, have a fraction of any length, and any offset or `Z`. Without an offset it is UTC.

    Example:
        >>> parse_instant("2026-03-01T12:00:00+09:00").isoformat()
        '2026-03-01T03:00:00+00:00'
        >>> parse_instant("in spring") is None
        True
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip().upper())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return None


def _rank(candidate: Candidate) -> tuple[float, float]:
    """Best first: by the decayed score, and where that is lost in underflow, by the score before."""
    evidence = candidate.evidence[-1]
    return -candidate.score, -evidence.score_before if isinstance(evidence, DecayEvidence) else 0.0


def _cut(found: Candidates, candidates: Sequence[Candidate], query: Query) -> Candidates:
    """Keep the best `query.depth`."""
    depth = query.depth
    beyond = [
        candidate.dropped("time_weighting", f"rank {place} by decayed score is beyond top_k {depth}")
        for place, candidate in enumerate(candidates[depth:], start=depth + 1)
    ]
    return found.choosing(arranged(candidates[:depth], query.options), beyond)

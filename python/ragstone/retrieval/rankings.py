"""Several rankings for one question: searched at the same time, and merged by reciprocal ranks.

Scores against different queries are not comparable, ranks are. What several rankings hold comes first.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from ragstone.engine.rank import rrf
from ragstone.faults import described, tried
from ragstone.models import ChunkKey, RankingEvidence, ScoreScale
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search

__all__ = ["NamedRanking", "RankingKind", "merge", "ranking_or_warning"]

_log = logging.getLogger(__name__)

RankingKind: TypeAlias = Literal["variant", "sub_query", "store"]

_K: Final = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""


@dataclass(frozen=True, slots=True)
class NamedRanking:
    """What was found for one of several queries.

    Attributes:
        name: The query.
        found: Best first.
    """

    name: str
    found: Candidates


async def ranking_or_warning(kind: RankingKind, query: Query, search: Search) -> NamedRanking | str:
    """Search for one of several queries; where that fails, return the warning that it was left out.

    Raises:
        ConfigurationError: The call or the set-up is at fault.
        InvalidInputError: As above.
    """
    found = await tried(search(query))
    if not isinstance(found, Exception):
        return NamedRanking(query.text, found)
    reason = described(found)
    _log.warning("%s_failed: %s", kind, reason)
    return f"the search for a {kind.replace('_', '-')} failed and was left out: {reason}"


def merge(kind: RankingKind, rankings: Sequence[NamedRanking], *, complete: bool) -> Candidates:
    """Merge by reciprocal ranks, `score = Σ 1 / (60 + rank)`; equal scores by document id, then chunk index.

    Contributions add up to a score exactly. Where only the first ranking holds anything, it is returned as it is.

    Args:
        kind: What the rankings are, for the record.
        rankings: The question's own comes first: a chunk that it holds keeps its evidence from there.
        complete: Whether no ranking was left out.
    """
    state = _shared(rankings, complete=complete)
    if not any(ranking.found.kept for ranking in rankings[1:]):
        return state
    columns = [list(ranking.found.kept) for ranking in rankings]
    fused = rrf([[candidate.key for candidate in column] for column in columns], k=_K)
    places = [{candidate.key: place for place, candidate in enumerate(column)} for column in columns]
    kept: list[Candidate] = []
    for key, score, contributions in fused:
        holding = [
            (ranking.name, column[place[key]], place[key] + 1, contribution)
            for ranking, column, place, contribution in zip(rankings, columns, places, contributions, strict=True)
            if key in place
        ]
        candidate = holding[0][1]
        evidence = tuple(
            RankingEvidence(
                kind=kind, name=name, rank=rank, score=held.score, scale=held.scale, contribution=contribution
            )
            for name, held, rank, contribution in holding
        )
        kept.append(replace(candidate, score=score, scale=ScoreScale.RRF, evidence=(*candidate.evidence, *evidence)))
    kept.sort(key=lambda candidate: (-candidate.score, candidate.key))
    return replace(state, kept=kept, dropped=_dropped(rankings, {candidate.key for candidate in kept}))


def _shared(rankings: Sequence[NamedRanking], *, complete: bool) -> Candidates:
    """The first ranking, with what is known of all of them."""
    first, *others = rankings
    found = [ranking.found for ranking in rankings]
    reports = [
        replace(report, query=ranking.name) if report.query is None else report
        for ranking in others
        for report in ranking.found.arms
    ]
    notes = {name: value for one in reversed(found) for name, value in one.notes.items()}
    return replace(
        first.found,
        arms=(*first.found.arms, *reports),
        exhausted=complete and all(one.exhausted for one in found),
        bounded=all(one.exhausted or one.bounded for one in found),
        warnings=tuple(dict.fromkeys(warning for one in found for warning in one.warnings)),
        notes=notes,
    )


def _dropped(rankings: Sequence[NamedRanking], kept: set[ChunkKey]) -> tuple[Candidate, ...]:
    """The first verdict on each chunk that no ranking holds."""
    verdicts: dict[ChunkKey, Candidate] = {}
    for ranking in rankings:
        for candidate in ranking.found.dropped:
            if candidate.key not in kept:
                verdicts.setdefault(candidate.key, candidate)
    return tuple(verdicts.values())

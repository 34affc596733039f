"""Fusing the arms' hits into one ranking, with each arm's contribution on record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from operator import neg
from typing import TypeAlias

from ragstone.engine.rank import FusedRanking, relative_score_fusion, rrf
from ragstone.models import ArmEvidence, ScoreScale, SearchResult, Vector
from ragstone.options import EnsembleOptions
from ragstone.retrieval.candidate import Candidate
from ragstone.retrieval.lazy import LazySequence

__all__ = ["ArmHits", "fuse", "single"]

_Key: TypeAlias = tuple[str, int]
"""What a `ChunkKey` equals, made in a fraction of its time."""


@dataclass(frozen=True, slots=True)
class ArmHits:
    """What one arm found, best first, each chunk once, and the arm's weight in the fusion."""

    arm: str
    weight: float
    hits: Mapping[_Key, SearchResult]

    @classmethod
    def of(cls, arm: str, weight: float, hits: Iterable[SearchResult]) -> ArmHits:
        """Make the hits of an arm, repeats of a chunk left out: an arm counts a chunk once."""
        once: dict[_Key, SearchResult] = {}
        for hit in hits:
            chunk = hit.chunk
            once.setdefault((chunk.document_id, chunk.chunk_index), hit)
        return cls(arm, weight, once)

    def evidence(self, hit: SearchResult, place: int, contribution: float) -> ArmEvidence:
        """The arm's evidence on its hit at this place, from 0, given what the arm adds to the chunk's score."""
        return ArmEvidence(
            arm=self.arm,
            rank=place + 1,
            score=hit.score,
            scale=hit.score_scale,
            weight=self.weight,
            contribution=contribution,
        )


def single(found: ArmHits) -> Sequence[Candidate]:
    """Return the hits of an arm that was not fused with others: its own scores, on its own scale."""
    hits = tuple(found.hits.values())

    def candidate(place: int) -> Candidate:
        hit = hits[place]
        return Candidate(hit.chunk, hit.score, hit.score_scale, (found.evidence(hit, place, hit.score),), hit.embedding)

    return LazySequence(candidate, range(len(hits)))


def fuse(arms: Sequence[ArmHits], options: EnsembleOptions) -> Sequence[Candidate]:
    """Fuse the arms by reciprocal ranks or relative scores; equal scores are ordered by document id, then chunk index.

    The contributions on record add up to each candidate's score exactly.
    """
    if not arms:
        return ()
    rankings = [list(arm.hits) for arm in arms]
    weights = [arm.weight for arm in arms]
    if options.fusion == "rrf":
        record = _Record(arms, ScoreScale.RRF, rrf(rankings, k=options.k, weights=weights))
    else:
        scores = [[hit.score for hit in arm.hits.values()] for arm in arms]
        record = _Record(arms, ScoreScale.RELATIVE, relative_score_fusion(rankings, scores, weights=weights))
    ordered = sorted(zip(map(neg, record.fused.scores()), record.fused.ids(), count()))
    return LazySequence(record.candidate, [place for _, _, place in ordered])


class _Record:
    """What is known of the fused candidates, and how each is made of it."""

    __slots__ = ("_arms", "_places", "_scale", "fused")

    def __init__(self, arms: Sequence[ArmHits], scale: ScoreScale, fused: FusedRanking[_Key]) -> None:
        self.fused = fused
        self._arms = arms
        self._scale = scale
        self._places = [dict(zip(arm.hits, count())) for arm in arms]

    def candidate(self, place: int) -> Candidate:
        """The candidate at this place of the fused ranking."""
        key, score, contributions = self.fused[place]
        hits: list[SearchResult] = []
        evidence: list[ArmEvidence] = []
        for arm, places, contribution in zip(self._arms, self._places, contributions, strict=True):
            rank = places.get(key)
            if rank is not None:
                hit = arm.hits[key]
                hits.append(hit)
                evidence.append(arm.evidence(hit, rank, contribution))
        embedding: Vector | None = None
        for hit in hits:
            if embedding is None:
                embedding = hit.embedding
        return Candidate(hits[0].chunk, score, self._scale, tuple(evidence), embedding)

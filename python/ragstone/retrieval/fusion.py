"""Fusing the arms' hits into one ranking, with each arm's contribution on record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragstone.engine.rank import relative_score_fusion, rrf
from ragstone.models import ArmEvidence, ChunkKey, ScoreScale, SearchResult, Vector
from ragstone.options import EnsembleOptions
from ragstone.retrieval.candidate import Candidate

__all__ = ["ArmHits", "fuse", "single"]


@dataclass(frozen=True, slots=True)
class ArmHits:
    """What one arm found, best first, each chunk once, and the arm's weight in the fusion."""

    arm: str
    weight: float
    hits: Mapping[ChunkKey, SearchResult]

    @classmethod
    def of(cls, arm: str, weight: float, hits: Iterable[SearchResult]) -> ArmHits:
        """Make the hits of an arm, repeats of a chunk left out: an arm counts a chunk once."""
        once: dict[ChunkKey, SearchResult] = {}
        for hit in hits:
            once.setdefault(hit.chunk.key, hit)
        return cls(arm, weight, once)

    def evidence(self, contributions: Iterable[float]) -> list[ArmEvidence]:
        """The arm's evidence on each of its hits, given what each adds to its chunk's score."""
        return [
            ArmEvidence(
                arm=self.arm,
                rank=rank,
                score=hit.score,
                scale=hit.score_scale,
                weight=self.weight,
                contribution=contribution,
            )
            for rank, (hit, contribution) in enumerate(zip(self.hits.values(), contributions, strict=True), start=1)
        ]


def single(found: ArmHits) -> list[Candidate]:
    """The candidates of an arm that is not fused with others: its own scores, on its own scale."""
    evidence = found.evidence(hit.score for hit in found.hits.values())
    return [
        Candidate(hit.chunk, hit.score, hit.score_scale, (item,), hit.embedding)
        for hit, item in zip(found.hits.values(), evidence, strict=True)
    ]


def fuse(arms: Sequence[ArmHits], options: EnsembleOptions) -> list[Candidate]:
    """Fuse the arms by reciprocal ranks or relative scores; equal scores are ordered by document id, then chunk index.

    The contributions on record add up to each candidate's score exactly.
    """
    if not arms:
        return []
    rankings = [list(arm.hits) for arm in arms]
    weights = [arm.weight for arm in arms]
    if options.fusion == "rrf":
        scale = ScoreScale.RRF
        fused = rrf(rankings, k=options.k, weights=weights)
    else:
        scale = ScoreScale.RELATIVE
        scores = [[hit.score for hit in arm.hits.values()] for arm in arms]
        fused = relative_score_fusion(rankings, scores, weights=weights)
    contributions = {item.id: item.contributions for item in fused}
    gathered: dict[ChunkKey, list[ArmEvidence]] = {item.id: [] for item in fused}
    found: dict[ChunkKey, SearchResult] = {}
    for place, arm in enumerate(arms):
        for key, evidence in zip(arm.hits, arm.evidence(contributions[key][place] for key in arm.hits), strict=True):
            gathered[key].append(evidence)
        found = {**arm.hits, **found}
    fused.sort(key=lambda item: (-item.score, item.id))
    return [
        Candidate(found[item.id].chunk, item.score, scale, tuple(gathered[item.id]), _embedding(arms, item.id))
        for item in fused
    ]


def _embedding(arms: Sequence[ArmHits], key: ChunkKey) -> Vector | None:
    for arm in arms:
        hit = arm.hits.get(key)
        if hit is not None and hit.embedding is not None:
            return hit.embedding
    return None

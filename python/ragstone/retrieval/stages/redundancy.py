"""The redundancy filter: what says the same as a better-ranked chunk goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragstone.concurrency import offload
from ragstone.engine.rank import redundancy_filter
from ragstone.models import TwinEvidence
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.filling import first_depth, search_until_filled
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.vectors import CallVectors

__all__ = ["RedundancyFilter"]


@dataclass(frozen=True, slots=True)
class RedundancyFilter:
    """Drop a candidate whose cosine to a better-ranked kept one reaches the threshold, and search deeper for more."""

    threshold: float
    vectors: CallVectors

    refills: ClassVar[bool] = True

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return candidates no two of which are near-duplicates."""
        return await search_until_filled(query, search, self._apply)

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the first, deeper search, and of comparing its chunks."""
        return Cost(compares_candidates=True) + inner(first_depth(depth))

    async def _apply(self, found: Candidates) -> Candidates:
        if len(found.kept) < 2:  # noqa: PLR2004  a twin takes two
            return found
        candidates = await self.vectors.of_candidates(found.kept)
        matrix = self.vectors.matrix(candidates)
        kept, twins = await offload(redundancy_filter, matrix, threshold=self.threshold)
        return found.keeping([candidates[i] for i in kept], [self._drop(candidates, *twin) for twin in twins])

    def _drop(self, candidates: list[Candidate], index: int, twin: int, similarity: float) -> Candidate:
        key = candidates[twin].key
        evidence = TwinEvidence(twin=key, similarity=similarity, threshold=self.threshold)
        reason = f"says the same as {key.document_id}#{key.chunk_index} (cosine {similarity:.3f})"
        return candidates[index].noting(evidence).dropped("redundancy", reason)

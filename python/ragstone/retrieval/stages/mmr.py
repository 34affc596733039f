"""Maximal marginal relevance: relevant to the query, and unlike what is on the page already."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.concurrency import offload
from ragstone.engine.rank import mmr
from ragstone.models import MmrEvidence
from ragstone.retrieval.candidate import Candidates, Query, Search
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.vectors import CallVectors

__all__ = ["MaximalMarginalRelevance"]


@dataclass(frozen=True, slots=True)
class MaximalMarginalRelevance:
    """Pick `query.depth` of a pool of candidates by `lambda_ * relevance - (1 - lambda_) * redundancy`."""

    lambda_: float
    pool: int
    vectors: CallVectors

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the picked candidates in the order in which they were picked; their scores stay as they were."""
        found = await search(query.deeper(self._depth(query.depth)))
        if not found.kept:
            return found
        pool, beyond = found.kept[: self.pool], found.kept[self.pool :]
        candidates = await self.vectors.of_candidates(pool)
        matrix = self.vectors.matrix(candidates)
        vector = await self.vectors.of_query(query.text)
        picks = await offload(mmr, vector, matrix, k=query.depth, lambda_=self.lambda_)
        picked = {pick.index for pick in picks}
        kept = [
            candidates[pick.index].noting(
                MmrEvidence(relevance=pick.relevance, redundancy=pick.redundancy, value=pick.value, position=position)
            )
            for position, pick in enumerate(picks, start=1)
        ]
        unpicked = [
            c.dropped("mmr", f"not among the {len(picks)} picked") for i, c in enumerate(candidates) if i not in picked
        ]
        outside = [c.dropped("mmr", f"not among the {self.pool} best that MMR chooses from") for c in beyond]
        return found.choosing(kept, (*unpicked, *outside))

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the search for the pool, and of comparing its chunks with the query and each other."""
        own = Cost(embeds_query=True, compares_candidates=True)
        return own + inner(self._depth(depth))

    def _depth(self, depth: int) -> int:
        return max(self.pool, depth)

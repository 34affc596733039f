"""Tag retrieval: the metadata filter is found from the query, around all else."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.faults import described, tried
from ragstone.options import TagRetrievalOptions
from ragstone.retrieval.candidate import Candidates, Query, Search
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.vectors import CallVectors
from ragstone.tags import TagIndex, TagMatch

__all__ = ["TagRetrieval"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TagRetrieval:
    """Add to the filter the tags whose values are nearest to the query, under keys that the caller did not set.

    A filter that leaves nothing is taken back, and the search is made without it.
    """

    options: TagRetrievalOptions
    index: TagIndex
    vectors: CallVectors

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return what is found with the tags; where they cannot be had or leave nothing, without them."""
        matches = await tried(self._matches(query))
        if isinstance(matches, Exception):
            reason = described(matches)
            _log.warning("tag_retrieval_failed: %s", reason)
            return (await search(query)).warning(f"tags were left out, because finding them failed: {reason}")
        if not matches:
            return await search(query)
        added = {match.tag.key: match.tag.value for match in matches}
        found = await search(query.filtered({**(query.options.metadata_filter or {}), **added}))
        if found.kept:
            return found.noting(tags=_told(matches))
        _log.warning("tag_filter_relaxed: the added keys %s left nothing", sorted(added))
        found = await search(query)
        return found.noting(tags=f"relaxed: {_told(matches)}").warning(
            f"the tags added to the filter left nothing and were taken back: {_told(matches)}"
        )

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of a batch of tags that are new, of the query's embedding, and of one search.

        A search whose filter leaves nothing costs nothing.
        """
        return Cost(embedding_calls=1, embeds_query=True) + inner(depth)

    async def _matches(self, query: Query) -> Sequence[TagMatch]:
        if not len(self.index):
            return ()
        await self.index.embed()
        return await self.index.nearest(
            await self.vectors.of_query(query.text),
            top_k=self.options.top_k,
            min_score=self.options.min_score,
            without=query.options.metadata_filter or (),
        )


def _told(matches: Sequence[TagMatch]) -> str:
    return ", ".join(f"{match.tag.key}={match.tag.value} ({match.score:.2f})" for match in matches)

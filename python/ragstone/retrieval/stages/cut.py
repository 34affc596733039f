"""The cut to `top_k`."""

from __future__ import annotations

from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.lazy import LazySequence

__all__ = ["cut"]


async def cut(query: Query, search: Search) -> Candidates:
    """Keep the best `query.depth` candidates."""
    found = await search(query)
    depth = query.depth
    if len(found.kept) <= depth:
        return found

    def beyond(place: int) -> Candidate:
        return found.kept[place].dropped("cut", f"rank {place + 1} is beyond top_k {depth}")

    return found.choosing(found.kept[:depth], LazySequence(beyond, range(depth, len(found.kept))))

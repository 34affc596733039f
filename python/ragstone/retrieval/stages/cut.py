"""The cut to `top_k`."""

from __future__ import annotations

from ragstone.retrieval.candidate import Candidates, Query, Search

__all__ = ["cut"]


async def cut(query: Query, search: Search) -> Candidates:
    """Keep the best `query.depth` candidates."""
    found = await search(query)
    if len(found.kept) <= query.depth:
        return found
    beyond = (
        candidate.dropped("cut", f"rank {rank} is beyond top_k {query.depth}")
        for rank, candidate in enumerate(found.kept[query.depth :], start=query.depth + 1)
    )
    return found.choosing(found.kept[: query.depth], beyond)

"""Reordering against "lost in the middle": the best chunks stand at both ends of the page."""

from __future__ import annotations

from ragstone.engine.rank import lost_in_the_middle
from ragstone.retrieval.candidate import Candidates, Query, Search

__all__ = ["reorder"]


async def reorder(query: Query, search: Search) -> Candidates:
    """Arrange the page 1, 3, 5, … 6, 4, 2; scores stay as they are."""
    found = await search(query)
    return found.keeping(lost_in_the_middle(found.kept))

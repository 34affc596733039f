"""Reordering against "lost in the middle": the best chunks stand at both ends of the page."""

from __future__ import annotations

from collections.abc import Sequence

from ragstone.engine.rank import lost_in_the_middle
from ragstone.options import RetrievalOptions
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search

__all__ = ["arranged", "ranked", "reorder"]


async def reorder(query: Query, search: Search) -> Candidates:
    """Arrange the page 1, 3, 5, … 6, 4, 2; scores stay as they are."""
    found = await search(query)
    return found.keeping(lost_in_the_middle(found.kept))


def arranged(page: Sequence[Candidate], options: RetrievalOptions) -> Sequence[Candidate]:
    """Return a ranked page as the options want it arranged: for what ranks the page anew around this stage."""
    return lost_in_the_middle(page) if options.use_lost_in_the_middle_reordering else page


def ranked(page: Sequence[Candidate], options: RetrievalOptions) -> Sequence[Candidate]:
    """Return a page that came through this stage, best first again."""
    if not options.use_lost_in_the_middle_reordering:
        return page
    places = lost_in_the_middle(range(len(page)))
    return [candidate for _, candidate in sorted(zip(places, page, strict=True), key=lambda pair: pair[0])]

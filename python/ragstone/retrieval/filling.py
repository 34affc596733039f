"""Asking deeper until a page is full: what a stage that drops candidates does around the rest of the chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from ragstone.retrieval.candidate import Candidates, Query, Search

__all__ = ["first_depth", "search_until_filled"]

_OVERFETCH: Final = 3


def first_depth(depth: int) -> int:
    """How many candidates are asked for at first, to have `depth` of them left."""
    return _OVERFETCH * depth


async def search_until_filled(
    query: Query, search: Search, drop: Callable[[Candidates], Awaitable[Candidates]]
) -> Candidates:
    """Search deeper and deeper until `drop` leaves `query.depth` candidates, or nothing more is to be had.

    The first search asks for three times as many as wanted, each further one for four times as many as the last. So a
    page is short only when nothing more is eligible, or a window set by the caller is used up.
    """
    depth = first_depth(query.depth)
    while True:
        found = await search(query.deeper(depth))
        left = await drop(found)
        if len(left.kept) >= query.depth or found.exhausted or found.bounded:
            return left
        depth *= 4

"""Packing whole pieces, such as sentences or blocks, into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragstone.ingestion.chunking.spans import Span

__all__ = ["pack"]


def pack(pieces: Sequence[Span], max_size: int, resume: Callable[[int, int], int]) -> Iterator[Span]:
    """Yield spans of consecutive pieces, each as many as fit into `max_size` characters.

    Args:
        pieces: In order, starts and ends strictly increasing, none longer than `max_size`.
        max_size: The cap, in Unicode code points.
        resume: Given the first and the last piece of a chunk, says with which piece the overlap of the next begins;
            one past the last for none. It is moved on as far as the next chunk needs to get beyond this one.
    """
    first = 0
    while first < len(pieces):
        last = first
        while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= max_size:
            last += 1
        yield pieces[first][0], pieces[last][1]
        if last + 1 == len(pieces):
            return
        following = max(resume(first, last), first + 1)
        while following <= last and pieces[last + 1][1] - pieces[following][0] > max_size:
            following += 1
        first = following

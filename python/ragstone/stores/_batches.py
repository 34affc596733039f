"""What goes out in one request, where a backend or the event loop wants it small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["packed"]

T = TypeVar("T")


def packed(items: Iterable[T], weigh: Callable[[T], int], *, most: int, heaviest: int) -> Iterator[list[T]]:
    """The items in order, in batches of at most `most` and of weight `heaviest`; a heavier item is alone.

    Example:
        >>> list(packed(["a", "bb", "cccc", "d"], len, most=2, heaviest=3))
        [['a', 'bb'], ['cccc'], ['d']]
    """
    batch: list[T] = []
    total = 0
    for item in items:
        weight = weigh(item)
        if batch and (len(batch) == most or total + weight > heaviest):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += weight
    if batch:
        yield batch

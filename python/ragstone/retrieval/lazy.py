"""A sequence whose items are made when they are looked at.

A hybrid search ranks a hundred candidates or more of which a handful come back. Each of the others has its full record,
but hardly anybody reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, cast, overload

__all__ = ["LazySequence"]

T_co = TypeVar("T_co", covariant=True)


class LazySequence(Sequence[T_co]):
    """The items that `make` makes of `places`, the same each time; equal to every sequence of the same items.

    A slice is lazy too. A pickle or a deep copy is a tuple of the items.

    Args:
        make: Makes an item; has no effect besides.
        places: What is handed to `make`, one an item.
    """

    __slots__ = ("_make", "_places")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Callable[[int], T_co], places: Sequence[int]) -> None:
        self._make = make
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> LazySequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | LazySequence[T_co]:
        if isinstance(index, slice):
            return LazySequence(self._make, self._places[index])
        return self._make(self._places[index])

    def __iter__(self) -> Iterator[T_co]:
        return map(self._make, self._places)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return tuple(self) == tuple(cast("Sequence[object]", other))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[T_co, ...]], tuple[tuple[T_co, ...]]]:
        return tuple, (tuple(self),)

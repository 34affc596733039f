"""A learned sparse vector: a few weighted terms of a large vocabulary, as SPLADE models produce them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragstone.errors import InvalidInputError

__all__ = ["SparseRow", "SparseVector"]

_MAX_TERM: Final = 2**32 - 1


class SparseRow(Protocol):
    """A row of a scipy sparse matrix or array, of any format."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(1, n) or (n,)."""
        ...

    def tocoo(self) -> Any:
        """The same in coordinate format: `col` and `data`."""
        ...


class SparseVector:
    """Term ids and their weights; immutable, hashable, equal to another of the same terms and weights.

    The constructor takes the canonical form, as it was stored: ascending ids. `from_arrays`, `from_dict` and
    `from_scipy` take any order.

    Args:
        indices: Term ids, whole numbers from 0 to 2**32 - 1, ascending, none twice; copied.
        values: One weight a term, positive and finite in float32; copied.

    Raises:
        InvalidInputError: The lengths differ, the ids do not ascend, or an id or weight is out of range; names the
            position.

    Attributes:
        indices: The term ids, ascending, shape (n,), uint32, read-only.
        values: Their weights, shape (n,), float32, read-only.

    Example:
        >>> vector = SparseVector.from_dict({9: 0.5, 2: 2.0})
        >>> vector
        SparseVector({2: 2.0, 9: 0.5})
        >>> vector == SparseVector.from_arrays([9, 2], [0.5, 2.0])
        True
    """

    __slots__ = ("indices", "values")

    indices: NDArray[np.uint32]
    values: NDArray[np.float32]

    def __init__(self, indices: ArrayLike, values: ArrayLike) -> None:
        terms, weights = _terms(indices), _weights(values)
        _check_lengths(terms, weights)
        unordered = np.flatnonzero(terms[1:] <= terms[:-1])
        if unordered.size:
            position = int(unordered[0]) + 1
            raise InvalidInputError(
                f"indices must ascend, but {terms[position]} at position {position} follows {terms[position - 1]}: "
                "use SparseVector.from_arrays, which sorts"
            )
        for name, array in (("indices", terms), ("values", weights)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_arrays(cls, indices: ArrayLike, values: ArrayLike) -> SparseVector:
        """Build from term ids in any order and one weight for each.

        Raises:
            InvalidInputError: The lengths differ, an id comes twice, or an id or weight is out of range; names the
                position.

        Example:
            >>> SparseVector.from_arrays([9, 2], [0.5, 2.0]).indices
            array([2, 9], dtype=uint32)
        """
        terms, weights = _terms(indices), _weights(values)
        _check_lengths(terms, weights)
        order = np.argsort(terms, kind="stable")
        repeated = np.flatnonzero(terms[order[1:]] == terms[order[:-1]])
        if repeated.size:
            position = int(order[repeated[0] + 1])
            raise InvalidInputError(
                f"indices holds {terms[position]} twice, again at position {position}: add the weights up first"
            )
        return cls(terms[order], weights[order])

    @classmethod
    def from_dict(cls, weights: Mapping[int, float]) -> SparseVector:
        """Build from term id → weight.

        Raises:
            InvalidInputError: An id or weight is out of range; names its position in the mapping.
        """
        return cls.from_arrays(list(weights), list(weights.values()))

    @classmethod
    def from_scipy(cls, row: SparseRow) -> SparseVector:
        """Build from one row of a scipy sparse matrix or array; stored zeros are left out.

        Raises:
            InvalidInputError: It is more than one row, or as `from_arrays`.
        """
        if any(length != 1 for length in row.shape[:-1]):
            raise InvalidInputError(f"row must have the shape (1, n) or (n,), not {row.shape}: take one row, matrix[i]")
        coordinates = row.tocoo()
        held = np.asarray(coordinates.data) != 0
        return cls.from_arrays(np.asarray(coordinates.col)[held], np.asarray(coordinates.data)[held])

    def to_dict(self) -> dict[int, float]:
        """Term id → weight, ascending."""
        return dict(zip(self.indices.tolist(), self.values.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.indices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseVector):
            return NotImplemented
        return np.array_equal(self.indices, other.indices) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.indices.tobytes(), self.values.tobytes()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{term}: {weight}" for term, weight in list(self.to_dict().items())[:8])
        return f"SparseVector({{{shown}{', …' if len(self) > 8 else ''}}})"  # noqa: PLR2004 - as many as fit a line

    def __reduce__(self) -> tuple[type[SparseVector], tuple[NDArray[np.uint32], NDArray[np.float32]]]:
        return SparseVector, (self.indices, self.values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a SparseVector is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a SparseVector is immutable: cannot delete {name}")


def _terms(indices: ArrayLike) -> NDArray[np.uint32]:
    array = _flat("indices", indices)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInputError(f"indices must be whole numbers from 0 to {_MAX_TERM}, not {array.dtype}")
    outside = np.flatnonzero((array < 0) | (array > _MAX_TERM))
    if outside.size:
        position = int(outside[0])
        raise InvalidInputError(f"indices must be from 0 to {_MAX_TERM}, not {array[position]} at position {position}")
    return array.astype(np.uint32)


def _weights(values: ArrayLike) -> NDArray[np.float32]:
    array = _flat("values", values)
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"values must be real numbers, not {array.dtype}")
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinity, which is refused
        weights = array.astype(np.float32)
    wrong = np.flatnonzero(~((weights > 0) & np.isfinite(weights)))
    if wrong.size:
        position = int(wrong[0])
        raise InvalidInputError(
            f"values must be positive and finite in float32, not {array[position]} at position {position}"
        )
    return weights


def _flat(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{name} must be numbers: {error}") from error
    if array.ndim != 1:
        raise InvalidInputError(f"{name} must have the shape (n,), not {array.shape}")
    return array


def _check_lengths(terms: NDArray[np.uint32], weights: NDArray[np.float32]) -> None:
    if len(terms) != len(weights):
        raise InvalidInputError(f"{len(terms)} indices and {len(weights)} values: give each term one weight")

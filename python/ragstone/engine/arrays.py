"""Vectors as callers hand them over, made what the core reads: C-contiguous float32.

An array that is that already is passed on as it is, without a copy; anything else is converted once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ragstone.errors import InvalidInputError
from ragstone.models import Vector, Vectors

__all__ = ["as_matrix", "as_vector"]


def as_vector(name: str, values: ArrayLike) -> Vector:
    """Return `values` with the shape (dimensions,), or raise `InvalidInputError` naming `name`."""
    vector = _as_float32(name, values)
    if vector.ndim != 1:
        raise InvalidInputError(f"{name} must have the shape (dimensions,), not {vector.shape}")
    return vector


def as_matrix(name: str, values: ArrayLike) -> Vectors:
    """Return `values` with the shape (n, dimensions), (0, 1) where there are none, or raise `InvalidInputError`."""
    matrix = _as_float32(name, values)
    if matrix.size == 0 and matrix.ndim <= 2 and len(matrix) == 0:  # noqa: PLR2004 - no rows have no length
        return matrix.reshape(0, 1)
    if matrix.ndim != 2 or matrix.size == 0:  # noqa: PLR2004
        raise InvalidInputError(f"{name} must have the shape (n, dimensions), not {matrix.shape}")
    return matrix


def _as_float32(name: str, values: ArrayLike) -> Vectors:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers, all rows of one length: {error}") from error
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} must be real numbers, not {array.dtype}")
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinity, which the core refuses by name
        return np.require(array, np.float32, ["C", "A"])

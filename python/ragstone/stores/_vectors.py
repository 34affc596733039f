"""What stores check of vectors before anything is stored or searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragstone.errors import DimensionMismatchError, InvalidInputError, InvalidVectorError
from ragstone.models import EmbeddedChunk, Vector, Vectors
from ragstone.stores._columns import name_of

__all__ = ["finite_query", "finite_vectors", "stacked"]


def stacked(embedded: Sequence[EmbeddedChunk], dimensions: int | None) -> Vectors:
    """The vectors as one matrix, shape (n, dimensions); without `dimensions` the first vector decides."""
    expected = dimensions
    for item in embedded:
        shape = np.shape(item.embedding)
        if len(shape) != 1:
            raise InvalidInputError(f"{name_of(item.chunk)} has an embedding of shape {shape}, not (dimensions,)")
        if expected is None:
            expected = shape[0]
        if shape[0] != expected:
            raise DimensionMismatchError(
                f"{name_of(item.chunk)} has {shape[0]} dimensions instead of {expected}",
                expected=expected,
                actual=shape[0],
            )
    return np.stack([item.embedding for item in embedded])


def finite_vectors(embedded: Sequence[EmbeddedChunk], dimensions: int) -> Vectors:
    """The vectors as one float32 matrix, shape (n, dimensions), n at least 1, all finite."""
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinity, which is refused
        vectors = stacked(embedded, dimensions).astype(np.float32, copy=False)
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if wrong.size:
        raise InvalidVectorError(f"{name_of(embedded[int(wrong[0])].chunk)} has an embedding with NaN or infinity")
    return vectors


def finite_query(embedding: Vector, dimensions: int) -> Vector:
    """A query vector as float32, of the length that the store holds, and finite."""
    with np.errstate(over="ignore"):
        query = np.asarray(embedding, dtype=np.float32)
    if query.ndim != 1:
        raise InvalidInputError(f"the query has the shape {query.shape}, not (dimensions,)")
    if len(query) != dimensions:
        raise DimensionMismatchError(
            f"the query has {len(query)} dimensions instead of {dimensions}", expected=dimensions, actual=len(query)
        )
    if not np.isfinite(query).all():
        raise InvalidVectorError("the query holds NaN or infinity")
    return query

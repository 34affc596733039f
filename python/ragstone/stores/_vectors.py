"""Checks of vectors that stores beyond the process make before they send anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragstone.errors import DimensionMismatchError, InvalidVectorError
from ragstone.models import EmbeddedChunk, Vector
from ragstone.stores._columns import name_of

__all__ = ["check_embeddings", "check_query"]


def check_embeddings(chunks: Sequence[EmbeddedChunk], dimensions: int) -> None:
    """Refuse a batch with a vector of another length, or with NaN or infinity.

    Raises:
        DimensionMismatchError: A vector is of another length; names the chunk.
        InvalidVectorError: A vector holds NaN or infinity; names the chunk.
    """
    for item in chunks:
        _check(item.embedding, dimensions, name_of(item.chunk))


def check_query(embedding: Vector, dimensions: int) -> None:
    """Refuse a query vector as `check_embeddings` refuses those of chunks."""
    _check(embedding, dimensions, "the query")


def _check(vector: Vector, dimensions: int, subject: str) -> None:
    shape = np.shape(vector)
    if shape != (dimensions,):
        actual = shape[0] if len(shape) == 1 else int(np.prod(shape))
        raise DimensionMismatchError(
            f"{subject} has a vector of shape {shape}, the store holds vectors of shape ({dimensions},)",
            expected=dimensions,
            actual=actual,
        )
    if not np.isfinite(vector).all():
        raise InvalidVectorError(f"{subject} has a vector with NaN or infinity")

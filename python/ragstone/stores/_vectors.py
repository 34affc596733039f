"""What every store checks before it stores or searches, so that a bad batch changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragstone.errors import DimensionMismatchError, InvalidInputError, InvalidVectorError
from ragstone.metadata import MetadataValue, check_filter
from ragstone.models import EmbeddedChunk, SearchOptions, Vector, Vectors
from ragstone.stores._columns import name_of
from ragstone.validation import require_at_least, require_finite

__all__ = ["checked_filter", "checked_query", "checked_vectors", "stacked"]


def stacked(embedded: Sequence[EmbeddedChunk], dimensions: int | None) -> Vectors:
    """The vectors as one matrix, shape (n, dimensions); without `dimensions` the first vector decides.

    Raises:
        InvalidInputError: A vector is not of one dimension; names the chunk.
        DimensionMismatchError: A vector is of another length; names the chunk.
    """
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


def checked_vectors(embedded: Sequence[EmbeddedChunk], dimensions: int | None) -> Vectors:
    """The vectors as `stacked` gives them, float32 and in one piece, for a backend that takes numbers as they come.

    Raises:
        InvalidVectorError: A vector holds NaN or infinity, or numbers too large for float32; names the chunk.
        InvalidInputError: As `stacked`, or a text or an id cannot be written as UTF-8; names the chunk.
    """
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(stacked(embedded, dimensions), dtype="<f4")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        bad = embedded[int(np.argmin(finite))]
        raise InvalidVectorError(f"{name_of(bad.chunk)} has an embedding with NaN or infinity")
    for item in embedded:
        for field in ("text", "document_id"):
            try:
                getattr(item.chunk, field).encode()
            except UnicodeEncodeError:
                raise InvalidInputError(
                    f"{name_of(item.chunk)} holds half of a surrogate pair in its {field}, which is no character"
                ) from None
    return vectors


def checked_query(embedding: Vector, dimensions: int | None) -> Vector:
    """The query's vector as float32, shape (dimensions,).

    Raises:
        DimensionMismatchError: It is of another length.
        InvalidVectorError: It holds NaN or infinity.
    """
    with np.errstate(over="ignore"):
        query = np.asarray(embedding, dtype="<f4")
    if query.ndim != 1:
        raise InvalidInputError(f"the query has an embedding of shape {query.shape}, not (dimensions,)")
    if dimensions is not None and len(query) != dimensions:
        raise DimensionMismatchError(
            f"the query has {len(query)} dimensions instead of {dimensions}", expected=dimensions, actual=len(query)
        )
    if not np.isfinite(query).all():
        raise InvalidVectorError("the query has an embedding with NaN or infinity")
    return query


def checked_filter(options: SearchOptions) -> dict[str, MetadataValue]:
    """The filter of checked options, empty for none.

    Raises:
        ConfigurationError: `top_k` is negative, or `min_score` is not finite.
        MetadataError: A filter value is `None` or of no known kind.
    """
    require_at_least("top_k", options.top_k, 0)
    require_finite("min_score", options.min_score)
    return check_filter(options.metadata_filter) or {}

"""Chunks as rows of the table, and rows as hits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ragstone.errors import InvalidInputError
from ragstone.metadata import MetadataValue, metadata_from_json, metadata_to_json
from ragstone.models import EmbeddedChunk, ScoreScale, SearchResult, TextChunk, Vector
from ragstone.sparse_vector import SparseVector
from ragstone.stores._columns import name_of
from ragstone.stores._vectors import checked_vectors
from ragstone.stores.pgvector.binary import sparse_value, vector_value
from ragstone.stores.pgvector.table import Table

__all__ = ["MAX_TERMS", "Row", "check_sparse", "fits", "hits", "metadata_fits", "rows_of"]

MAX_TERMS: Final = 1000
"""Of a sparse vector: what an HNSW index of pgvector takes."""

_MAX_INDEX: Final = 2**31 - 1

Row: TypeAlias = tuple[Any, ...]


def fits(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no NUL, and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def metadata_fits(metadata: Mapping[str, MetadataValue]) -> bool:
    """Whether PostgreSQL can hold the keys and values."""
    return all(map(fits, metadata)) and all(fits(value) for value in metadata.values() if isinstance(value, str))


def rows_of(embedded: Sequence[EmbeddedChunk], table: Table) -> list[Row]:
    """The rows to upsert, ordered by key, so that writers of the same chunks wait for each other but never for ever.

    Raises:
        InvalidInputError: A chunk or a vector cannot be stored; names the chunk.
    """
    if not embedded:
        return []
    vectors = checked_vectors(embedded, table.dimensions)
    rows = [_row(item, vector, table) for item, vector in zip(embedded, vectors, strict=True)]
    return sorted(rows, key=lambda row: (row[0], row[1]))


def _row(item: EmbeddedChunk, vector: Vector, table: Table) -> Row:
    chunk = item.chunk
    metadata = metadata_to_json(chunk.metadata)
    _check_storable(chunk)
    row = (chunk.document_id, chunk.chunk_index, chunk.text, metadata, chunk.start, chunk.end, vector_value(vector))
    if table.vocabulary is None:
        return row
    return (*row, None if item.sparse is None else sparse_value(_checked(item, table.vocabulary), table.vocabulary))


def _check_storable(chunk: TextChunk) -> None:
    if chunk.chunk_index > _MAX_INDEX:
        raise InvalidInputError(f"{name_of(chunk)} is beyond {_MAX_INDEX}, the largest index that PostgreSQL holds")
    held = {"document_id": fits(chunk.document_id), "text": fits(chunk.text), "metadata": metadata_fits(chunk.metadata)}
    for field, holds in held.items():
        if not holds:
            raise InvalidInputError(
                f"{name_of(chunk)} has a NUL character or half a surrogate pair in its {field}, which PostgreSQL "
                "cannot hold: remove it"
            )


def _checked(item: EmbeddedChunk, vocabulary: int) -> SparseVector:
    vector: object = item.sparse
    if not isinstance(vector, SparseVector):
        raise InvalidInputError(
            f"{name_of(item.chunk)} has a {type(vector).__name__} as its sparse vector: use SparseVector"
        )
    check_sparse(vector, vocabulary, name_of(item.chunk))
    return vector


def check_sparse(vector: SparseVector, vocabulary: int, name: str) -> None:
    """Check that the column and its index take a sparse vector; `name` is whose it is.

    Raises:
        InvalidInputError: It has more than `MAX_TERMS` terms, or a term at or beyond `vocabulary`.
    """
    if len(vector) > MAX_TERMS:
        raise InvalidInputError(
            f"{name} has a sparse vector of {len(vector)} terms, and pgvector's index takes {MAX_TERMS}: "
            f"lower max_terms of the sparse encoder to {MAX_TERMS} or less"
        )
    if len(vector) and int(vector.indices[-1]) >= vocabulary:
        raise InvalidInputError(
            f"{name} has a sparse vector with the term {vector.indices[-1]}, and the collection is for terms below "
            f"vocabulary={vocabulary}: set vocabulary to the size of the sparse encoder's"
        )


def hits(rows: Sequence[Row], scale: ScoreScale) -> list[SearchResult]:
    """Rows as hits, best first, equal scores by key: an iterative scan may give them out of order."""
    results = [_hit(row, scale) for row in rows]
    return sorted(results, key=lambda hit: (-hit.score, hit.chunk.key))


def _hit(row: Row, scale: ScoreScale) -> SearchResult:
    document_id, index, text, metadata, start, end, distance = row
    chunk = TextChunk(text, document_id, index, start, end, metadata_from_json(metadata))
    return SearchResult(chunk, _score(distance, scale), scale)


def _score(distance: float, scale: ScoreScale) -> float:
    if scale is not ScoreScale.SIMILARITY:
        return -distance
    return 0.0 if math.isnan(distance) else 1.0 - distance

"""How chunks are kept in Qdrant: their ids, their payload, and filters on it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from ragstone.errors import MetadataError, StoreError
from ragstone.metadata import MetadataValue, metadata_from_json, metadata_to_json
from ragstone.models import ChunkKey, TextChunk

if TYPE_CHECKING:
    from qdrant_client import models

__all__ = ["chunk_of", "document_filter", "metadata_filter", "payload_of", "point_id"]

_NAMESPACE: Final = UUID("5b0d1d0c-3c0e-5a55-9e39-6d1c5d1f7a10")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def point_id(key: ChunkKey) -> str:
    """The UUID of a chunk's point, the same every time, and no other chunk's: JSON tells ("a", 11) from ("a1", 1)."""
    return str(uuid5(_NAMESPACE, json.dumps([key.document_id, key.chunk_index])))


def payload_of(chunk: TextChunk) -> dict[str, Any]:
    """What is kept beside the vectors.

    `metadata` holds the metadata as JSON, from which they are read; `meta_…` holds each of them once more for filters.
    """
    return {
        "document_id": chunk.document_id,
        "chunk_index": chunk.chunk_index,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
        "metadata": metadata_to_json(chunk.metadata),
        **{_field(key): _filterable(value) for key, value in chunk.metadata.items()},
    }


def chunk_of(payload: Mapping[str, Any] | None) -> TextChunk:
    """The chunk that `payload_of` wrote.

    Raises:
        StoreError: It was written by something else.
    """
    try:
        held = payload or {}
        return TextChunk(
            held["text"],
            held["document_id"],
            held["chunk_index"],
            held["start"],
            held["end"],
            metadata_from_json(held["metadata"]),
        )
    except (KeyError, TypeError, ValueError, MetadataError) as error:
        raise StoreError(
            f"Qdrant holds a point that Ragstone did not write ({type(error).__name__}): give each its own collection"
        ) from error


def document_filter(document_id: str) -> models.Filter:
    """The points of a document."""
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key="document_id", match=models.MatchValue(value=document_id))])


def metadata_filter(wanted: Mapping[str, MetadataValue]) -> models.Filter | None:
    """The points whose metadata equal the wanted ones, in kind and in value; `None` for no filter."""
    from qdrant_client import models

    return models.Filter(must=[_condition(key, value) for key, value in wanted.items()]) if wanted else None


def _condition(key: str, value: MetadataValue) -> models.FieldCondition:
    """A string or a boolean is matched, a number lies in a range of one: Qdrant matches no fractions."""
    from qdrant_client import models

    field = _field(key)
    if isinstance(value, datetime):
        return models.FieldCondition(key=f"{field}.date", match=models.MatchValue(value=value.isoformat()))
    if isinstance(value, (bool, str)):
        return models.FieldCondition(key=field, match=models.MatchValue(value=value))
    return models.FieldCondition(key=field, range=models.Range(gte=float(value), lte=float(value)))


def _field(key: str) -> str:
    """The payload field of a metadata key; one that Qdrant would read as a path is written as the hex of its UTF-8."""
    return f"meta_{key}" if _PLAIN_KEY.fullmatch(key) else f"metax_{key.encode('utf-8', 'surrogatepass').hex()}"


def _filterable(value: MetadataValue) -> Any:
    """A datetime becomes an object, so that no string of the same letters equals it."""
    return {"date": value.isoformat()} if isinstance(value, datetime) else value

"""Chunks as the objects of a class, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID, uuid5

import numpy as np

from ragstone.errors import StoreError
from ragstone.metadata import MetadataValue, metadata_from_json, metadata_to_json
from ragstone.models import ChunkKey, TextChunk, Vector

__all__ = ["RETURNED", "chunk_of", "exact", "instant", "kind_of", "object_of", "property_of"]

RETURNED: Final = ("document_id", "chunk_index", "start", "end", "text", "metadata_json")
"""What a search asks for."""

_NAMESPACE: Final = UUID("0f4c7f5e-6c8e-5b0a-8a52-6b1f3f0f6c35")
_PLAIN: Final = re.compile(r"(?![xh]_)[a-z0-9_]{1,100}")
_LONGEST_HEX: Final = 200


def object_of(chunk: TextChunk, vector: Vector, *, class_name: str, tenant: str | None) -> dict[str, Any]:
    """The object of a chunk; a zero vector, which has no direction, is left out."""
    filterable = {property_of(key, value): _stored(value) for key, value in chunk.metadata.items()}
    found: dict[str, Any] = {
        "class": class_name,
        "id": _id_of(chunk.key),
        "properties": {
            "document_id": exact(chunk.document_id),
            "chunk_index": chunk.chunk_index,
            "start": chunk.start,
            "end": chunk.end,
            "text": chunk.text,
            "metadata_json": metadata_to_json(chunk.metadata),
            **filterable,
        },
    }
    if np.any(vector):
        found["vector"] = vector.tolist()
    if tenant is not None:
        found["tenant"] = tenant
    return found


def chunk_of(properties: Mapping[str, Any]) -> TextChunk:
    """The chunk of an object.

    Raises:
        StoreError: The object is not one of a chunk.
    """
    try:
        held: str = properties["document_id"]
        return TextChunk(
            properties["text"],
            json.loads(held) if held.startswith('"') else held,
            properties["chunk_index"],
            properties["start"] or 0,
            properties["end"] or 0,
            metadata_from_json(properties["metadata_json"] or "{}"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            "Weaviate gave an object that is no chunk: is the class shared with something else?"
        ) from error


def exact(text: str) -> str:
    """A text as a property of field tokenisation keeps it whole: quoted where it would be trimmed, or is empty.

    Example:
        >>> exact("it's"), exact(" a"), exact("")
        ("it's", '" a"', '""')
    """
    return text if text and text == text.strip() and not text.startswith('"') else json.dumps(text, ensure_ascii=False)


def kind_of(value: MetadataValue) -> str:
    """The data type of the property that holds a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, datetime) else "number"


def property_of(key: str, value: MetadataValue) -> str:
    """The property that holds a key's values of this kind.

    Names of properties are ASCII and differ by more than case, so other keys are spelt in hexadecimal.

    Example:
        >>> property_of("page", 3), property_of("Ü", "x")
        ('meta_number_page', 'meta_text_x_c39c')
    """
    name = key
    if not _PLAIN.fullmatch(key):
        encoded = key.encode("utf-8", "surrogatepass")
        name = f"x_{encoded.hex()}"
        if len(name) > _LONGEST_HEX:
            name = f"h_{sha256(encoded).hexdigest()}"
    return f"meta_{kind_of(value)}_{name}"


def instant(value: datetime) -> str:
    """An instant as RFC 3339 in UTC."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _stored(value: MetadataValue) -> str | float | bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return exact(value)
    return instant(value) if isinstance(value, datetime) else float(value) + 0.0


def _id_of(key: ChunkKey) -> str:
    return str(uuid5(_NAMESPACE, f"{key.chunk_index}:{key.document_id}"))

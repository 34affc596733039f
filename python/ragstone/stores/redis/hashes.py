"""A chunk as a hash of Redis, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ragstone.metadata import metadata_from_json, metadata_to_json
from ragstone.models import ChunkKey, TextChunk, Vector
from ragstone.stores.redis.index import CHUNK_INDEX, DOCUMENT_ID, EMBEDDING
from ragstone.stores.redis.tags import metadata_field, tag_of

__all__ = ["CHUNK_FIELDS", "HashFields", "chunk_of", "hash_fields", "hash_name", "key_of"]

HashFields: TypeAlias = dict[Any, str | int | bytes]
"""Values by the names of their fields, which are strings."""

CHUNK_FIELDS: Final = ("text", "start", "end", "metadata")
"""What a chunk is read back from, beside the name of its hash."""


def hash_name(prefix: str, key: ChunkKey) -> str:
    """The name of a chunk's hash: what follows its last colon is the index, so no two chunks share one."""
    return f"{prefix}{key.document_id}:{key.chunk_index}"


def key_of(prefix: str, name: bytes) -> ChunkKey:
    """The chunk that a hash of this name holds.

    Raises:
        ValueError: It is the name of no chunk.
    """
    document_id, _, chunk_index = name.decode().removeprefix(prefix).rpartition(":")
    return ChunkKey(document_id, int(chunk_index))


def hash_fields(chunk: TextChunk, vector: Vector, filterable: Sequence[str]) -> tuple[HashFields, list[str]]:
    """The fields of a chunk's hash, and the names of those that it may have had and has no more.

    A zero vector has no direction: Redis would answer NaN for it, so it is left out.
    """
    tags = {metadata_field(key): tag_of(chunk.metadata[key]) for key in filterable if key in chunk.metadata}
    fields: HashFields = {
        DOCUMENT_ID: tag_of(chunk.document_id),
        CHUNK_INDEX: chunk.chunk_index,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
        "metadata": metadata_to_json(chunk.metadata),
        **tags,
    }
    if vector.any():
        fields[EMBEDDING] = vector.tobytes()
    return fields, [name for name in (*map(metadata_field, filterable), EMBEDDING) if name not in fields]


def chunk_of(prefix: str, name: bytes, fields: Mapping[str, Any]) -> TextChunk:
    """The chunk of a hash.

    Raises:
        KeyError: It is no hash of a chunk.
        ValueError: Or one whose fields have been changed.
    """
    document_id, chunk_index = key_of(prefix, name)
    return TextChunk(
        fields["text"].decode(),
        document_id,
        chunk_index,
        int(fields["start"]),
        int(fields["end"]),
        metadata_from_json(fields["metadata"].decode()),
    )

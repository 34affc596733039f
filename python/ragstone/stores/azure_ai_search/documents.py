"""Chunks as the documents of an index, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID, uuid5

import numpy as np

from ragstone.errors import InvalidInputError, MetadataError, StoreError
from ragstone.metadata import Metadata, MetadataValue, matches, metadata_from_json, metadata_to_json
from ragstone.models import ChunkKey, EmbeddedChunk, TextChunk
from ragstone.stores._batches import packed
from ragstone.stores._columns import name_of
from ragstone.stores.azure_ai_search.filters import instant, plain_number

__all__ = ["RETURNED", "batches", "chunk_of", "document_of", "id_of"]

RETURNED: Final = ["document_id", "chunk_index", "start", "end", "text", "metadata", "metadata_entries"]
"""What a search asks for: everything but the vector."""

_NAMESPACE: Final = UUID("a5b6a9e0-2f2d-5d6b-9a39-0c1f6e6f1a57")
_MOST_ACTIONS: Final = 1000
_MOST_BYTES: Final = 1_000_000
_BYTES_OF_A_NUMBER: Final = 25
_LONGEST_TERM: Final = 32_766
_MOST_ENTRIES: Final = 3000


def id_of(key: ChunkKey) -> str:
    """The document key of a chunk: the same for the same chunk, in the letters that the service allows."""
    return str(uuid5(_NAMESPACE, f"{key.chunk_index}:{key.document_id}"))


def document_of(item: EmbeddedChunk) -> dict[str, Any]:
    """The document of a chunk. A zero vector, which has no direction, is left out.

    Raises:
        InvalidInputError: The service could not filter by the document id, a key or a value, or has no room for them.
    """
    chunk = item.chunk
    entries = [_entry(key, value) for key, value in chunk.metadata.items()]
    _check_size(chunk, entries)
    return {
        "id": id_of(chunk.key),
        "document_id": chunk.document_id,
        "chunk_index": chunk.chunk_index,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
        "metadata": metadata_to_json(chunk.metadata),
        "metadata_entries": entries,
        "embedding": np.asarray(item.embedding, dtype=np.float32).tolist() if np.any(item.embedding) else None,
    }


def chunk_of(document: Mapping[str, Any]) -> TextChunk:
    """The chunk of a document; one from before metadata had kinds comes back with strings.

    Raises:
        StoreError: The document is not one of a chunk.
    """
    try:
        rows: Sequence[Mapping[str, Any]] = document["metadata_entries"] or ()
        return TextChunk(
            document["text"],
            document["document_id"],
            document["chunk_index"],
            document["start"] or 0,
            document["end"] or 0,
            _metadata(document["metadata"] or "{}", {row["key"]: _value(row) for row in rows}),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            "Azure AI Search gave a document that is no chunk: is the index shared with something else?"
        ) from error


def batches(documents: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The documents in order, in batches of at most 1000 and 1 MB.

    The service takes 16 MB, but encoding as much would hold up the event loop; a larger document travels alone.
    """
    return packed(documents, _weight, most=_MOST_ACTIONS, heaviest=_MOST_BYTES)


def _weight(document: dict[str, Any]) -> int:
    return len(json.dumps({**document, "embedding": None})) + _BYTES_OF_A_NUMBER * len(document["embedding"] or ())


def _entry(key: str, value: MetadataValue) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": key, "boolValue": value}
    if isinstance(value, str):
        return {"key": key, "stringValue": value}
    if isinstance(value, datetime):
        milliseconds, rest = instant(value)
        return {"key": key, "dateValue": milliseconds, "dateMicroseconds": rest}
    return {"key": key, "numberValue": plain_number(value)}


def _value(row: Mapping[str, Any]) -> MetadataValue:
    for name in ("stringValue", "boolValue", "numberValue"):
        if row.get(name) is not None:
            return cast("MetadataValue", row[name])
    moment = datetime.fromisoformat(row["dateValue"]).astimezone(UTC)
    return moment + timedelta(microseconds=row.get("dateMicroseconds") or 0)


def _metadata(text: str, typed: dict[str, MetadataValue]) -> Metadata:
    """Rows say what kind a value is of; the text, where it agrees, whether a number was whole."""
    if not typed:
        held = cast("dict[str, object]", json.loads(text))
        strings = {k: v if isinstance(v, str) else json.dumps(v) for k, v in held.items() if v is not None}
        return cast("Metadata", strings)
    try:
        exact = metadata_from_json(text)
    except MetadataError:
        return typed
    return exact if exact.keys() == typed.keys() and matches(exact, typed) else typed


def _check_size(chunk: TextChunk, entries: Sequence[Mapping[str, Any]]) -> None:
    if len(entries) > _MOST_ENTRIES:
        raise InvalidInputError(
            f"{name_of(chunk)} has {len(entries)} metadata entries: Azure AI Search holds {_MOST_ENTRIES} a document"
        )
    for subject, text in (("its document id", chunk.document_id), *_filtered_texts(entries)):
        if len(text.encode("utf-8", "surrogatepass")) > _LONGEST_TERM:
            raise InvalidInputError(
                f"{name_of(chunk)[:200]}: {subject} is too long to filter by: "
                f"Azure AI Search takes {_LONGEST_TERM} bytes of UTF-8"
            )


def _filtered_texts(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        yield "a metadata key", entry["key"]
        if "stringValue" in entry:
            yield f"its metadata value of {entry['key'][:100]!r}", entry["stringValue"]

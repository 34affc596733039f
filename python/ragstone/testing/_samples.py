"""What the store contract stores and asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import numpy as np
from hypothesis import strategies as st

from ragstone.metadata import MetadataValue
from ragstone.models import ChunkKey, EmbeddedChunk, SearchResult, TextChunk, Vector

__all__ = ["METADATA", "NOON", "ODD_IDS", "embedded", "keys", "query"]

ODD_IDS: Final = (
    "it's",
    '"quoted"',
    "a:1",
    "a/b\\c",
    "a b\tc\nd",
    "%_*?[x]",
    "'; DROP TABLE chunks; --",
    "{$ne: null}",
    "-@tag:{x}|y",
    "данные/数据/بيانات",
    "e\u0301 is not \u00e9",
    "🦀" * 20,
    "x" * 300,
    "0",
)
"""Document ids that have broken quoting, joining or escaping somewhere."""

NOON: Final = datetime(2025, 2, 3, 12, 45, 46, tzinfo=UTC)
_KEYS = st.sampled_from(("flag", "a b", "a.b", 'q"uote', "ключ", "$where"))
_NUMBERS = (True, False, 1, 0, 1.0, -0.0, 1.5, -2, 2**53)
_TEXTS = ("1", "true", "True", "", "it's", "人工", str(NOON))
_INSTANTS = (
    NOON,
    NOON.astimezone(timezone(timedelta(hours=2))),
    NOON.replace(tzinfo=None),
    NOON + timedelta(microseconds=1),
)
_VALUES: st.SearchStrategy[MetadataValue] = st.sampled_from((*_NUMBERS, *_TEXTS, *_INSTANTS))

METADATA: Final = st.dictionaries(_KEYS, _VALUES, max_size=3)
"""Metadata, or a filter: few keys and values, so that they often meet, of every kind and hard to tell apart."""


def embedded(
    document_id: str, index: int, vector: Sequence[float], metadata: Mapping[str, MetadataValue] | None = None
) -> EmbeddedChunk:
    """A chunk whose text names it, with its vector."""
    chunk = TextChunk(f"text of {document_id} {index}", document_id, index, 5, 9, metadata or {})
    return EmbeddedChunk(chunk, np.array(vector, dtype=np.float32))


def query(*numbers: float) -> Vector:
    """A query vector."""
    return np.array(numbers, dtype=np.float32)


def keys(results: Sequence[SearchResult]) -> list[ChunkKey]:
    """The keys of results, in order."""
    return [result.chunk.key for result in results]

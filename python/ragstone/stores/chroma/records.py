"""A chunk as the metadata of a Chroma record, and back.

Keys and values stand as they are wherever Chroma gives them back as they were; what it would refuse or change is
written in another way, so that nothing is lost and kinds never cross:

- a datetime is the text `$date:` and its instant in UTC;
- a text that begins with `$` has `$text:` before it;
- a float whose decimal form Chroma would round is the text `$number:` and that form, or, large and whole, an int;
- a key that Chroma or this module uses itself has `ragstone.key.` before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ragstone.metadata import MAX_INTEGER, MetadataValue
from ragstone.models import TextChunk

__all__ = ["CHUNK_INDEX", "DOCUMENT_ID", "chunk_of", "record_id", "record_metadata", "where"]

DOCUMENT_ID: Final = "document_id"
CHUNK_INDEX: Final = "chunk_index"
_START: Final = "ragstone.start"
_END: Final = "ragstone.end"
_KEY: Final = "ragstone.key."
_OWN_KEYS: Final = (DOCUMENT_ID, CHUNK_INDEX)
_OWN_PREFIXES: Final = ("ragstone.", "chroma:", "$", "#")
_DATE: Final = "$date:"
_TEXT: Final = "$text:"
_NUMBER: Final = "$number:"


def record_id(document_id: str, chunk_index: int) -> str:
    """The id of a chunk's record: the part after the last colon is the index, so no two chunks share one."""
    return f"{document_id}:{chunk_index}"


def record_metadata(chunk: TextChunk) -> dict[str, str | int | float | bool]:
    """Everything of a chunk but its text."""
    return {
        **{_key(key): _value(value) for key, value in chunk.metadata.items()},
        DOCUMENT_ID: chunk.document_id,
        CHUNK_INDEX: chunk.chunk_index,
        _START: chunk.start,
        _END: chunk.end,
    }


def chunk_of(text: str | None, metadata: Mapping[str, Any]) -> TextChunk:
    """The chunk of a record, offsets being 0 where another program wrote it.

    Raises:
        KeyError: It is no record of a chunk.
        ValueError: Or one whose values have been changed.
    """
    own = {*_OWN_KEYS, _START, _END}
    return TextChunk(
        text or "",
        metadata[DOCUMENT_ID],
        metadata[CHUNK_INDEX],
        metadata.get(_START, 0),
        metadata.get(_END, 0),
        {key.removeprefix(_KEY): _restored(value) for key, value in metadata.items() if key not in own},
    )


def where(metadata_filter: Mapping[str, MetadataValue]) -> dict[str, Any] | None:
    """A filter as a where clause, `None` for no filter: Chroma refuses an empty clause, and `$and` of a single one.

    Example:
        >>> where({"a": "x"})
        {'a': {'$eq': 'x'}}
        >>> where({"a": "x", "b": 2})
        {'$and': [{'a': {'$eq': 'x'}}, {'b': {'$eq': 2}}]}
    """
    clauses = [{_key(key): {"$eq": _value(value)}} for key, value in metadata_filter.items()]
    if not clauses:
        return None
    return clauses[0] if len(clauses) == 1 else {"$and": clauses}


def _key(key: str) -> str:
    return _KEY + key if key in _OWN_KEYS or key.startswith(_OWN_PREFIXES) else key


def _value(value: MetadataValue) -> str | int | float | bool:
    if isinstance(value, datetime):
        return _DATE + value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return _TEXT + value if value.startswith("$") else value
    if isinstance(value, float):
        return _number(value)
    return value


def _number(value: float) -> int | float | str:
    """The number itself where any reader of JSON reads its decimal form exactly, which takes a small significand."""
    if value.is_integer() and MAX_INTEGER / 10 < abs(value) <= MAX_INTEGER:
        return int(value)
    digits = repr(value)
    if "e" not in digits and abs(int(digits.replace(".", ""))) <= MAX_INTEGER:
        return value + 0.0  # -0.0 becomes 0.0, its equal
    return _NUMBER + digits


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        if value.startswith(_DATE):
            return datetime.fromisoformat(value.removeprefix(_DATE))
        if value.startswith(_NUMBER):
            return float(value.removeprefix(_NUMBER))
        return value.removeprefix(_TEXT)
    return value

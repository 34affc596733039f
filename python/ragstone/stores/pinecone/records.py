"""A chunk as the id and the metadata of a record, and back.

Pinecone keeps strings, doubles, booleans and lists of strings; what is something else is written in another way:

- a datetime is the text `$date:` and its instant in UTC;
- a text that begins with `$` has `$text:` before it;
- the keys of integers are listed, since every number comes back as a double;
- a key that Pinecone or this module uses itself has `ragstone.key.` before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from ragstone.errors import InvalidInputError, StoreError
from ragstone.metadata import MetadataValue
from ragstone.models import TextChunk
from ragstone.stores._columns import name_of

__all__ = ["chunk_of", "id_prefix", "is_of_prefix", "metadata_filter", "record_id", "record_metadata"]

_LONGEST_PREFIX: Final = 480
"""Characters; an id has 512, of which the index takes the rest."""

_MOST_BYTES: Final = 40 * 1024
_PLAIN: Final = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
_START: Final = "ragstone.start"
_END: Final = "ragstone.end"
_INTEGERS: Final = "ragstone.integers"
_KEY: Final = "ragstone.key."
_OWN_KEYS: Final = ("document_id", "chunk_index", "text")
_OWN_PREFIXES: Final = ("ragstone.", "$")
_DATE: Final = "$date:"
_TEXT: Final = "$text:"


def id_prefix(document_id: str) -> str:
    """What the ids of a document's records begin with: the document's id and a colon.

    Ids are ASCII and of limited length: other characters are percent-encoded, what is too long is a hash, and no two
    documents share a prefix.

    Example:
        >>> id_prefix("doc:7"), id_prefix("50% é")
        ('doc:7:', '50%25 %C3%A9:')
    """
    encoded = quote(document_id, safe=_PLAIN, errors="surrogatepass")
    if len(encoded) > _LONGEST_PREFIX:
        # "%s" begins no percent-encoded character, so that no other id looks like this.
        encoded = f"%sha256-{sha256(document_id.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return f"{encoded}:"


def is_of_prefix(identity: str, prefix: str) -> bool:
    """Whether a record is of the document with this prefix: nothing but the digits of an index follows.

    Example:
        >>> is_of_prefix("doc:10", "doc:"), is_of_prefix("doc:7:0", "doc:")
        (True, False)
    """
    return identity.startswith(prefix) and identity[len(prefix) :].isdigit()


def record_id(chunk: TextChunk) -> str:
    """The id of a chunk's record: what follows the last colon is the index, so no two chunks share one."""
    return f"{id_prefix(chunk.document_id)}{chunk.chunk_index}"


def record_metadata(chunk: TextChunk) -> dict[str, Any]:
    """Everything of a chunk, its text included.

    Raises:
        InvalidInputError: It is more than Pinecone holds with a record; names the chunk.
    """
    integers = [_key(key) for key, value in chunk.metadata.items() if type(value) is int]
    metadata = {
        **{_key(key): _value(value) for key, value in chunk.metadata.items()},
        "document_id": chunk.document_id,
        "chunk_index": chunk.chunk_index,
        "text": chunk.text,
        _START: chunk.start,
        _END: chunk.end,
        **({_INTEGERS: integers} if integers else {}),
    }
    size = len(json.dumps(metadata, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > _MOST_BYTES:
        raise InvalidInputError(
            f"{name_of(chunk)} has {size} bytes of text and metadata, and Pinecone holds {_MOST_BYTES} with a record: "
            "split into smaller chunks"
        )
    return metadata


def chunk_of(metadata: Mapping[str, Any]) -> TextChunk:
    """The chunk of a record, offsets being 0 where another program wrote it.

    Raises:
        StoreError: It is no record of a chunk.
    """
    own = {*_OWN_KEYS, _START, _END, _INTEGERS}
    try:
        integers = frozenset(metadata.get(_INTEGERS, ()))
        return TextChunk(
            metadata["text"],
            metadata["document_id"],
            int(metadata["chunk_index"]),
            int(metadata.get(_START, 0)),
            int(metadata.get(_END, 0)),
            {
                key.removeprefix(_KEY): int(value) if key in integers else _restored(value)
                for key, value in metadata.items()
                if key not in own
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"Pinecone gave a record that is no chunk ({type(error).__name__}): give Ragstone a namespace of its own"
        ) from error


def metadata_filter(wanted: Mapping[str, MetadataValue]) -> dict[str, Any] | None:
    """A checked filter as Pinecone's, `None` for no entry.

    Example:
        >>> metadata_filter({"department": "finance"})
        {'department': {'$eq': 'finance'}}
        >>> metadata_filter({"department": "finance", "page": 3})
        {'$and': [{'department': {'$eq': 'finance'}}, {'page': {'$eq': 3}}]}
    """
    clauses = [{_key(key): {"$eq": _value(value)}} for key, value in wanted.items()]
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
    return value + 0.0 if isinstance(value, float) else value  # -0.0 becomes 0.0, its equal


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        if value.startswith(_DATE):
            return datetime.fromisoformat(value.removeprefix(_DATE))
        return value.removeprefix(_TEXT)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

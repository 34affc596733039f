"""Typed metadata: four kinds of value, one equality, used by every index and store.

A value is a string, a number (int and float are one kind), a boolean (its own kind although Python makes it an int)
or a datetime. Kinds never cross: the number 3 does not equal the string "3", and True does not equal 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TypeAlias, cast

from ragstone.errors import MetadataError

__all__ = [
    "MAX_INTEGER",
    "RESERVED_KEYS",
    "Metadata",
    "MetadataFilter",
    "MetadataValue",
    "check_filter",
    "check_metadata",
    "check_tags",
    "is_reserved",
    "matches",
    "metadata_from_json",
    "metadata_to_json",
]

MetadataValue: TypeAlias = str | int | float | bool | datetime
Metadata: TypeAlias = Mapping[str, MetadataValue]
MetadataFilter: TypeAlias = Mapping[str, MetadataValue]

MAX_INTEGER: Final = 2**53
"""The largest absolute integer that every store can hold exactly (a double's precision)."""

RESERVED_KEYS: Final = frozenset(
    {"document_id", "chunk_index", "text", "page", "page_end", "created_at", "updated_at", "source.store"}
)
_RESERVED_PREFIX: Final = "heading"


def is_reserved(key: str) -> bool:
    """Whether Ragstone itself writes this key, so that a user's tag may not use it."""
    return key in RESERVED_KEYS or key.startswith(_RESERVED_PREFIX)


def _check_key(key: object, subject: str) -> str:
    if not isinstance(key, str):
        raise MetadataError(f"{subject} key {key!r} must be a string, not {type(key).__name__}")
    if not key:
        raise MetadataError(f"{subject} key must not be empty")
    return key


def _check_value(key: str, value: object, subject: str) -> MetadataValue:
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise MetadataError(
                f"{subject} '{key}' = {value} is beyond ±2**53 and cannot be stored exactly: keep it as a string"
            )
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise MetadataError(f"{subject} '{key}' = {value!r} must be a finite number")
        return value
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    raise MetadataError(
        f"{subject} '{key}' = {value!r} is of type {type(value).__name__}: "
        "use a string, a number, a boolean or a datetime"
    )


def check_metadata(metadata: Mapping[str, object] | None) -> dict[str, MetadataValue]:
    """Return a validated copy of `metadata`: `None` values left out, datetimes in UTC.

    Raises:
        MetadataError: A key is not a non-empty string, or a value is of no known kind; names the key.
    """
    if metadata is None:
        return {}
    checked: dict[str, MetadataValue] = {}
    for key, value in metadata.items():
        name = _check_key(key, "metadata")
        if value is not None:
            checked[name] = _check_value(name, value, "metadata")
    return checked


def check_tags(tags: Mapping[str, object] | None) -> dict[str, MetadataValue]:
    """Like `check_metadata`, and refuse the keys that Ragstone writes itself.

    Raises:
        MetadataError: A tag uses a reserved key, or as `check_metadata`.
    """
    checked = check_metadata(tags)
    for key in checked:
        if is_reserved(key):
            raise MetadataError(f"tag '{key}' is a reserved metadata key that Ragstone writes itself: rename the tag")
    return checked


def check_filter(metadata_filter: Mapping[str, object] | None) -> dict[str, MetadataValue] | None:
    """Return a validated copy of a filter, or `None` for no filter (`None` or `{}`).

    Raises:
        MetadataError: A value is `None` or of no known kind; a filter that cannot be applied never widens the result.
    """
    if not metadata_filter:
        return None
    checked: dict[str, MetadataValue] = {}
    for key, value in metadata_filter.items():
        name = _check_key(key, "metadata_filter")
        if value is None:
            raise MetadataError(f"metadata_filter '{name}' is None: leave the key out, or give the value to match")
        checked[name] = _check_value(name, value, "metadata_filter")
    return checked


def _kind(value: MetadataValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, datetime):
        return "datetime"
    return "number"


def matches(metadata: Metadata, metadata_filter: MetadataFilter | None) -> bool:
    """Whether every entry of `metadata_filter` equals the metadata's value of that key, in kind and in value.

    This is the one definition of a match: indexes and stores are tested against it. An empty or absent filter matches
    everything; a key that is missing matches nothing. Datetimes compare as instants, naive ones as UTC.

    Example:
        >>> matches({"year": 2024, "flag": True}, {"year": 2024.0})
        True
        >>> matches({"year": 2024}, {"year": "2024"})
        False
        >>> matches({"flag": True}, {"flag": 1})
        False
    """
    wanted = check_filter(cast("Mapping[str, object] | None", metadata_filter))
    if wanted is None:
        return True
    for key, value in wanted.items():
        held = metadata.get(key)
        if held is None or _kind(held) != _kind(value):
            return False
        if _check_value(key, held, "metadata") != value:
            return False
    return True


def metadata_to_json(metadata: Metadata) -> str:
    """Encode metadata as JSON text whose kinds `metadata_from_json` restores; datetimes become `{"$date": "…"}`."""
    plain = {k: {"$date": v.isoformat()} if isinstance(v, datetime) else v for k, v in check_metadata(metadata).items()}
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def metadata_from_json(text: str) -> dict[str, MetadataValue]:
    """Decode what `metadata_to_json` wrote.

    Raises:
        MetadataError: The text is not such an encoding.
    """
    try:
        entries = cast("Mapping[str, object]", json.loads(text, parse_int=_number))
        restored = {key: _from_plain(value) for key, value in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MetadataError(f"stored metadata cannot be read: {error}") from error
    return check_metadata(restored)


def _number(digits: str) -> int | float:
    """What was beyond `MAX_INTEGER` was written as a float: databases drop its exponent."""
    number = int(digits)
    return number if abs(number) <= MAX_INTEGER else float(digits)


def _from_plain(value: object) -> object:
    return datetime.fromisoformat(cast("Mapping[str, str]", value)["$date"]) if isinstance(value, dict) else value

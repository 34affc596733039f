"""Keys: a SHA-256 over canonical JSON of everything that a value depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import cast

__all__ = ["Undescribable", "key_of"]


class Undescribable(Exception):  # noqa: N818  a signal, not an error: what depends on such a value is not cached
    """A value whose description would not tell it from every other that behaves differently."""


def key_of(level: str, *parts: object) -> str:
    """Return the key of a value at this level of caching that depends on these parts.

    A part may be made of `None`, booleans, numbers, strings, datetimes, mappings, sequences, and frozen dataclasses of
    these whose class has a lasting name. Values of different kinds never have the same key.

    Raises:
        Undescribable: A part is of another kind, such as a function.

    Example:
        >>> key_of("result", {"flag": True}) == key_of("result", {"flag": 1})
        False
    """
    text = json.dumps(_plain(parts), separators=(",", ":"))
    return f"{level}:{sha256(text.encode('ascii')).hexdigest()}"


def _plain(value: object) -> object:
    """The value as JSON has it; what JSON has no kind for is an object of one entry, named by the kind."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, datetime):
        return {"datetime": (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)).isoformat()}
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return {
            "mapping": sorted(([_text(key), _plain(item)] for key, item in entries.items()), key=lambda e: str(e[0]))
        }
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    if is_dataclass(value) and not isinstance(value, type):
        return {_name(type(value)): [[field.name, _plain(getattr(value, field.name))] for field in fields(value)]}
    raise Undescribable(type(value).__qualname__)


def _text(key: object) -> str:
    if not isinstance(key, str):
        raise Undescribable(f"a mapping with a key of type {type(key).__qualname__}")
    return key


def _name(kind: type) -> str:
    """The name of a frozen dataclass; a class of a function or a program may be another the next time it is met."""
    frozen: bool = kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if not frozen or kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise Undescribable(kind.__qualname__)
    return f"{kind.__module__}.{kind.__qualname__}"

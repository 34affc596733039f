"""GraphQL queries and `where` filters, each value a literal, never syntax."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from ragstone.metadata import MetadataValue
from ragstone.models import Vector
from ragstone.stores.weaviate.objects import RETURNED, exact, instant, kind_of, property_of

__all__ = ["document_where", "get_query", "hybrid", "near_vector", "where"]

_SLOTS: Final = {"text": "valueText", "number": "valueNumber", "boolean": "valueBoolean", "date": "valueDate"}
_BARE: Final = frozenset({"And", "Equal", "relativeScoreFusion"})


def where(wanted: Mapping[str, MetadataValue]) -> dict[str, Any] | None:
    """The typed filter of a checked metadata filter; `None` for no entry.

    Example:
        >>> where({"department": "finance"})
        {'path': ['meta_text_department'], 'operator': 'Equal', 'valueText': 'finance'}
    """
    operands = [_equal(property_of(key, value), value) for key, value in wanted.items()]
    if len(operands) > 1:
        return {"operator": "And", "operands": operands}
    return operands[0] if operands else None


def document_where(document_id: str) -> dict[str, Any]:
    """The filter of a document's chunks."""
    return _equal("document_id", document_id)


def near_vector(vector: Vector) -> dict[str, Any]:
    """The search of a vector's neighbours."""
    return {"nearVector": {"vector": vector.tolist()}}


def hybrid(text: str, vector: Vector) -> dict[str, Any]:
    """The search that the server fuses; one half alone where the text is blank or the vector zero."""
    arms: dict[str, Any] = {"query": text, "properties": ["text"], "fusionType": "relativeScoreFusion"}
    if vector.any():
        arms["vector"] = vector.tolist()
    if not text.strip():
        arms["alpha"] = 1.0
    elif not vector.any():
        arms["alpha"] = 0.0
    return {"hybrid": arms}


def get_query(class_name: str, arguments: Mapping[str, Any], additional: str) -> str:
    """The query of a page, with one further property of each object."""
    given = ",".join(f"{name}:{_literal(value)}" for name, value in arguments.items())
    return f"{{Get{{{class_name}({given}){{{' '.join(RETURNED)} _additional{{{additional}}}}}}}}}"


def _equal(name: str, value: MetadataValue) -> dict[str, Any]:
    held: Any = value
    if isinstance(value, str):
        held = exact(value)
    elif isinstance(value, datetime):
        held = instant(value)
    elif not isinstance(value, bool):
        held = float(value) + 0.0
    return {"path": [name], "operator": "Equal", _SLOTS[kind_of(value)]: held}


def _literal(value: object, name: str = "") -> str:
    """A value in GraphQL, whose strings are JSON's; names of enumerations are bare."""
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value).items()
        return "{" + ",".join(f"{key}:{_literal(item, key)}" for key, item in entries) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_literal, cast("list[object]", value))) + "]"
    if name in ("operator", "fusionType") and value in _BARE:
        return str(value)
    return json.dumps(value, ensure_ascii=False)

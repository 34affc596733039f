"""The index that the store keeps its chunks in, in the service's own JSON, and how an older one becomes it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ragstone.errors import ConfigurationError, DimensionMismatchError

__all__ = ["SEMANTIC_CONFIGURATION", "Definition", "index_definition", "migrated"]

Definition: TypeAlias = dict[str, Any]

SEMANTIC_CONFIGURATION: Final = "default-semantic-configuration"
_ALGORITHM: Final = "default-algorithm"
_PROFILE: Final = "default-profile"


def index_definition(name: str, dimensions: int, *, semantic: bool) -> Definition:
    """The definition of a new index."""
    entries = [
        _field("key", "Edm.String", filterable=True),
        _field("stringValue", "Edm.String", filterable=True),
        _field("numberValue", "Edm.Double", filterable=True),
        _field("boolValue", "Edm.Boolean", filterable=True),
        _field("dateValue", "Edm.DateTimeOffset", filterable=True),
        _field("dateMicroseconds", "Edm.Int32", filterable=True),
    ]
    definition: Definition = {
        "name": name,
        "fields": [
            {**_field("id", "Edm.String"), "key": True},
            _field("document_id", "Edm.String", filterable=True),
            _field("chunk_index", "Edm.Int32"),
            _field("start", "Edm.Int32"),
            _field("end", "Edm.Int32"),
            {**_field("text", "Edm.String"), "searchable": True},
            _field("metadata", "Edm.String"),
            {"name": "metadata_entries", "type": "Collection(Edm.ComplexType)", "fields": entries},
            _vector_field(dimensions),
        ],
        "vectorSearch": {
            "algorithms": [{"name": _ALGORITHM, "kind": "hnsw", "hnswParameters": {"metric": "cosine"}}],
            "profiles": [{"name": _PROFILE, "algorithm": _ALGORITHM}],
        },
    }
    if semantic:
        content = {"prioritizedContentFields": [{"fieldName": "text"}]}
        definition["semantic"] = {
            "configurations": [{"name": SEMANTIC_CONFIGURATION, "prioritizedFields": content}],
        }
    return definition


def migrated(existing: Definition, wanted: Definition) -> Definition | None:
    """An index with what it lacks of the wanted one added, everything else kept; `None` where it lacks nothing.

    Raises:
        DimensionMismatchError: It holds vectors of another length.
        ConfigurationError: A field that is there cannot serve.
    """
    result = copy.deepcopy(existing)
    subject = f"the index '{existing['name']}'"
    _check_key(result["fields"], subject)
    _check_vectors(result, wanted, subject)
    changes = [_add_fields(result["fields"], wanted["fields"], subject)]
    if _named(existing["fields"], "embedding") is None:
        vectors = _section(result, "vectorSearch")
        changes += [_add(vectors, part, wanted["vectorSearch"][part]) for part in ("algorithms", "profiles")]
    if "semantic" in wanted:
        changes.append(_add(_section(result, "semantic"), "configurations", wanted["semantic"]["configurations"]))
    return result if any(changes) else None


def _field(name: str, kind: str, *, filterable: bool = False) -> Definition:
    return {
        "name": name,
        "type": kind,
        "searchable": False,
        "filterable": filterable,
        "sortable": False,
        "facetable": False,
        "retrievable": True,
    }


def _vector_field(dimensions: int) -> Definition:
    return {
        "name": "embedding",
        "type": "Collection(Edm.Single)",
        "searchable": True,
        "retrievable": True,
        "dimensions": dimensions,
        "vectorSearchProfile": _PROFILE,
    }


def _named(items: Sequence[Definition] | None, name: str) -> Definition | None:
    return next((item for item in items or () if item["name"] == name), None)


def _section(definition: Definition, name: str) -> Definition:
    section: Definition = definition.get(name) or {}
    definition[name] = section
    return section


def _add(section: Definition, part: str, wanted: Sequence[Definition]) -> bool:
    """Add what a part of a section lacks; say whether it lacked something."""
    held: Sequence[Definition] = section.get(part) or ()
    missing = [item for item in wanted if _named(held, item["name"]) is None]
    section[part] = [*held, *missing]
    return bool(missing)


def _add_fields(held: list[Definition], wanted: Sequence[Definition], subject: str) -> bool:
    changed = False
    for field in wanted:
        present = _named(held, field["name"])
        if present is None:
            held.append(field)
            changed = True
            continue
        _check_field(present, field, subject)
        if "fields" in field:
            changed |= _add_fields(present["fields"], field["fields"], subject)
    return changed


def _check_field(present: Mapping[str, Any], wanted: Mapping[str, Any], subject: str) -> None:
    if present["type"] != wanted["type"]:
        raise ConfigurationError(
            f"{subject} has a field '{wanted['name']}' of type {present['type']} instead of {wanted['type']}: "
            "name another index"
        )
    for attribute in ("filterable", "searchable", "retrievable"):
        if wanted.get(attribute) and present.get(attribute) is False:
            raise ConfigurationError(f"{subject} has a field '{wanted['name']}' that is not {attribute}: name another")


def _check_key(fields: Sequence[Definition], subject: str) -> None:
    key = next((field["name"] for field in fields if field.get("key")), None)
    if key != "id":
        raise ConfigurationError(f"{subject} has the key field '{key}' instead of 'id': name another index")


def _check_vectors(existing: Definition, wanted: Definition, subject: str) -> None:
    held, ours = _named(existing["fields"], "embedding"), _named(wanted["fields"], "embedding")
    if held is None or ours is None:
        return
    if held.get("dimensions") not in (None, ours["dimensions"]):
        raise DimensionMismatchError(
            f"{subject} holds vectors of {held['dimensions']} dimensions, not of {ours['dimensions']}: "
            "set dimensions to what the embedder gives, or name another index",
            expected=held["dimensions"],
            actual=ours["dimensions"],
        )
    metric = _metric(existing.get("vectorSearch") or {}, held.get("vectorSearchProfile") or "")
    if metric != "cosine":
        raise ConfigurationError(f"{subject} compares vectors by {metric} instead of cosine: name another index")


def _metric(vectors: Definition, profile: str) -> str:
    """How a profile compares vectors; by cosine where it does not say."""
    named = _named(vectors.get("profiles"), profile) or {}
    algorithm = _named(vectors.get("algorithms"), str(named.get("algorithm"))) or {}
    for part in ("hnswParameters", "exhaustiveKnnParameters"):
        parameters: Definition = algorithm.get(part) or {}
        if "metric" in parameters:
            return str(parameters["metric"])
    return "cosine"

"""What the double of Azure AI Search makes of index definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{0,126}[a-z0-9]")
_FIELD_NAME = re.compile(r"(?!azureSearch)[A-Za-z]\w{0,127}", re.ASCII)
_SIMPLE = {"Edm.String", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Boolean", "Edm.DateTimeOffset"}
_COMPLEX = "Collection(Edm.ComplexType)"
_VECTOR = "Collection(Edm.Single)"
_FLAGS = {"key", "searchable", "filterable", "sortable", "facetable", "retrievable", "stored"}
_FIELD = {"name", "type", "analyzer", "synonymMaps", "dimensions", "vectorSearchProfile", "fields"} | _FLAGS
_INDEX = {"name", "fields", "vectorSearch", "semantic", "similarity", "scoringProfiles", "@odata.etag"}
_METRICS = {"cosine", "euclidean", "dotProduct", "hamming"}


class IndexDefinitionError(Exception):
    """The service's `400`."""


def require(holds: Any, message: str) -> None:
    if not holds:
        raise IndexDefinitionError(message)


def known(item: Any, names: set[str], subject: str) -> None:
    require(isinstance(item, Mapping), f"{subject} must be an object")
    unknown = item.keys() - names
    require(not unknown, f"The property '{min(unknown, default='')}' does not exist on {subject}.")


def checked_definition(name: str, body: Any) -> dict[str, Any]:
    """A definition as the service keeps it, defaults filled in."""
    known(body, _INDEX, "type 'IndexDefinition'")
    require(body.get("name") == name, "the name in the body is not the one in the URL")
    require(_NAME.fullmatch(name), f"Invalid index name '{name}'")
    sections = {key: value for key, value in body.items() if key not in ("fields", "@odata.etag")}
    profiles = _checked_vectors(body.get("vectorSearch") or {})
    fields = [_checked_field(item, profiles, inside=False) for item in body.get("fields", ())]
    keys = [item for item in fields if item.get("key")]
    require(len(keys) == 1 and keys[0]["type"] == "Edm.String", "exactly one key field of type Edm.String")
    require(len({item["name"] for item in fields}) == len(fields), "names of fields must differ")
    _checked_semantic(body.get("semantic") or {}, fields)
    return {**sections, "fields": fields}


def checked_update(existing: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """An update may add, and never change or remove a field."""
    _check_kept(existing["fields"], wanted["fields"], "")


def _check_kept(existing: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]], path: str) -> None:
    after = {item["name"]: item for item in wanted}
    for item in existing:
        name = path + item["name"]
        require(item["name"] in after, f"Existing field '{name}' cannot be deleted.")
        changed = {k for k in item.keys() | after[item["name"]].keys() if k != "fields"} - {"retrievable"}
        same = all(item.get(k) == after[item["name"]].get(k) for k in changed)
        require(same, f"Existing field '{name}' cannot be changed.")
        if "fields" in item:
            _check_kept(item["fields"], after[item["name"]]["fields"], f"{name}/")


def _checked_field(item: Any, profiles: set[str], *, inside: bool) -> dict[str, Any]:
    known(item, _FIELD, "type 'Field'")
    name, kind = item.get("name"), item.get("type")
    require(isinstance(name, str) and _FIELD_NAME.fullmatch(name), f"Invalid field name '{name}'")
    for flag in _FLAGS & item.keys():
        require(item[flag] is None or isinstance(item[flag], bool), f"'{flag}' of '{name}' must be a boolean")
    if kind == _COMPLEX:
        require(not inside and not any(item.get(flag) for flag in _FLAGS), f"complex field '{name}' takes no flags")
        require(item.get("fields"), f"complex field '{name}' has no sub-fields")
        return {**item, "fields": [_checked_field(sub, profiles, inside=True) for sub in item["fields"]]}
    if kind == _VECTOR:
        _check_vector_field(item, profiles)
        return {"retrievable": True, "stored": True, **item}
    require(kind in _SIMPLE, f"The type '{kind}' of field '{name}' is not known")
    require(not item.get("searchable") or kind == "Edm.String", f"'{name}' is no string and cannot be searchable")
    require(not (inside and (item.get("sortable") or item.get("key"))), f"sub-field '{name}' cannot be sortable or key")
    require("dimensions" not in item and "vectorSearchProfile" not in item, f"'{name}' is no vector field")
    return {"retrievable": True, **item}


def _check_vector_field(item: Mapping[str, Any], profiles: set[str]) -> None:
    name, size = item["name"], item.get("dimensions")
    require(isinstance(size, int) and 2 <= size <= 4096, f"'dimensions' of '{name}' must be between 2 and 4096")
    require(item.get("searchable"), f"vector field '{name}' must be searchable")
    require(
        not any(item.get(flag) for flag in ("filterable", "sortable", "facetable", "key")), f"'{name}': no such flag"
    )
    require(item.get("vectorSearchProfile") in profiles, f"vector field '{name}' names no profile that is there")


def _checked_vectors(section: Any) -> set[str]:
    known(section, {"algorithms", "profiles", "vectorizers", "compressions"}, "type 'VectorSearch'")
    algorithms = set()
    for item in section.get("algorithms") or ():
        known(item, {"name", "kind", "hnswParameters"}, "type 'VectorSearchAlgorithmConfiguration'")
        require(item.get("kind") == "hnsw", f"the kind '{item.get('kind')}' of an algorithm is not known")
        parameters = item.get("hnswParameters") or {}
        known(parameters, {"m", "efConstruction", "efSearch", "metric"}, "type 'HnswParameters'")
        require(parameters.get("metric", "cosine") in _METRICS, "no such metric")
        algorithms.add(item["name"])
    profiles = set()
    for item in section.get("profiles") or ():
        known(item, {"name", "algorithm", "vectorizer", "compression"}, "type 'VectorSearchProfile'")
        require(item.get("algorithm") in algorithms, f"profile '{item.get('name')}' names no algorithm that is there")
        profiles.add(item["name"])
    return profiles


def _checked_semantic(section: Any, fields: Sequence[Mapping[str, Any]]) -> None:
    known(section, {"defaultConfiguration", "configurations"}, "type 'SemanticSettings'")
    searchable = {item["name"] for item in fields if item.get("searchable") and item["type"] == "Edm.String"}
    for item in section.get("configurations") or ():
        known(item, {"name", "prioritizedFields", "rankingOrder"}, "type 'SemanticConfiguration'")
        parts = item["prioritizedFields"]
        known(
            parts, {"titleField", "prioritizedContentFields", "prioritizedKeywordsFields"}, "type 'PrioritizedFields'"
        )
        for content in parts.get("prioritizedContentFields") or ():
            known(content, {"fieldName"}, "type 'SemanticField'")
            require(content["fieldName"] in searchable, f"'{content['fieldName']}' is no searchable string")

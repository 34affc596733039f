"""The class that holds the chunks, its properties and its tenant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import quote

from ragstone.errors import ConfigurationError, StoreError
from ragstone.services import JsonService, ServiceError

__all__ = ["Classes", "check_class_name", "check_tenant"]

_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_]{0,230}")
_TENANT: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_FOUND: Final = 404
_TAKEN: Final = frozenset({400, 409, 422})


def check_class_name(name: object) -> str:
    """The name of a class, if it is one."""
    if not isinstance(name, str) or not _CLASS_NAME.fullmatch(name):
        raise ConfigurationError(
            f"class_name must begin with a capital letter A to Z and hold letters, digits and '_' alone, not {name!r}"
        )
    return name


def check_tenant(tenant: str | None) -> str | None:
    """The name of a tenant, if it is one."""
    if tenant is not None and not _TENANT.fullmatch(tenant):
        raise ConfigurationError(f"tenant must be 1 to 64 letters, digits, '_' and '-', not {tenant!r}")
    return tenant


class Classes:
    """The classes of a server, for one tenant or none."""

    def __init__(self, service: JsonService, tenant: str | None) -> None:
        self._service = service
        self._tenant = tenant

    async def create(self, name: str) -> set[str]:
        """Make a class and the tenant, or add what it lacks; return the names of its properties.

        Raises:
            ConfigurationError: A class of this name cannot serve.
            StoreError: The server failed.
        """
        found = await self.definition(name)
        if found is None:
            await self._unless_there(f"make the class {name!r}", "/v1/schema", _definition(name, self._tenant))
            found = await self.definition(name)
        if found is None:
            raise StoreError(f"Weaviate at {self._service.host}: the class {name!r} is gone as soon as it is made")
        _check(found, self._tenant)
        held = {item["name"] for item in found["properties"]}
        lacking = [item for item in _properties() if item["name"] not in held]
        await self.add(name, lacking)
        if self._tenant is not None:
            await self._add_tenant(name)
        return held | {item["name"] for item in lacking}

    async def add(self, name: str, properties: Iterable[Mapping[str, Any]]) -> None:
        """Add properties to a class; those that are there already are left alone."""
        for item in properties:
            await self._unless_there(
                f"add the property {item['name']!r}",
                f"/v1/schema/{name}/properties",
                item,
            )

    async def drop(self, name: str) -> None:
        """Drop a class; one that is not there is no error."""
        try:
            await self._service.request("DELETE", f"/v1/schema/{name}")
        except ServiceError as error:
            if error.status != _NOT_FOUND:
                raise self.failure(f"drop the class {name!r}", error) from error

    async def definition(self, name: str) -> dict[str, Any] | None:
        """The definition of a class, `None` where it is not there."""
        try:
            answer = await self._service.request("GET", f"/v1/schema/{name}")
            return cast("dict[str, Any]", json.loads(answer))
        except ServiceError as error:
            if error.status == _NOT_FOUND:
                return None
            raise self.failure(f"read the class {name!r}", error) from error
        except ValueError as error:
            raise StoreError(
                f"Weaviate at {self._service.host}: the answer is not Weaviate's: check base_url"
            ) from error

    async def serves(self, name: str) -> bool:
        """Whether the class is there, and the tenant in it."""
        if await self.definition(name) is None:
            return False
        return self._tenant is None or self._tenant in await self._tenants(name)

    def failure(self, action: str, error: ServiceError) -> StoreError:
        """The error to raise for one of the service."""
        return StoreError(f"Weaviate at {self._service.host} could not {action}: {error}")

    async def _unless_there(self, action: str, path: str, payload: object) -> None:
        """Ask for something that somebody else may have made meanwhile; the caller looks whether it is there."""
        try:
            await self._service.request("POST", path, json.dumps(payload).encode("ascii"))
        except ServiceError as error:
            if error.status not in _TAKEN or not await self._is_made(path, payload):
                raise self.failure(action, error) from error

    async def _is_made(self, path: str, payload: object) -> bool:
        if path.endswith("/tenants"):
            return self._tenant in await self._tenants(path.split("/")[3])
        wanted = cast("Mapping[str, Any]", payload)
        if path == "/v1/schema":
            return await self.definition(wanted["class"]) is not None
        found = await self.definition(path.split("/")[3])
        return found is not None and any(item["name"] == wanted["name"] for item in found["properties"])

    async def _add_tenant(self, name: str) -> None:
        if self._tenant not in await self._tenants(name):
            await self._unless_there("add the tenant", f"/v1/schema/{name}/tenants", [{"name": self._tenant}])

    async def _tenants(self, name: str) -> set[str]:
        try:
            answer: Any = json.loads(await self._service.request("GET", f"/v1/schema/{quote(name)}/tenants"))
        except ServiceError as error:
            raise self.failure("read the tenants", error) from error
        return {item["name"] for item in answer}


def _definition(name: str, tenant: str | None) -> dict[str, Any]:
    definition = {
        "class": name,
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": {"distance": "cosine"},
        "properties": _properties(),
    }
    return definition if tenant is None else {**definition, "multiTenancyConfig": {"enabled": True}}


def _properties() -> Sequence[dict[str, Any]]:
    return [
        {"name": "document_id", "dataType": ["text"], "tokenization": "field", "indexSearchable": False},
        {"name": "chunk_index", "dataType": ["int"]},
        {"name": "start", "dataType": ["int"], "indexFilterable": False},
        {"name": "end", "dataType": ["int"], "indexFilterable": False},
        {"name": "text", "dataType": ["text"], "tokenization": "word", "indexFilterable": False},
        {
            "name": "metadata_json",
            "dataType": ["text"],
            "tokenization": "field",
            "indexFilterable": False,
            "indexSearchable": False,
        },
    ]


def _check(found: Mapping[str, Any], tenant: str | None) -> None:
    name = found["class"]
    vectors: Mapping[str, Any] = found.get("vectorIndexConfig") or {}
    distance = vectors.get("distance", "cosine")
    if distance != "cosine":
        raise ConfigurationError(f"the class {name!r} compares vectors by {distance!r} instead of cosine: name another")
    for item in found["properties"]:
        if item["name"] == "document_id" and item.get("tokenization") != "field":
            raise ConfigurationError(
                f"the class {name!r} splits document_id into words, so that one id could match another: name another"
            )
    tenancy: Mapping[str, Any] = found.get("multiTenancyConfig") or {}
    tenants = bool(tenancy.get("enabled"))
    if tenants != (tenant is not None):
        raise ConfigurationError(
            f"the class {name!r} {'needs a' if tenants else 'has no'} tenant: set tenant accordingly"
        )

"""Serverless indexes of a Pinecone project: making, checking, awaiting and dropping them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ragstone.errors import ConfigurationError, StoreError
from ragstone.ports import Clock
from ragstone.services import JsonService, ServiceError
from ragstone.validation import require_in_range, require_int

__all__ = ["Index", "Indexes", "checked_dimensions", "checked_index_name", "checked_namespace"]

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?")
_NAMESPACE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,510}[\x21-\x7e])?")
_CLOUDS: Final = ("aws", "gcp", "azure")
_REGION: Final = re.compile(r"[a-z0-9-]+")
_MOST_DIMENSIONS: Final = 20_000
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_LONGEST_WAIT: Final = 3600.0


def checked_index_name(field: str, name: object) -> str:
    """The name of an index, if it is one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{field} must be 1 to 45 lower-case letters, digits and '-', the first and the last of them a letter or "
            f"digit, not {name!r}"
        )
    return name


def checked_namespace(namespace: str | None) -> str:
    """The name of a namespace, empty for the default one."""
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise ConfigurationError(f"namespace must be 1 to 512 printable ASCII characters, not {namespace!r}")
    return namespace or ""


def checked_dimensions(dimensions: object) -> int:
    """A length of vectors that Pinecone holds."""
    number = require_int("dimensions", dimensions)
    require_in_range("dimensions", number, 1, _MOST_DIMENSIONS)
    return number


@dataclass(frozen=True, slots=True)
class Index:
    """An index as it is.

    Attributes:
        host: The host of its data.
        dimensions: Length of its vectors.
    """

    host: str
    dimensions: int


class Indexes:
    """The indexes of a project.

    Args:
        service: Pinecone's control plane.
        metric: What an index must compare by, and is made with.
        cloud: Where indexes are made.
        region: The cloud's region.
        ready_timeout: Seconds until an index must be ready.
        poll_interval: Seconds between two looks at it.
        clock: Tells the time.

    Raises:
        ConfigurationError: An option is not one.
    """

    def __init__(
        self,
        service: JsonService,
        *,
        metric: str,
        cloud: str,
        region: str,
        ready_timeout: float,
        poll_interval: float,
        clock: Clock,
    ) -> None:
        if cloud not in _CLOUDS:
            raise ConfigurationError(f"cloud must be one of {', '.join(_CLOUDS)}, not {cloud!r}")
        if not _REGION.fullmatch(region):
            raise ConfigurationError(f"region must be one of the cloud's, such as 'us-east-1', not {region!r}")
        self._service = service
        self._metric = metric
        self._spec = {"serverless": {"cloud": cloud, "region": region}}
        self._ready_timeout = require_in_range("ready_timeout", ready_timeout, 0.0, _LONGEST_WAIT)
        self._poll_interval = require_in_range("poll_interval", poll_interval, 0.001, _LONGEST_WAIT)
        self._clock = clock

    async def ready(self, name: str, dimensions: int) -> Index:
        """The index of this name, made if it is not there, as soon as it is ready.

        Raises:
            ConfigurationError: An index of this name cannot serve.
            StoreError: Pinecone failed, or did not have it ready in time.
        """
        deadline = self._clock.monotonic() + self._ready_timeout
        while True:
            found = await self._description(name) or await self._made(name, dimensions)
            state = _state(found)
            if found is not None and state != "Terminating":
                index = self._checked(name, found)
                if state == "InitializationFailed":
                    raise StoreError(f"Pinecone could not make the index {name!r}: drop it, then try again")
                if found["status"].get("ready"):
                    return index
            if self._clock.monotonic() >= deadline:
                raise StoreError(
                    f"Pinecone did not have the index {name!r} ready within {self._ready_timeout:g} s (it is "
                    f"{state or 'not listed'}): wait, then use the store again, or raise ready_timeout"
                )
            await asyncio.sleep(self._poll_interval)

    async def found(self, name: str) -> Index | None:
        """The index of this name, unless it is gone or on its way.

        Raises:
            ConfigurationError: It cannot serve.
            StoreError: Pinecone failed.
        """
        found = await self._description(name)
        return None if found is None or _state(found) == "Terminating" else self._checked(name, found)

    async def exists(self, name: str) -> bool:
        """Whether an index of this name is there, of whatever kind."""
        found = await self._description(name)
        return found is not None and _state(found) != "Terminating"

    async def drop(self, name: str) -> None:
        """Drop an index; one that is not there is no error."""
        try:
            await self._service.request("DELETE", f"/indexes/{name}")
        except ServiceError as error:
            if error.status != _NOT_FOUND:
                raise self._failure(f"drop the index {name!r}", error) from error

    async def _description(self, name: str) -> dict[str, Any] | None:
        try:
            return self._read(await self._service.request("GET", f"/indexes/{name}"))
        except ServiceError as error:
            if error.status == _NOT_FOUND:
                return None
            raise self._failure(f"read the index {name!r}", error) from error

    async def _made(self, name: str, dimensions: int) -> dict[str, Any] | None:
        """The description of an index that was made just now, `None` where another caller was faster."""
        wanted = {
            "name": name,
            "dimension": dimensions,
            "metric": self._metric,
            "vector_type": "dense",
            "deletion_protection": "disabled",
            "spec": self._spec,
        }
        try:
            return self._read(await self._service.post("/indexes", wanted))
        except ServiceError as error:
            if error.status == _CONFLICT:
                return None
            raise self._failure(f"make the index {name!r}", error) from error

    def _read(self, answer: bytes) -> dict[str, Any]:
        try:
            found: Any = json.loads(answer)
            if isinstance(found["status"], dict) and isinstance(found["host"], str | None):
                return cast("dict[str, Any]", found)
        except (ValueError, KeyError, TypeError):
            pass
        raise StoreError(f"Pinecone at {self._service.host}: the answer is not Pinecone's: check base_url")

    def _checked(self, name: str, found: Mapping[str, Any]) -> Index:
        metric, dimensions = found.get("metric"), found.get("dimension")
        if metric != self._metric or not isinstance(dimensions, int):
            raise ConfigurationError(
                f"the index {name!r} holds {found.get('vector_type', 'dense')} vectors compared by {metric!r}, not "
                f"dense ones by {self._metric!r}: name another, or drop it and ingest its documents again"
            )
        return Index(found["host"] or "", dimensions)

    def _failure(self, action: str, error: ServiceError) -> StoreError:
        limits = ", and the project's limits and the index's deletion protection" if error.status == _FORBIDDEN else ""
        return StoreError(f"Pinecone at {self._service.host} could not {action}: {error}{limits}")


def _state(found: Mapping[str, Any] | None) -> str:
    return "" if found is None else str(found["status"].get("state", ""))

"""Collections of a Chroma server, over its REST API, version 2."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from ragstone.errors import ConfigurationError, DimensionMismatchError, StoreError
from ragstone.services import JsonService, ServiceError

__all__ = ["Collections", "MissingCollectionError", "checked_name"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,510}[A-Za-z0-9]")
_SPACE: Final = "cosine"
_NEIGHBORS: Final = 32
"""Twice Chroma's own links a vector: with those, some of many vectors that are nearly alike are never found."""
_CONFIGURATION: Final = {"hnsw": {"space": _SPACE, "max_neighbors": _NEIGHBORS}}
_NOT_FOUND: Final = 404
_REFUSED: Final = 400
_WRONG_LENGTH: Final = re.compile(r"dimension of (\d+), got (\d+)")


class MissingCollectionError(Exception):
    """A collection of this id is not there any more."""


def checked_name(field: str, name: str) -> str:
    """The name, if it can be one of a collection.

    Raises:
        ConfigurationError: It cannot.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise ConfigurationError(
            f"{field} must be 3 to 512 letters, digits, dots, underscores and hyphens, the first and the last of them "
            f"a letter or digit, not {name!r}"
        )
    return name


class Collections:
    """The collections of one database of a tenant; they have names, and are asked by ids.

    What fails is a `StoreError` that names the server and what was being done.
    """

    __slots__ = ("_root", "_service")

    def __init__(self, service: JsonService, *, tenant: str, database: str) -> None:
        self._service = service
        self._root = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}/collections"

    async def made(self, name: str) -> tuple[str, int | None]:
        """The id and the dimensions, if known, of the collection of this name, made if it is not there.

        Raises:
            ConfigurationError: It is there and of another space than cosine.
        """
        wanted = {"name": name, "get_or_create": True, "configuration": _CONFIGURATION}
        try:
            collection: Any = json.loads(await self._service.post(self._root, wanted))
            configuration = collection["configuration_json"]
            graph: Any = configuration.get("hnsw") or configuration.get("spann")
            space = graph["space"]
            identity, dimensions = str(collection["id"]), collection.get("dimension")
        except ServiceError as error:
            raise self._failure(f"making the collection {name!r}", error) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.nonsense(name) from error
        if space != _SPACE:
            raise ConfigurationError(
                f"the Chroma collection {name!r} is of the space {space!r}, where scores are no cosine similarities: "
                "use another name, or delete it and ingest its documents again"
            )
        return identity, dimensions

    async def found(self, name: str) -> str | None:
        """The id of the collection of this name, if it is there."""
        try:
            collection: Any = json.loads(await self._service.request("GET", f"{self._root}/{name}"))
            return str(collection["id"])
        except ServiceError as error:
            if error.status == _NOT_FOUND:
                return None
            raise self._failure(f"looking for the collection {name!r}", error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise self.nonsense(name) from error

    async def drop(self, name: str) -> None:
        """Drop the collection of this name, if it is there."""
        try:
            await self._service.request("DELETE", f"{self._root}/{name}")
        except ServiceError as error:
            if error.status != _NOT_FOUND:
                raise self._failure(f"deleting the collection {name!r}", error) from error

    async def ask(
        self, name: str, identity: str, action: str, content: bytes, *, doing: str, private: Sequence[str] = ()
    ) -> Any:
        """Return what the collection answers.

        Raises:
            MissingCollectionError: There is no collection of this id.
            DimensionMismatchError: A vector is of another length than those of the collection.
        """
        try:
            body = await self._service.request("POST", f"{self._root}/{identity}/{action}", content, private=private)
            return json.loads(body)
        except ServiceError as error:
            if error.status == _NOT_FOUND:
                raise MissingCollectionError from error
            wrong = _WRONG_LENGTH.search(str(error)) if error.status == _REFUSED else None
            if wrong is None:
                raise self._failure(doing, error) from error
            raise _mismatch(name, expected=int(wrong[1]), actual=int(wrong[2])) from error
        except (ValueError, RecursionError) as error:
            raise self.nonsense(name) from error

    def nonsense(self, name: str) -> StoreError:
        """The error for an answer that is not of Chroma, or not of chunks."""
        return StoreError(
            f"Chroma at {self._service.host}: the answer is not in the form of Chroma's, or the collection {name!r} "
            "holds records that are no chunks: check base_url and collection"
        )

    def _failure(self, doing: str, error: ServiceError) -> StoreError:
        return StoreError(f"Chroma at {self._service.host}: {doing} failed: {error}")


def _mismatch(name: str, *, expected: int, actual: int) -> DimensionMismatchError:
    return DimensionMismatchError(
        f"the Chroma collection {name!r} has {expected} dimensions, not {actual}: embed with the model that it was "
        "made with, or use another collection",
        expected=expected,
        actual=actual,
    )

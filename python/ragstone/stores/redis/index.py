"""An index of Redis' search module: how it is made, and whether one that is there will do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ragstone.errors import ConfigurationError
from ragstone.stores.redis.tags import SEPARATOR, metadata_field

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["CHUNK_INDEX", "DISTANCE", "DOCUMENT_ID", "EMBEDDING", "Index", "checked_name", "command", "pairs", "text"]

DOCUMENT_ID: Final = "document_id"
CHUNK_INDEX: Final = "chunk_index"
EMBEDDING: Final = "embedding"
DISTANCE: Final = "vector_score"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_MISSING: Final = re.compile(r"unknown index|no such index", re.IGNORECASE)
_THERE: Final = re.compile(r"index already exists", re.IGNORECASE)
_NEIGHBORS: Final = 32
"""Twice Redis' own links a vector: with those, some of many vectors that are nearly alike are never found."""
_SCAN_PAUSE: Final = 0.02


def checked_name(field: str, name: str) -> str:
    """The name, if no key of another index can begin with it and a colon.

    Raises:
        ConfigurationError: It cannot be the name of an index.
    """
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{field} must be 1 to 128 letters, digits, dots, underscores and hyphens, not {name!r}"
        )
    return name


@dataclass(frozen=True, slots=True)
class Index:
    """One index: its name, the length of its vectors, and the metadata keys that filters may name."""

    name: str
    dimensions: int
    filterable: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """What the keys of its hashes begin with."""
        return f"{self.name}:"

    async def ensure(self, client: Redis) -> None:
        """Make the index unless it is there, and wait until it covers the hashes that were there before.

        Raises:
            ConfigurationError: The index that is there is another one.
            RedisError: The server failed or refused.
        """
        held = await self.held(client)
        if held is None:
            await self._create(client)
            held = await self.held(client) or {}
        self._check(held)
        while int(held.get("indexing", 0)):
            await asyncio.sleep(_SCAN_PAUSE)
            held = await self.held(client) or {}

    async def held(self, client: Redis) -> dict[str, Any] | None:
        """What the server tells of the index of this name; `None` if there is none."""
        from redis.exceptions import ResponseError

        try:
            return pairs(await command(client, "FT.INFO", self.name))
        except ResponseError as error:
            if not _MISSING.search(str(error)):
                raise
            return None

    async def drop(self, client: Redis) -> None:
        """Drop the index and its hashes, if it is there."""
        from redis.exceptions import ResponseError

        try:
            await command(client, "FT.DROPINDEX", self.name, "DD")
        except ResponseError as error:
            if not _MISSING.search(str(error)):
                raise

    async def _create(self, client: Redis) -> None:
        from redis.exceptions import ResponseError

        tags = [DOCUMENT_ID, *map(metadata_field, self.filterable)]
        fields: list[str | int] = []
        for field in tags:
            fields += [field, "TAG", "SEPARATOR", SEPARATOR, "CASESENSITIVE"]
        fields += [CHUNK_INDEX, "NUMERIC", EMBEDDING, "VECTOR", "HNSW", 8, "TYPE", "FLOAT32"]
        fields += ["DIM", self.dimensions, "DISTANCE_METRIC", "COSINE", "M", _NEIGHBORS]
        try:
            await command(client, "FT.CREATE", self.name, "ON", "HASH", "PREFIX", 1, self.prefix, "SCHEMA", *fields)
        except ResponseError as error:
            if not _THERE.search(str(error)):  # another process was first
                raise

    def _check(self, held: Mapping[str, Any]) -> None:
        attributes = {text(entry["attribute"]): entry for entry in map(pairs, held.get("attributes", ()))}
        vector = attributes.get(EMBEDDING, {})
        metric, dimensions = text(vector.get("distance_metric", "")), int(vector.get("dim", 0))
        prefixes = [text(prefix) for prefix in pairs(held.get("index_definition", ())).get("prefixes", ())]
        if metric != "COSINE" or DOCUMENT_ID not in attributes or prefixes != [self.prefix]:
            raise ConfigurationError(
                f"the Redis index {self.name!r} was not made for chunks by cosine under {self.prefix!r}: "
                "use another name"
            )
        if dimensions != self.dimensions:
            raise ConfigurationError(
                f"the Redis index {self.name!r} has {dimensions} dimensions, not {self.dimensions}: set dimensions to "
                "those of the embedding model that it was made with, or delete the index and ingest again"
            )
        self._check_filterable({name for name in attributes if name.startswith("md_")})

    def _check_filterable(self, held: set[str]) -> None:
        wanted = {metadata_field(key): key for key in self.filterable}
        missing = sorted(wanted[name] for name in wanted.keys() - held)
        if missing:
            raise ConfigurationError(
                f"the Redis index {self.name!r} was made before filterable_keys named {missing}: delete the index and "
                "ingest its documents again, or leave these keys out"
            )
        unnamed = sorted(held - wanted.keys())
        if unnamed:
            raise ConfigurationError(
                f"the Redis index {self.name!r} has the fields {unnamed}, which filterable_keys does not name: chunks "
                "stored without them would not be found by filters on them"
            )


async def command(client: Redis, *arguments: str | int | bytes) -> Any:
    """Send a command of the search module."""
    return await cast("Any", client).execute_command(*arguments)


def text(value: str | bytes) -> str:
    """What the server sent, as text."""
    return value.decode() if isinstance(value, bytes) else value


def pairs(reply: Any) -> dict[str, Any]:
    """A map, which version 2 of Redis' protocol sends as a list; a flag at its end is no pair."""
    if isinstance(reply, Mapping):
        items = cast("Mapping[str | bytes, Any]", reply).items()
        return {text(name): value for name, value in items}
    return {text(name): value for name, value in zip(reply[::2], reply[1::2], strict=False)}

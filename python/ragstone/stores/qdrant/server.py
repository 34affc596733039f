"""The server that holds the collections, or the imitation of one: connections, collections, and what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from ragstone.errors import ConfigurationError, RagError, StoreError
from ragstone.extras import require
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

__all__ = ["DENSE", "SPARSE", "Server", "checked_name"]

T = TypeVar("T")

DENSE: Final = ""
"""The name of the dense vector: Qdrant's for one that was given none."""

SPARSE: Final = "splade"
"""The name of the sparse vector."""

_IN_MEMORY: Final = ":memory:"
_LONGEST_NAME: Final = 255
_FORBIDDEN: Final = frozenset('<>:"/\\|?*\0')
_ADVICE: Final = {401: ": check api_key", 403: ": check what api_key may do", 404: ": initialize the store again"}


class Server:
    """One server of Qdrant, by its URL, as `":memory:"` or as a client.

    Raises:
        ConfigurationError: It is none of these, or `timeout` is below 1.
        MissingDependencyError: The extra `qdrant` is not installed.
    """

    def __init__(self, server: str | AsyncQdrantClient, *, api_key: str | None, timeout: int) -> None:
        require("qdrant_client", extra="qdrant", purpose="Keeping vectors in Qdrant")
        self._server = _checked_server(server)
        self._api_key = api_key
        self._timeout = require_at_least("timeout", timeout, 1)
        self._own: tuple[asyncio.AbstractEventLoop | None, AsyncQdrantClient] | None = None

    async def told(self, action: str, work: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """Await `work(client)`, its failure told as an error of a store."""
        try:
            return await work(self._client())
        except RagError:
            raise
        except Exception as error:
            raise StoreError(f"Qdrant: {action} failed: {_reason(error)}") from error

    async def has(self, name: str) -> bool:
        """Whether the collection is there."""
        return await self.told(f"looking for the collection {name!r}", lambda client: client.collection_exists(name))

    async def create(self, name: str, dimensions: int, *, sparse: bool) -> None:
        """Make the collection, unless it is there and fits.

        Raises:
            ConfigurationError: One is there that does not fit; it stays as it is.
            StoreError: The server could not be reached or refused.
        """
        if not await self.has(name):
            try:
                await self.told(
                    f"making the collection {name!r}", lambda client: _create(client, name, dimensions, sparse=sparse)
                )
            except StoreError:
                if not await self.has(name):  # else another process was first
                    raise
        await self._check(name, dimensions, sparse=sparse)

    async def drop(self, name: str) -> None:
        """Drop the collection; one that is not there is no error."""
        await self.told(f"dropping the collection {name!r}", lambda client: client.delete_collection(name))

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        own, self._own = self._own, None
        if own is not None:
            await own[1].close()

    async def _check(self, name: str, dimensions: int, *, sparse: bool) -> None:
        from qdrant_client import models

        info = await self.told(f"reading the collection {name!r}", lambda client: client.get_collection(name))
        held = info.config.params.vectors
        if not isinstance(held, models.VectorParams):
            raise ConfigurationError(f"Qdrant's collection {name!r} has no unnamed vector: use another collection")
        if (held.size, held.distance) != (dimensions, models.Distance.COSINE):
            raise ConfigurationError(
                f"Qdrant's collection {name!r} holds vectors of {held.size} dimensions under {held.distance.value}, "
                f"not of {dimensions} under Cosine: use another collection, or drop it and ingest again"
            )
        if sparse and SPARSE not in (info.config.params.sparse_vectors or {}):
            raise ConfigurationError(
                f"Qdrant's collection {name!r} was made without the sparse vector {SPARSE!r}: drop it and ingest "
                "again, or use QdrantStore"
            )

    def _client(self) -> AsyncQdrantClient:
        """The given client, else one of our own for the running event loop, to which connections are bound."""
        from qdrant_client import AsyncQdrantClient

        if not isinstance(self._server, str):
            return self._server
        loop = None if self._server == _IN_MEMORY else asyncio.get_running_loop()
        if self._own is None or self._own[0] is not loop:
            options: dict[str, Any] = {"url": self._server, "api_key": self._api_key, "timeout": self._timeout}
            client = AsyncQdrantClient(**options, check_compatibility=False) if loop else AsyncQdrantClient(_IN_MEMORY)
            self._own = (loop, client)
        return self._own[1]


def checked_name(field: str, name: object) -> str:
    """The name of a collection, if it can be one."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or name in {".", ".."} or _FORBIDDEN & set(name):
        raise ConfigurationError(
            f"{field} must be a name of 1 to {_LONGEST_NAME} characters, none of them one of "
            f'< > : " / \\ | ? *, not {name!r}'
        )
    return name


async def _create(client: AsyncQdrantClient, name: str, dimensions: int, *, sparse: bool) -> None:
    from qdrant_client import models

    await client.create_collection(
        name,
        vectors_config=models.VectorParams(size=dimensions, distance=models.Distance.COSINE),
        sparse_vectors_config={SPARSE: models.SparseVectorParams()} if sparse else None,
    )
    options = client.init_options
    if options.get("location") != _IN_MEMORY and options.get("path") is None:
        # The client's own imitation of a server knows no indexes, and says so in a warning.
        await client.create_payload_index(name, "document_id", models.PayloadSchemaType.KEYWORD)


def _checked_server(server: str | AsyncQdrantClient) -> str | AsyncQdrantClient:
    from qdrant_client import AsyncQdrantClient

    if isinstance(server, AsyncQdrantClient) or server == _IN_MEMORY:
        return server
    parts = urlsplit(server) if isinstance(server, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError("server must be a URL such as 'http://localhost:6333', \":memory:\" or a client")
    return server


def _reason(error: Exception) -> str:
    """What went wrong and what to do; the server's own words may quote texts, so they stay with the cause."""
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return f"HTTP {error.status_code}{_ADVICE.get(error.status_code or 0, '')}"
    if isinstance(error, ResponseHandlingException):
        return f"no answer ({type(error.source).__name__}): check the URL, and that the server runs"
    return type(error).__name__

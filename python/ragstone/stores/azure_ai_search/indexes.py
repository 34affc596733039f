"""Making, migrating and dropping indexes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from ragstone.errors import StoreError
from ragstone.stores.azure_ai_search.calls import translated
from ragstone.stores.azure_ai_search.schema import index_definition, migrated

if TYPE_CHECKING:
    from azure.search.documents.indexes.aio import SearchIndexClient

__all__ = ["Indexes"]

_ATTEMPTS: Final = 3


class Indexes:
    """The indexes of a service.

    Args:
        client: The vendor's client.
        semantic: Whether an index gets a configuration of the semantic ranker.
    """

    def __init__(self, client: SearchIndexClient, *, semantic: bool) -> None:
        self._client = client
        self._semantic = semantic

    async def create(self, name: str, dimensions: int) -> None:
        """Make an index, or add what it lacks; look again where someone else changed it meanwhile."""
        from azure.core import MatchConditions
        from azure.core.exceptions import ResourceModifiedError

        wanted = index_definition(name, dimensions, semantic=self._semantic)
        for _ in range(_ATTEMPTS):
            existing = await self._definition(name)
            definition = wanted if existing is None else migrated(existing, wanted)
            if definition is None:
                return
            held = MatchConditions.Unconditionally if existing is None else MatchConditions.IfNotModified
            with translated("make or update the index", name, told=True), contextlib.suppress(ResourceModifiedError):
                await self._client.create_or_update_index(definition, match_condition=held)
                return
        raise StoreError(f"Azure AI Search: the index '{name}' kept changing while it was updated: try again")

    async def drop(self, name: str) -> None:
        """Drop an index; one that is not there is no error."""
        from azure.core.exceptions import ResourceNotFoundError

        with translated("drop the index", name, told=True), contextlib.suppress(ResourceNotFoundError):
            await self._client.delete_index(name)

    async def exists(self, name: str) -> bool:
        """Whether an index is there."""
        return await self._definition(name) is not None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _definition(self, name: str) -> dict[str, Any] | None:
        from azure.core.exceptions import ResourceNotFoundError

        with translated("read the index", name, told=True), contextlib.suppress(ResourceNotFoundError):
            return (await self._client.get_index(name)).as_dict()
        return None

"""The data of an index: writing, searching, listing and deleting records of one namespace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote, urlencode

from ragstone.errors import StoreError
from ragstone.models import TextChunk
from ragstone.services import JsonService, ServiceError
from ragstone.stores._batches import packed
from ragstone.stores._columns import name_of
from ragstone.stores.pinecone.indexes import Index
from ragstone.stores.pinecone.records import chunk_of, is_of_prefix

__all__ = ["Data", "Record"]

_MOST_RECORDS: Final = 1000
_MOST_BYTES: Final = 1_900_000
_NOT_FOUND: Final = 404


class Record(NamedTuple):
    """A chunk and its record as JSON."""

    chunk: TextChunk
    content: bytes


class Data:
    """One namespace of an index, which has a host of its own. What fails is a `StoreError`.

    Args:
        make: Makes the service of a URL.
        scheme: Of the URL, `"https"` or `"http"`.
        index_name: The index.
        namespace: The namespace, empty for the default one.
        forget: Called when the index may be gone.
    """

    def __init__(
        self,
        make: Callable[[str], JsonService],
        *,
        scheme: str,
        index_name: str,
        namespace: str,
        forget: Callable[[], None],
    ) -> None:
        self._make = make
        self._scheme = scheme
        self._name = index_name
        self._namespace = namespace
        self._forget = forget
        self._open: dict[str, JsonService] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        services, self._open = self._open, {}
        for service in services.values():
            await service.aclose()

    async def upsert(self, index: Index, records: Sequence[Record]) -> None:
        """Insert or replace records, as many at a time as Pinecone takes."""
        for batch in packed(records, lambda record: len(record.content) + 1, most=_MOST_RECORDS, heaviest=_MOST_BYTES):
            content = b'{"vectors":[%b],"namespace":%b}' % (
                b",".join(record.content for record in batch),
                json.dumps(self._namespace).encode("ascii"),
            )
            storing = f"store {len(batch)} chunks from {name_of(batch[0].chunk)} on"
            texts = [record.chunk.text for record in batch]
            answer = await self._asked(index, "/vectors/upsert", content, storing, private=texts)
            if answer.get("upsertedCount") != len(batch):
                raise StoreError(
                    f"Pinecone could not {storing}: it says that it took {answer.get('upsertedCount')} of them: do it "
                    "again, which is harmless"
                )

    async def query(self, index: Index, wanted: Mapping[str, Any]) -> list[tuple[TextChunk, float]]:
        """The chunks that a query finds, with their scores."""
        payload = {**wanted, "namespace": self._namespace, "includeMetadata": True, "includeValues": False}
        answer = await self._asked(index, "/query", json.dumps(payload).encode("ascii"), "search")
        try:
            return [(chunk_of(match.get("metadata") or {}), float(match["score"])) for match in answer["matches"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._nonsense() from error

    async def listed(self, index: Index, prefix: str, doing: str) -> list[str]:
        """The ids of the records of the document with this prefix, of every page."""
        wanted = {"prefix": prefix, "namespace": self._namespace}
        found: list[str] = []
        while True:
            path = "/vectors/list?" + urlencode(wanted, quote_via=quote)
            answer = await self._asked(index, path, None, doing, missing={})
            try:
                found += [item["id"] for item in answer.get("vectors") or () if is_of_prefix(item["id"], prefix)]
                pagination: Any = answer.get("pagination")
                following = None if pagination is None else pagination.get("next")
            except (KeyError, TypeError, AttributeError) as error:
                raise self._nonsense() from error
            if not following:
                return found
            wanted["paginationToken"] = following

    async def delete(self, index: Index, ids: Sequence[str], doing: str) -> None:
        """Remove records; those that are not there are no error."""
        for start in range(0, len(ids), _MOST_RECORDS):
            payload = {"ids": ids[start : start + _MOST_RECORDS], "namespace": self._namespace}
            await self._asked(index, "/vectors/delete", json.dumps(payload).encode("ascii"), doing, missing={})

    async def _asked(
        self,
        index: Index,
        path: str,
        content: bytes | None,
        doing: str,
        *,
        private: Sequence[str] = (),
        missing: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What the index answers; `missing`, if given, where it or the namespace is not there."""
        service = await self._service_of(index)
        method = "GET" if content is None else "POST"
        try:
            answer: Any = json.loads(await service.request(method, path, content, private=private))
        except ServiceError as error:
            if error.status == _NOT_FOUND and missing is not None:
                return missing
            raise self._failure(doing, error) from error
        except (ValueError, RecursionError) as error:
            raise self._nonsense() from error
        if not isinstance(answer, dict):
            raise self._nonsense()
        return cast("dict[str, Any]", answer)

    async def _service_of(self, index: Index) -> JsonService:
        """The service of an index; that of one which had its name before is closed."""
        service = self._open.get(index.host)
        if service is None:
            service = self._make(f"{self._scheme}://{index.host}")
            former, self._open = self._open, {index.host: service}
            for each in former.values():
                await each.aclose()
        return service

    def _failure(self, doing: str, error: ServiceError) -> StoreError:
        again = ""
        if error.status is None or error.status == _NOT_FOUND:
            self._forget()
            again = ": if the index is gone, the next use of the store makes it anew"
        return StoreError(f"Pinecone could not {doing} (index {self._name!r}): {error}{again}")

    def _nonsense(self) -> StoreError:
        return StoreError(f"the answer of the index {self._name!r} is not in the form of Pinecone's: check base_url")

"""The store over Weaviate."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from ragstone.closing import Closing
from ragstone.concurrency import offload
from ragstone.errors import StoreError
from ragstone.metadata import matches
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.services import JsonService, ServiceError
from ragstone.stores._batches import packed
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_filter, checked_query, checked_vectors
from ragstone.stores.weaviate.objects import chunk_of, kind_of, object_of, property_of
from ragstone.stores.weaviate.queries import document_where, get_query, hybrid, near_vector, where
from ragstone.stores.weaviate.schema import Classes, check_class_name, check_tenant
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    import httpx

__all__ = ["WeaviateStore"]

_MOST_OBJECTS: Final = 1000
_MOST_BYTES: Final = 8_000_000
_BYTES_OF_A_NUMBER: Final = 24
_BYTES_OF_A_CHARACTER: Final = 6


class WeaviateStore(Closing):
    """A vector store in a class of Weaviate, with the server's own hybrid search.

    Implements `VectorStore`, `HybridSearchable` and `CollectionManageable`. The class is made on first use. Scores of
    `search` are 1 − distance / 2, which is (1 + cosine) / 2; those of `hybrid_search` are the server's own and bear no
    threshold.

    Args:
        class_name: The class: a capital letter, then letters, digits and `_`.
        base_url: The server's URL.
        dimensions: Length of the vectors.
        api_key: Sent as a bearer token.
        tenant: Whose chunks these are; the class is made for tenants then, and other tenants' chunks are not seen.
        timeout: Seconds to wait for a connection, and for the server to go on sending or receiving.
        max_retries: How often a request is sent again that met an overloaded or failing server or no connection.
        retry_pause: Seconds before the first retry; each next pause doubles.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `http` is not installed.
    """

    def __init__(
        self,
        class_name: str,
        *,
        dimensions: int,
        base_url: str = "http://localhost:8080",
        api_key: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        retry_pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._name = check_class_name(class_name)
        self._dimensions = require_at_least("dimensions", dimensions, 1)
        self._tenant = check_tenant(tenant)
        self._service = JsonService(
            base_url,
            headers={} if api_key is None else {"authorization": f"Bearer {api_key}"},
            timeout=timeout,
            max_retries=max_retries,
            retry_pause=retry_pause,
            client=client,
        )
        self._classes = Classes(self._service, self._tenant)
        self._properties: set[str] = set()
        self._prepared = Once(self._prepare)

    @property
    def class_name(self) -> str:
        """The class that holds the chunks."""
        return self._name

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._service.aclose()

    async def initialize(self) -> None:
        """Make the class and the tenant, unless they are there.

        Raises:
            ConfigurationError: A class of this name cannot serve.
            StoreError: The server failed.
        """
        await self._prepared()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index).

        Up to 1000 chunks or 8 MB go out at a time; where a later batch fails, the earlier ones are stored, and storing
        all again is harmless.

        Raises:
            InvalidInputError: A vector is of another length or not finite, or a text is no text; nothing was stored.
            StoreError: The server failed, or refused a chunk.
        """
        if not chunks:
            return
        vectors = checked_vectors(chunks, self._dimensions)
        latest = {item.chunk.key: (item.chunk, vector) for item, vector in zip(chunks, vectors, strict=True)}
        await self._prepared()
        await self._add_properties(chunks)
        objects = (object_of(*each, class_name=self._name, tenant=self._tenant) for each in latest.values())
        for batch in packed(objects, _weight, most=_MOST_OBJECTS, heaviest=_MOST_BYTES):
            await self._store_batch(batch)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        A zero vector has no neighbours and is none.

        Raises:
            DimensionMismatchError: The query is of another length.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: The server failed.
        """
        query = checked_query(embedding, self._dimensions)
        checked_filter(options)
        if not query.any():
            return []
        found = await self._page(near_vector(query), options, "distance")
        hits = _ranked(found, lambda hit: _similarity(float(hit["distance"])), options, ScoreScale.SIMILARITY)
        return [hit for hit in hits if options.min_score == 0.0 or hit.score >= options.min_score]

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the page that the server fuses from its keyword and vector search by relative scores, best first.

        `options.min_score` is not applied to fused scores. A blank text leaves the vector's neighbours alone, a zero
        vector the keywords.

        Raises:
            StoreError: The server failed.
            RagError: As `search`.
        """
        query = checked_query(embedding, self._dimensions)
        checked_filter(options)
        if not text.strip() and not query.any():
            return []
        found = await self._page(hybrid(text, query), options, "score", private=[text])
        return _ranked(found, lambda hit: float(hit["score"]), options, ScoreScale.BACKEND)

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; neither a document nor a class that is not there is an error.

        Raises:
            StoreError: The server failed.
        """
        payload = {"match": {"class": self._name, "where": document_where(document_id)}, "output": "minimal"}
        path = "/v1/batch/objects" + ("" if self._tenant is None else "?" + urlencode({"tenant": self._tenant}))
        deleting = f"delete document {document_id[:200]!r}"
        left = 1
        while left:
            try:
                answer = json.loads(await self._service.request("DELETE", path, payload))["results"]
                left, failed = answer["matches"] - answer["successful"], answer["failed"]
            except ServiceError as error:
                if error.status is not None and not error.transient and not await self._classes.serves(self._name):
                    return
                raise self._classes.failure(deleting, error) from error
            except (ValueError, KeyError, TypeError) as error:
                raise self._nonsense() from error
            if failed:
                raise StoreError(f"Weaviate could not {deleting}: {failed} chunks are left: do it again")

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Make a class; Weaviate takes its dimensions from the first vectors.

        Raises:
            ConfigurationError: The name is not one, `dimensions` is below 1, or a class of this name cannot serve.
            StoreError: The server failed.
        """
        require_at_least("dimensions", dimensions, 1)
        await self._classes.create(check_class_name(name))

    async def delete_collection(self, name: str) -> None:
        """Drop a class with all it holds; the store's own is made again on the next use.

        Raises:
            StoreError: The server failed.
        """
        await self._classes.drop(check_class_name(name))
        if name == self._name:
            self._prepared.reset()

    async def collection_exists(self, name: str) -> bool:
        """Whether the class is there.

        Raises:
            StoreError: The server failed.
        """
        return await self._classes.definition(check_class_name(name)) is not None

    async def _prepare(self) -> None:
        self._properties = await self._classes.create(self._name)

    async def _add_properties(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Add the properties that the metadata needs, so that the server does not guess how to tokenise them."""
        wanted = {
            property_of(key, value): kind_of(value) for item in chunks for key, value in item.chunk.metadata.items()
        }
        for name in sorted(wanted.keys() - self._properties):
            text = {"tokenization": "field", "indexSearchable": False} if wanted[name] == "text" else {}
            await self._classes.add(self._name, [{"name": name, "dataType": [wanted[name]], **text}])
            self._properties.add(name)

    async def _store_batch(self, batch: Sequence[Mapping[str, Any]]) -> None:
        content = await offload(lambda: json.dumps({"objects": batch}).encode("ascii"))
        first = batch[0]["properties"]
        storing = f"store {len(batch)} chunks from chunk {first['chunk_index']} of {first['document_id'][:200]!r} on"
        texts = [item["properties"]["text"] for item in batch]
        try:
            answer = json.loads(await self._service.request("POST", "/v1/batch/objects", content, private=texts))
            failed = [item["id"] for item in answer if item["result"].get("status", "SUCCESS") != "SUCCESS"]
        except ServiceError as error:
            raise self._classes.failure(storing, error) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._nonsense() from error
        if failed:
            places = {item["id"]: item["properties"]["chunk_index"] for item in batch}
            raise StoreError(
                f"Weaviate could not {storing}: it refused {len(failed)} of them, the first being chunk "
                f"{places.get(failed[0])}: look into its log, then do it again, which is harmless for the others"
            )

    async def _page(
        self, query: Mapping[str, Any], options: SearchOptions, additional: str, *, private: Sequence[str] = ()
    ) -> list[Mapping[str, Any]]:
        await self._prepared()
        wanted = checked_filter(options)
        if options.top_k == 0 or not await self._known({property_of(key, value) for key, value in wanted.items()}):
            return []
        arguments = {**query, "limit": options.top_k}
        condition = where(wanted)
        if condition is not None:
            arguments["where"] = condition
        if self._tenant is not None:
            arguments["tenant"] = self._tenant
        payload = {"query": get_query(self._name, arguments, additional)}
        try:
            answer = json.loads(await self._service.post("/v1/graphql", payload, private=private))
            if answer.get("errors"):
                raise StoreError(f"Weaviate at {self._service.host} refused the query on class {self._name!r}")
            return list(answer["data"]["Get"][self._name] or ())
        except ServiceError as error:
            raise self._classes.failure("search", error) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._nonsense() from error

    async def _known(self, properties: set[str]) -> bool:
        """Whether the class has these properties; others may have added some since it was looked at."""
        if not properties <= self._properties:
            found = await self._classes.definition(self._name)
            self._properties |= {item["name"] for item in (found or {"properties": ()})["properties"]}
        return properties <= self._properties

    def _nonsense(self) -> StoreError:
        return StoreError(f"Weaviate at {self._service.host}: the answer is not Weaviate's: check base_url")


def _weight(item: Mapping[str, Any]) -> int:
    texts = sum(len(value) for value in item["properties"].values() if isinstance(value, str))
    return _BYTES_OF_A_CHARACTER * texts + _BYTES_OF_A_NUMBER * len(item.get("vector", ()))


def _similarity(distance: float) -> float:
    """A cosine distance from 0 to 2 as a similarity from 1 to 0."""
    return min(1.0, max(0.0, 1.0 - distance / 2.0))


def _ranked(
    found: Sequence[Mapping[str, Any]],
    score: Callable[[Mapping[str, Any]], float],
    options: SearchOptions,
    scale: ScoreScale,
) -> list[SearchResult]:
    """The hits that match by our own measure, whatever the server took for equal."""
    hits = [SearchResult(chunk_of(hit), score(hit["_additional"]), scale) for hit in found]
    eligible = [hit for hit in hits if matches(hit.chunk.metadata, options.metadata_filter)]
    return sorted(eligible, key=lambda hit: (-hit.score, hit.chunk.key))

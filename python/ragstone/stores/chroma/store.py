"""The vector store in a Chroma server, over its REST API, version 2."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ragstone.closing import Closing
from ragstone.concurrency import offload
from ragstone.errors import ConfigurationError, StoreError
from ragstone.models import ChunkKey, EmbeddedChunk, SearchOptions, SearchResult, TextChunk, Vector, Vectors
from ragstone.services import JsonService
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_filter, checked_query, checked_vectors
from ragstone.stores.chroma.collections import Collections, MissingCollectionError, checked_name
from ragstone.stores.chroma.records import DOCUMENT_ID, chunk_of, record_id, record_metadata, where
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    import httpx

__all__ = ["ChromaStore"]

_BATCH: Final = 1000


class ChromaStore(Closing):
    """Chunks in a collection of a Chroma server, nearest first by cosine.

    Implements `VectorStore`, `EmbeddingReadable` and `CollectionManageable`. The collection is made on first use, of
    the space `cosine`; one that is there already must be of it. Its vectors are as long as the first that is stored.
    Sparse vectors are not kept. One request writes at most a thousand chunks and is done whole or not at all; a longer
    batch is several, in order, and may be repeated after an error.

    Args:
        collection: The collection's name: 3 to 512 letters, digits, dots, underscores and hyphens, of which the first
            and the last are letters or digits.
        base_url: Where the server is.
        tenant: The tenant of the database.
        database: The database of the collection.
        api_key: Sent as a bearer token, never shown; `None` for a server that needs none.
        timeout: Seconds to wait for the server at each step.
        max_retries: How often a request that met no connection, a timeout or an overloaded server is sent again.
        retry_pause: Seconds before the first retry; doubles each time.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `http` is not installed.

    Example:
        >>> ChromaStore("handbooks", base_url="http://localhost:8000")
        ChromaStore('handbooks', base_url='http://localhost:8000')
    """

    def __init__(
        self,
        collection: str,
        *,
        base_url: str = "http://localhost:8000",
        tenant: str = "default_tenant",
        database: str = "default_database",
        api_key: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        retry_pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._name = checked_name("collection", collection)
        for field, value in (
            ("tenant", tenant),
            ("database", database),
            ("api_key", "none" if api_key is None else api_key),
        ):
            if not value.strip():
                raise ConfigurationError(f"{field} must not be empty: leave it out for the default")
        self._service = JsonService(
            base_url,
            headers={} if api_key is None else {"authorization": f"Bearer {api_key}"},
            timeout=timeout,
            max_retries=max_retries,
            retry_pause=retry_pause,
            client=client,
        )
        self._scheme = base_url.partition(":")[0]
        self._collections = Collections(self._service, tenant=tenant, database=database)
        self._prepared = Once(self._prepare)
        self._id = ""

    def __repr__(self) -> str:
        return f"ChromaStore({self._name!r}, base_url='{self._scheme}://{self._service.host}')"

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._service.aclose()

    async def initialize(self) -> None:
        """Make the collection, unless it is there.

        Raises:
            ConfigurationError: It is there and of another space than cosine.
            StoreError: Chroma failed or refused.
        """
        await self._prepared()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index); none where one of them is bad.

        Raises:
            InvalidInputError: A vector is of another length or not finite, or a text is no text; nothing was stored.
            ConfigurationError: As `initialize`.
            StoreError: Chroma failed or refused; says which chunks were not stored.
        """
        if not chunks:
            return
        vectors = checked_vectors(chunks, None)
        for start in range(0, len(chunks), _BATCH):
            batch = _last_of_each(chunks[start : start + _BATCH], vectors[start : start + _BATCH])
            doing = f"storing chunks {start} to {min(start + _BATCH, len(chunks)) - 1} of {len(chunks)}"
            wanted = json.dumps({"ids": list(batch), "include": ["metadatas"]}).encode("ascii")
            held = self._held_keys(await self._asked("get", wanted, doing))
            content = await offload(_upsert, batch, held)
            await self._asked("upsert", content, doing, private=[chunk.text for chunk, _ in batch.values()])

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        The score is cosine similarity, 1 − distance.

        Raises:
            DimensionMismatchError: The query is of another length than the stored vectors.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative, `min_score` is not finite, or as `initialize`.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: Chroma failed or refused.
        """
        query = checked_query(embedding, None)
        clause = where(checked_filter(options))
        request = {
            "query_embeddings": [query.tolist()],
            "n_results": options.top_k,
            "include": ["documents", "metadatas", "distances"],
            **({} if clause is None else {"where": clause}),
        }
        if options.top_k == 0:
            return []
        answer = await self._asked("query", json.dumps(request).encode("ascii"), "searching")
        results = self._results(answer)
        if options.min_score == 0.0:
            return results
        return [result for result in results if result.score >= options.min_score]

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key, `None` where the chunk is not there.

        Raises:
            ConfigurationError: As `initialize`.
            StoreError: Chroma failed or refused.
        """
        wanted = [record_id(*key) for key in keys]
        names = list(dict.fromkeys(wanted))
        held: dict[str, Vector] = {}
        for start in range(0, len(names), _BATCH):
            request = {"ids": names[start : start + _BATCH], "include": ["embeddings"]}
            answer = await self._asked("get", json.dumps(request).encode("ascii"), "reading embeddings")
            try:
                held |= {
                    name: np.array(numbers, dtype=np.float32)
                    for name, numbers in zip(answer["ids"], answer["embeddings"], strict=True)
                }
            except (ValueError, KeyError, TypeError) as error:
                raise self._collections.nonsense(self._name) from error
        return [held.get(name) for name in wanted]

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; one that is not there is no error, nor is a missing collection.

        Raises:
            StoreError: Chroma failed or refused.
        """
        content = json.dumps({"where": {DOCUMENT_ID: {"$eq": document_id}}}).encode("ascii")
        identity = self._id or await self._collections.found(self._name)
        for _ in range(2):
            if identity is None:
                return
            try:
                await self._collections.ask(self._name, identity, "delete", content, doing="deleting a document")
            except MissingCollectionError:
                identity = await self._collections.found(self._name)
            else:
                return

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Make a collection of the cosine space; Chroma takes its dimensions from the first vectors.

        Raises:
            ConfigurationError: The name cannot be one, `dimensions` is below 1, or the collection is there with another
                space or other dimensions.
            StoreError: Chroma failed or refused.
        """
        require_at_least("dimensions", dimensions, 1)
        _, held = await self._collections.made(checked_name("name", name))
        if held not in (None, dimensions):
            raise ConfigurationError(
                f"the Chroma collection {name!r} has {held} dimensions, not {dimensions}: "
                "use another name, or delete it and ingest its documents again"
            )

    async def delete_collection(self, name: str) -> None:
        """Drop a collection; one that is not there is no error. The store's own is made again on its next use.

        Raises:
            StoreError: Chroma failed or refused.
        """
        await self._collections.drop(checked_name("name", name))
        if name == self._name:
            self._forget(self._id)

    async def collection_exists(self, name: str) -> bool:
        """Whether the collection is there.

        Raises:
            StoreError: Chroma failed or refused.
        """
        return await self._collections.found(checked_name("name", name)) is not None

    async def _prepare(self) -> None:
        self._id, _ = await self._collections.made(self._name)

    async def _asked(self, action: str, content: bytes, doing: str, *, private: Sequence[str] = ()) -> Any:
        """Ask the collection; once more where it has been deleted or made again in the meantime."""
        for again in (True, False):
            await self._prepared()
            identity = self._id
            try:
                return await self._collections.ask(self._name, identity, action, content, doing=doing, private=private)
            except MissingCollectionError:
                self._forget(identity)
                if not again:
                    break
        raise StoreError(f"{self!r}: {doing} failed: the collection is deleted as soon as it is made")

    def _forget(self, identity: str) -> None:
        """Look the collection up anew, unless another caller has done so already."""
        if self._id == identity:
            self._id = ""
            self._prepared.reset()

    def _held_keys(self, answer: Any) -> dict[str, list[str]]:
        """The keys that the metadata of each record has now."""
        try:
            return {name: list(entries or ()) for name, entries in zip(answer["ids"], answer["metadatas"], strict=True)}
        except (ValueError, KeyError, TypeError) as error:
            raise self._collections.nonsense(self._name) from error

    def _results(self, answer: Any) -> list[SearchResult]:
        try:
            columns = zip(answer["documents"][0], answer["metadatas"][0], answer["distances"][0], strict=True)
            # A record that is deleted while Chroma searches is found and has nothing left.
            results = [
                SearchResult(chunk_of(text, metadata), 1.0 - float(distance))
                for text, metadata, distance in columns
                if metadata is not None
            ]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise self._collections.nonsense(self._name) from error
        return sorted(results, key=lambda result: (-result.score, result.chunk.key))


def _last_of_each(embedded: Sequence[EmbeddedChunk], vectors: Vectors) -> dict[str, tuple[TextChunk, Vector]]:
    """Chunks and vectors by record id; of chunks with one key the last, since Chroma wants each id once."""
    return {record_id(*item.chunk.key): (item.chunk, vector) for item, vector in zip(embedded, vectors, strict=True)}


def _upsert(batch: Mapping[str, tuple[TextChunk, Vector]], held: Mapping[str, Sequence[str]]) -> bytes:
    """The body of an upsert. Chroma merges metadata, so that a key which a record loses has to be sent as null."""
    records = [{**dict.fromkeys(held.get(name, ())), **record_metadata(chunk)} for name, (chunk, _) in batch.items()]
    return json.dumps(
        {
            "ids": list(batch),
            "embeddings": [base64.b64encode(vector.tobytes()).decode("ascii") for _, vector in batch.values()],
            "documents": [chunk.text for chunk, _ in batch.values()],
            "metadatas": records,
        }
    ).encode("ascii")

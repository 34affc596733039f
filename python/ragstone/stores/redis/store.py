"""The vector store in Redis."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from ragstone.closing import Closing
from ragstone.errors import CapabilityError, ConfigurationError, StoreError
from ragstone.metadata import MetadataValue
from ragstone.models import ChunkKey, EmbeddedChunk, SearchOptions, SearchResult, Vector, Vectors
from ragstone.redis_client import RedisClient
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_filter, checked_query, checked_vectors
from ragstone.stores.redis.hashes import CHUNK_FIELDS, chunk_of, hash_fields, hash_name, key_of
from ragstone.stores.redis.index import (
    CHUNK_INDEX,
    DISTANCE,
    DOCUMENT_ID,
    EMBEDDING,
    Index,
    checked_name,
    command,
    pairs,
)
from ragstone.stores.redis.tags import metadata_field, tag_of, tag_query
from ragstone.validation import require_at_least, require_in_range

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisVectorStore"]

T = TypeVar("T")

_LONGEST_TIMEOUT: Final = 3600.0
_MOST_DIMENSIONS: Final = 32768
_PAGE: Final = 1000
_RETURNED: Final = (*CHUNK_FIELDS, DISTANCE)


class RedisVectorStore(Closing):
    """Chunks as hashes in Redis with its search module (Redis 8, or Redis Stack), nearest first by cosine.

    Implements `VectorStore`, `EmbeddingReadable` and `CollectionManageable`. The index, an HNSW graph, is made on first
    use. All metadata is kept and comes back; a filter may name only the keys of `filterable_keys`, which the index is
    made with. A chunk whose vector is zero is kept, and never found by its vector. Sparse vectors are not kept. Redis'
    own ranking of texts is not used: a pipeline fuses with its keyword index. A call of `store` is one transaction.

    Args:
        server: A URL such as `redis://user:password@host:6379/0`, or a client (`redis.asyncio.Redis`, not decoding
            responses), which its owner closes.
        index: The index's name: letters, digits, dots, underscores and hyphens.
        dimensions: Length of the vectors.
        filterable_keys: The metadata keys that filters may name.
        ef_runtime: How many candidates the search in the graph holds; more find more and take longer.
        timeout: Seconds to wait for the server; a client that was handed in has its own.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `redis` is not installed.

    Example:
        >>> RedisVectorStore("redis://localhost:6379", "handbooks", dimensions=384, filterable_keys=["tenant"])
        RedisVectorStore('redis://localhost:6379', 'handbooks', dimensions=384)
    """

    def __init__(
        self,
        server: str | Redis,
        index: str,
        *,
        dimensions: int,
        filterable_keys: Iterable[str] = (),
        ef_runtime: int = 100,
        timeout: float = 30.0,
    ) -> None:
        self._client = RedisClient(
            server,
            timeout=require_in_range("timeout", timeout, 0.001, _LONGEST_TIMEOUT),
            purpose="Storing chunks in Redis",
        )
        self._timeout = timeout
        self._index = Index(
            checked_name("index", index), _checked_dimensions(dimensions), _checked_keys(filterable_keys)
        )
        self._ef_runtime = require_at_least("ef_runtime", ef_runtime, 1)
        self._prepared = Once(self._prepare)

    def __repr__(self) -> str:
        return f"RedisVectorStore({self._client.place!r}, {self._index.name!r}, dimensions={self._index.dimensions})"

    async def aclose(self) -> None:
        """Close the connections, if they are our own; a later call opens new ones."""
        await self._client.aclose()

    async def initialize(self) -> None:
        """Make the index, unless it is there.

        Raises:
            ConfigurationError: The index that is there has other dimensions or filterable keys, or was not made for
                chunks.
            StoreError: Redis could not be reached, refused, or has no search module.
        """
        await self._prepared()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index): all of them or none.

        Raises:
            InvalidInputError: A vector is of another length or not finite, or a text is no text; nothing was stored.
            ConfigurationError: As `initialize`.
            StoreError: Redis could not be reached or refused.
        """
        if not chunks:
            return
        vectors = checked_vectors(chunks, self._index.dimensions)
        await self._prepared()
        doing = f"storing {len(chunks)} chunks"
        replies = await self._asked(doing, lambda client: self._write(client, chunks, vectors))
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._failure(doing, reply)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        The score is cosine similarity, 1 − distance. The filter is applied inside the search.

        Raises:
            DimensionMismatchError: The query is of another length than the stored vectors.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative, `min_score` is not finite, or as `initialize`.
            CapabilityError: The filter names a key that `filterable_keys` does not.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: Redis could not be reached or refused.
        """
        query = checked_query(embedding, self._index.dimensions)
        metadata_filter = checked_filter(options)
        self._check_filter(metadata_filter)
        await self._prepared()
        if options.top_k == 0 or not query.any():
            return []
        tags = {metadata_field(key): tag_of(value) for key, value in metadata_filter.items()}
        nearest = f"=>[KNN $k @{EMBEDDING} $vector EF_RUNTIME $ef AS {DISTANCE}]"
        hits = await self._found(
            "searching",
            tag_query(tags) + nearest,
            *("PARAMS", 6, "k", options.top_k, "vector", query.tobytes(), "ef", self._ef_runtime),
            *("SORTBY", DISTANCE, "RETURN", len(_RETURNED), *_RETURNED),
            *("LIMIT", 0, options.top_k, "TIMEOUT", math.ceil(self._timeout * 1000)),
        )
        results = [self._result(name, fields) for name, fields in hits if fields]
        results.sort(key=lambda result: (-result.score, result.chunk.key))
        if options.min_score == 0.0:
            return results
        return [result for result in results if result.score >= options.min_score]

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key, `None` where the chunk is not there.

        Raises:
            StoreError: Redis could not be reached or refused.
        """

        async def read(client: Redis) -> list[list[bytes | None]]:
            async with client.pipeline(transaction=False) as reads:
                for key in keys:
                    reads.hmget(hash_name(self._index.prefix, key), [CHUNK_INDEX, EMBEDDING])
                return await reads.execute()

        held = await self._asked(f"reading {len(keys)} embeddings", read)
        nothing = np.zeros(self._index.dimensions, dtype=np.float32).tobytes()
        return [
            None if place is None else np.frombuffer(vector or nothing, dtype="<f4").copy() for place, vector in held
        ]

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; one that is not there is no error, nor is a missing index.

        Raises:
            StoreError: Redis could not be reached or refused.
        """
        if await self._asked("deleting a document", self._index.held) is None:
            return
        query = tag_query({DOCUMENT_ID: tag_of(document_id)})
        while True:
            hits = await self._found("deleting a document", query, "NOCONTENT", "LIMIT", 0, _PAGE)
            names = [name for name, _ in hits if key_of(self._index.prefix, name).document_id == document_id]
            if not names:
                return
            await self._asked("deleting a document", partial(_unlink, names))

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Make an index with this store's filterable keys; one that is there with these dimensions is no error.

        Raises:
            ConfigurationError: The name or `dimensions` cannot be one, or the index that is there is another one.
            StoreError: Redis could not be reached, refused, or has no search module.
        """
        index = Index(checked_name("name", name), _checked_dimensions(dimensions), self._index.filterable)
        await self._asked(f"making the index {name!r}", index.ensure)

    async def delete_collection(self, name: str) -> None:
        """Drop an index and its chunks; one that is not there is no error. The store's own is made again on next use.

        Raises:
            StoreError: Redis could not be reached or refused.
        """
        await self._asked(f"deleting the index {name!r}", self._named(name).drop)
        if name == self._index.name:
            self._prepared.reset()

    async def collection_exists(self, name: str) -> bool:
        """Whether the index is there.

        Raises:
            StoreError: Redis could not be reached or refused.
        """
        return await self._asked(f"looking for the index {name!r}", self._named(name).held) is not None

    def _named(self, name: str) -> Index:
        return Index(checked_name("name", name), self._index.dimensions, self._index.filterable)

    async def _prepare(self) -> None:
        await self._asked(f"making the index {self._index.name!r}", self._index.ensure)

    async def _write(self, client: Redis, chunks: Sequence[EmbeddedChunk], vectors: Vectors) -> list[Any]:
        async with client.pipeline(transaction=True) as writes:
            for item, vector in zip(chunks, vectors, strict=True):
                name = hash_name(self._index.prefix, item.chunk.key)
                fields, gone = hash_fields(item.chunk, vector, self._index.filterable)
                if gone:
                    writes.hdel(name, *gone)
                writes.hset(name, mapping=fields)
            return await writes.execute(raise_on_error=False)

    async def _found(self, doing: str, query: str, *arguments: Any) -> list[tuple[bytes, dict[str, Any]]]:
        """Names and fields of the hashes that a query finds."""

        async def ask(client: Redis) -> Any:
            return await command(client, "FT.SEARCH", self._index.name, query, *arguments, "DIALECT", 2)

        reply = await self._asked(doing, ask)
        if isinstance(reply, dict):
            answer = pairs(reply)
            entries = [pairs(entry) for entry in answer["results"]]
            return [(entry["id"], pairs(entry.get("extra_attributes", {}))) for entry in entries]
        if "NOCONTENT" in arguments:
            return [(name, {}) for name in reply[1:]]
        return [(name, pairs(fields or ())) for name, fields in zip(reply[1::2], reply[2::2], strict=True)]

    def _result(self, name: bytes, fields: Mapping[str, Any]) -> SearchResult:
        try:
            return SearchResult(chunk_of(self._index.prefix, name, fields), 1.0 - float(fields[DISTANCE]))
        except (KeyError, ValueError) as error:
            raise StoreError(
                f"Redis at {self._client.place}: the index {self._index.name!r} holds hashes that are no chunks under "
                f"{self._index.prefix!r}: remove them, or use another index"
            ) from error

    def _check_filter(self, metadata_filter: dict[str, MetadataValue]) -> None:
        undeclared = sorted(metadata_filter.keys() - set(self._index.filterable))
        if undeclared:
            raise CapabilityError(
                f"metadata_filter names {undeclared}, and Redis filters only by keys that its index was made with: add "
                "them to filterable_keys, delete the index and ingest its documents again"
            )

    async def _asked(self, doing: str, work: Callable[[Redis], Awaitable[T]]) -> T:
        from redis.exceptions import RedisError

        try:
            return await self._client.run(work)
        except (RedisError, OSError, TimeoutError) as error:
            # Redis repeats commands in its errors, and with them texts.
            raise self._failure(doing, error) from None

    def _failure(self, doing: str, error: Exception) -> StoreError:
        from redis.exceptions import ResponseError

        if isinstance(error, ResponseError):
            if "unknown command" in str(error).lower():
                remedy = "it has no search module: run Redis 8 or Redis Stack"
            elif "no such index" in str(error).lower():
                self._prepared.reset()
                remedy = "the index was dropped meanwhile, and is made again on next use"
            else:
                remedy = "it refused: look at its log"
        else:
            remedy = "is it running?"
        return StoreError(f"Redis at {self._client.place}: {doing} failed with {type(error).__name__}: {remedy}")


async def _unlink(names: Sequence[bytes], client: Redis) -> None:
    await client.unlink(*names)


def _checked_dimensions(dimensions: int) -> int:
    if require_at_least("dimensions", dimensions, 1) > _MOST_DIMENSIONS:
        raise ConfigurationError(f"dimensions must be at most {_MOST_DIMENSIONS}, not {dimensions}")
    return dimensions


def _checked_keys(keys: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise ConfigurationError(f"filterable_keys must be several keys, such as [{keys!r}], not a string")
    checked = tuple(dict.fromkeys(keys))
    for key in checked:
        if not isinstance(key, str) or not key:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"filterable_keys must be strings that are not empty, not {key!r}")
    return checked

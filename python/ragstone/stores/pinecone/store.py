"""The stores over Pinecone's REST interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from ragstone.clock import SystemClock
from ragstone.closing import Closing
from ragstone.concurrency import offload
from ragstone.errors import ConfigurationError, InvalidInputError
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.ports import Clock
from ragstone.services import JsonService
from ragstone.sparse_vector import SparseVector
from ragstone.stores._columns import name_of
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_filter, checked_query, checked_vectors
from ragstone.stores.pinecone.data import Data, Record
from ragstone.stores.pinecone.indexes import (
    Index,
    Indexes,
    checked_dimensions,
    checked_index_name,
    checked_namespace,
)
from ragstone.stores.pinecone.records import id_prefix, metadata_filter, record_id, record_metadata

if TYPE_CHECKING:
    import httpx

__all__ = ["PineconeSparseStore", "PineconeStore"]

_API_VERSION: Final = "2025-10"
_MOST_TERMS: Final = 1000
_MOST_HITS: Final = 10_000
_NEXT_TO_NOTHING: Final = 1e-30


class PineconeStore(Closing):
    """A vector store in a serverless index of Pinecone: cosine top-k, filtered before the cut.

    Implements `VectorStore` and `CollectionManageable`. The index is made on first use, which waits until it is ready.
    One that exists must hold vectors of this length under cosine, or the first use fails and changes nothing.

    Pinecone is eventually consistent: what was stored or deleted may take seconds to show. It holds no vector without a
    direction: a chunk whose vector is zero could never be found, and is left out.

    Args:
        index_name: The index: 1 to 45 lower-case letters, digits and `-`.
        api_key: The project's key; never shown.
        dimensions: Length of the vectors.
        namespace: The part of the index that is written, searched and deleted from; the default one when left out.
        cloud: Where an index is made: `"aws"`, `"gcp"` or `"azure"`.
        region: The cloud's region.
        base_url: Pinecone's control plane; with `http://`, the data is reached without TLS too.
        ready_timeout: Seconds until a new index must be ready.
        poll_interval: Seconds between two looks whether it is.
        timeout: Seconds to wait for a connection, and for the service to go on sending or receiving.
        max_retries: How often a request is sent again that met an overloaded or failing service or no connection.
        retry_pause: Seconds before the first retry; each next pause doubles.
        client: A client to use, which its owner closes; one of our own is made when left out.
        clock: Tells the time while an index is awaited.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `http` is not installed.
    """

    _keeps_sparse = False

    def __init__(
        self,
        index_name: str,
        *,
        api_key: str,
        dimensions: int,
        namespace: str | None = None,
        cloud: str = "aws",
        region: str = "us-east-1",
        base_url: str = "https://api.pinecone.io",
        ready_timeout: float = 120.0,
        poll_interval: float = 1.0,
        timeout: float = 30.0,
        max_retries: int = 2,
        retry_pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._name = checked_index_name("index_name", index_name)
        self._dimensions = checked_dimensions(dimensions)
        if not (api_key.isascii() and api_key.isprintable() and api_key.strip()):
            raise ConfigurationError("api_key must be the key of a Pinecone project")
        headers = {"api-key": api_key, "x-pinecone-api-version": _API_VERSION}

        def service(url: str) -> JsonService:
            return JsonService(
                url,
                headers=headers,
                timeout=timeout,
                max_retries=max_retries,
                retry_pause=retry_pause,
                client=client,
            )

        self._control = service(base_url)
        self._indexes = Indexes(
            self._control,
            metric="dotproduct" if self._keeps_sparse else "cosine",
            cloud=cloud,
            region=region,
            ready_timeout=ready_timeout,
            poll_interval=poll_interval,
            clock=clock or SystemClock(),
        )
        self._index = Index("", self._dimensions)
        self._prepared = Once(self._prepare)
        self._data = Data(
            service,
            scheme=base_url.partition(":")[0],
            index_name=self._name,
            namespace=checked_namespace(namespace),
            forget=self._prepared.reset,
        )

    @property
    def index_name(self) -> str:
        """The index that holds the chunks."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        return self._dimensions

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._control.aclose()
        await self._data.aclose()

    async def initialize(self) -> None:
        """Make the index, unless it is there, and wait until it is ready.

        Raises:
            ConfigurationError: An index of this name cannot serve.
            StoreError: Pinecone failed, or did not have it ready in time.
        """
        await self._prepared()
        if self._index.dimensions != self._dimensions:
            raise ConfigurationError(
                f"the index {self._name!r} holds vectors of {self._index.dimensions} dimensions, not of "
                f"{self._dimensions}: name another, or drop it and ingest its documents again"
            )

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index).

        Up to 1000 chunks or 2 MB go out at a time; where a later batch fails, the earlier ones are stored, and storing
        all again is harmless.

        Raises:
            InvalidInputError: A vector is of another length or not finite, or a chunk is larger than Pinecone holds;
                names the chunk, nothing was stored.
            StoreError: Pinecone failed or refused; names the batch.
        """
        if not chunks:
            return
        vectors = checked_vectors(chunks, self._dimensions)
        latest = {item.chunk.key: (item, vector) for item, vector in zip(chunks, vectors, strict=True)}
        records, empty = await offload(self._records, latest.values())
        await self.initialize()
        await self._data.upsert(self._index, records)
        await self._data.delete(self._index, empty, "remove chunks whose vectors are zero")

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; ties by key.

        The score is the cosine. A zero vector has no neighbours.

        Raises:
            DimensionMismatchError: The query is of another length.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative or above 10,000, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: Pinecone failed or refused.
        """
        query = checked_query(embedding, self._dimensions)
        page = _page(options)
        await self.initialize()
        if options.top_k == 0 or not query.any():
            return []
        found = await self._data.query(self._index, {**page, "vector": self._scaled(query)})
        hits = [SearchResult(chunk, min(1.0, max(-1.0, score))) for chunk, score in found]
        return _ranked(hits, options)

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; neither a document nor an index that is not there is an error.

        A serverless index deletes by id alone, so the ids with the document's prefix are listed first. A chunk that was
        stored so shortly before that Pinecone does not list it yet stays.

        Raises:
            ConfigurationError: The index cannot serve.
            StoreError: Pinecone failed or refused.
        """
        index = await self._indexes.found(self._name)
        if index is None or not index.host:
            return
        deleting = f"delete document {document_id[:200]!r}"
        listed = await self._data.listed(index, id_prefix(document_id), deleting)
        await self._data.delete(index, listed, deleting)

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Make an index and wait until it is ready; one that exists and fits is no error.

        Raises:
            ConfigurationError: The name is not one, or an index of this name cannot serve.
            StoreError: Pinecone failed, or did not have it ready in time.
        """
        length = checked_dimensions(dimensions)
        index = await self._indexes.ready(checked_index_name("name", name), length)
        if index.dimensions != length:
            raise ConfigurationError(
                f"the index {name!r} holds vectors of {index.dimensions} dimensions, not of {length}: use another name"
            )

    async def delete_collection(self, name: str) -> None:
        """Drop an index with all its namespaces; one that is not there is no error.

        The store's own is made again on the next use.

        Raises:
            StoreError: Pinecone failed or refused.
        """
        await self._indexes.drop(checked_index_name("name", name))
        if name == self._name:
            self._prepared.reset()

    async def collection_exists(self, name: str) -> bool:
        """Whether the index is there.

        Raises:
            StoreError: Pinecone failed or refused.
        """
        return await self._indexes.exists(checked_index_name("name", name))

    async def _prepare(self) -> None:
        self._index = await self._indexes.ready(self._name, self._dimensions)

    def _scaled(self, vector: Vector) -> list[float]:
        """A vector that is not zero as it is written and asked for."""
        if not self._keeps_sparse:
            return cast("list[float]", vector.tolist())
        exact = vector.astype(np.float64)
        return cast("list[float]", (exact / np.linalg.norm(exact)).astype(np.float32).tolist())

    def _values(self, item: EmbeddedChunk, vector: Vector) -> dict[str, Any] | None:
        """A record's vectors, `None` where Pinecone cannot hold them."""
        sparse = None
        if self._keeps_sparse and item.sparse is not None:
            sparse = _sparse_values(item.sparse, name_of(item.chunk))
        if sparse is None or not sparse["indices"]:
            return {"values": self._scaled(vector)} if vector.any() else None
        dense = self._scaled(vector) if vector.any() else [_NEXT_TO_NOTHING, *[0.0] * (len(vector) - 1)]
        return {"values": dense, "sparseValues": sparse}

    def _records(self, items: Iterable[tuple[EmbeddedChunk, Vector]]) -> tuple[list[Record], list[str]]:
        """The records, and the ids of those without a direction."""
        records: list[Record] = []
        empty: list[str] = []
        for item, vector in items:
            values = self._values(item, vector)
            identity, metadata = record_id(item.chunk), record_metadata(item.chunk)
            if values is None:
                empty.append(identity)
            else:
                content = json.dumps({"id": identity, "metadata": metadata, **values}).encode("ascii")
                records.append(Record(item.chunk, content))
        return records, empty


class PineconeSparseStore(PineconeStore):
    """A `PineconeStore` that keeps the chunks' sparse vectors in the same records, and searches them.

    Implements `SparseSearchable` beside what `PineconeStore` does. Its index compares by dot product, the only way in
    which Pinecone searches sparse values beside dense ones; another one is refused on first use. Dense vectors are
    written and asked for at unit length, so that the scores of `search` are cosines here too.

    A chunk is written with both vectors in one request, and one that is stored again takes the place of the old one as
    a whole: without a sparse vector of its own it has none.

    What it takes and raises is what `PineconeStore` does.
    """

    _keeps_sparse = True

    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks of the largest dot products that match the filter and reach `min_score`, best first.

        Pinecone wants a dense vector with each query: it is zero, of the length that the index has. A chunk that shares
        no term with the query is no hit. Ties are ordered by key.

        Raises:
            InvalidInputError: `vector` is no `SparseVector`, or has more than 1000 terms.
            ConfigurationError: `top_k` is negative or above 10,000, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: Pinecone failed or refused.
        """
        sparse = _sparse_values(vector, "the query")
        page = _page(options)
        await self._prepared()
        if options.top_k == 0 or len(vector) == 0:
            return []
        found = await self._data.query(
            self._index, {**page, "vector": [0.0] * self._index.dimensions, "sparseVector": sparse}
        )
        return _ranked([SearchResult(chunk, score, ScoreScale.DOT) for chunk, score in found if score > 0.0], options)


def _page(options: SearchOptions) -> dict[str, Any]:
    """How many of which records a query wants."""
    wanted = metadata_filter(checked_filter(options))
    if options.top_k > _MOST_HITS:
        raise ConfigurationError(f"top_k must be at most {_MOST_HITS}, which Pinecone gives, not {options.top_k}")
    return {"topK": options.top_k, **({} if wanted is None else {"filter": wanted})}


def _ranked(hits: Iterable[SearchResult], options: SearchOptions) -> list[SearchResult]:
    reaching = (hit for hit in hits if options.min_score == 0.0 or hit.score >= options.min_score)
    return sorted(reaching, key=lambda hit: (-hit.score, hit.chunk.key))


def _sparse_values(vector: SparseVector, subject: str) -> dict[str, list[Any]]:
    if not isinstance(vector, SparseVector):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"{subject} has a {type(vector).__name__} as its sparse vector: use SparseVector")
    if len(vector) > _MOST_TERMS:
        raise InvalidInputError(
            f"{subject} has {len(vector)} terms and Pinecone holds {_MOST_TERMS}: keep fewer in the encoder"
        )
    return {"indices": vector.indices.tolist(), "values": vector.values.tolist()}

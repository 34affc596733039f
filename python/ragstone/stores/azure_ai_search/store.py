"""The store over Azure AI Search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ragstone.closing import Closing
from ragstone.errors import InvalidInputError, StoreError
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.stores._columns import name_of
from ragstone.stores._once import Once
from ragstone.stores._vectors import checked_filter, checked_query, checked_vectors
from ragstone.stores.azure_ai_search.calls import clients, translated
from ragstone.stores.azure_ai_search.documents import RETURNED, batches, chunk_of, document_of, id_of
from ragstone.stores.azure_ai_search.filters import document_filter, metadata_filter, plain_text
from ragstone.stores.azure_ai_search.indexes import Indexes
from ragstone.stores.azure_ai_search.schema import SEMANTIC_CONFIGURATION
from ragstone.stores.azure_ai_search.settings import (
    RANKED,
    check_dimensions,
    check_endpoint,
    check_name,
    check_neighbors,
)
from ragstone.validation import require_at_least, require_bool, require_in_range

if TYPE_CHECKING:
    from azure.core.credentials import AzureKeyCredential
    from azure.core.credentials_async import AsyncTokenCredential
    from azure.search.documents.models import IndexingResult

__all__ = ["AzureAISearchStore"]

_DEFAULT_NEIGHBORS: Final = 50
_PAGE: Final = 1000


class AzureAISearchStore(Closing):
    """A vector store in an index of Azure AI Search, with the service's own hybrid search and semantic ranking.

    Implements `VectorStore`, `HybridSearchable`, `NativeOnly` and `CollectionManageable`. The index is made on first
    use; one that is there gets the fields that it lacks. Scores of `search` are cosines; those of `hybrid_search` are
    the service's own and bear no threshold.

    Args:
        endpoint: The service's URL, `"https://<name>.search.windows.net"`.
        index_name: The index: 2 to 128 lower-case letters, digits and single dashes.
        credential: The service's API key, or a credential of `azure-identity` or `azure-core`.
        dimensions: Length of the vectors, 2 to 4096.
        k_nearest_neighbors_count: How many neighbours the vector query takes in, never fewer than the hits asked for;
            `None` leaves the number to the service, which takes 50.
        semantic_ranking: Whether hybrid search ends with the service's semantic ranker.
        indexing_delay: Seconds to wait after a write, for the service shows it only after a moment.
        timeout: Seconds to wait for a connection, and for the service to go on sending.
        max_retries: How often the client sends a request again that met an overloaded service or no connection.
        retry_pause: Seconds before the first retry but one; each next pause doubles.

    Raises:
        ConfigurationError: An option is not one, or `semantic_ranking` is combined with fewer than 50 neighbours.
        MissingDependencyError: The extra `azure` is not installed.
    """

    def __init__(
        self,
        endpoint: str,
        index_name: str,
        credential: str | AzureKeyCredential | AsyncTokenCredential,
        *,
        dimensions: int,
        k_nearest_neighbors_count: int | None = None,
        semantic_ranking: bool = False,
        indexing_delay: float = 1.0,
        timeout: float = 30.0,
        max_retries: int = 3,
        retry_pause: float = 0.8,
    ) -> None:
        self._name = check_name(index_name)
        self._dimensions = check_dimensions(dimensions)
        self._semantic = require_bool("semantic_ranking", semantic_ranking)
        self._neighbors_count = check_neighbors(k_nearest_neighbors_count, semantic=semantic_ranking)
        self._delay = require_in_range("indexing_delay", indexing_delay, 0.0, 60.0)
        indexes, self._documents = clients(
            check_endpoint(endpoint),
            self._name,
            credential,
            timeout=require_in_range("timeout", timeout, 0.001, 3600.0),
            max_retries=require_at_least("max_retries", max_retries, 0),
            retry_pause=require_in_range("retry_pause", retry_pause, 0.0, 60.0),
        )
        self._indexes = Indexes(indexes, semantic=semantic_ranking)
        self._prepared = Once(self._prepare)

    @property
    def index_name(self) -> str:
        """The index that holds the chunks."""
        return self._name

    @property
    def native_only_capability(self) -> str | None:
        """`"semantic ranking"` where it is on, since only `hybrid_search` has the query's text to rank by."""
        return "semantic ranking" if self._semantic else None

    async def aclose(self) -> None:
        """Close the connections; the store cannot be used afterwards."""
        await self._documents.close()
        await self._indexes.aclose()

    async def initialize(self) -> None:
        """Make the index, or add what it lacks; done on first use by itself, once.

        Raises:
            DimensionMismatchError: The index holds vectors of another length.
            ConfigurationError: A field of the index cannot serve.
            StoreError: The service failed.
        """
        await self._prepared()

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index).

        Up to 1000 chunks or 1 MB go out at a time; where a later batch fails, the earlier ones are stored, and storing
        all again is harmless.

        Raises:
            DimensionMismatchError: A vector is of another length; nothing was stored.
            InvalidVectorError: A vector holds NaN or infinity; nothing was stored.
            InvalidInputError: A document id or a metadata entry is too long to filter by; nothing was stored.
            StoreError: The service failed, or refused a chunk.
        """
        if not chunks:
            return
        checked_vectors(chunks, self._dimensions)
        latest = {item.chunk.key: item for item in chunks}
        documents = [document_of(item) for item in latest.values()]
        names = {id_of(key): name_of(item.chunk) for key, item in latest.items()}
        await self._prepared()
        for batch in batches(documents):
            with translated(f"store {len(batch)} chunks from {names[batch[0]['id']]} on", self._name):
                outcome = await self._documents.upload_documents(batch)
            self._check_outcome(outcome, lambda key: names.get(key, key), "store")
        await asyncio.sleep(self._delay)

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first; scores are cosines.

        The service finds neighbours by HNSW, which is approximate. A zero vector has no neighbours and is none.

        Raises:
            DimensionMismatchError: The query is of another length.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: The service failed.
        """
        vector, top = checked_query(embedding, self._dimensions), options.top_k
        condition = metadata_filter(checked_filter(options))
        await self._prepared()
        if top == 0 or not vector.any():
            return []
        found = await self._query(top=top, filter=condition, **self._vector_query(vector, top))
        hits = _ranked(found, lambda hit: _cosine(hit["@search.score"]), ScoreScale.SIMILARITY)
        return [hit for hit in hits if options.min_score == 0.0 or hit.score >= options.min_score]

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the page that the service fuses from its keyword and vector search, best first.

        Scores are the service's own: sums of reciprocal ranks, or those of the semantic ranker (0 to 4). Neither is a
        similarity, so `min_score` is not applied. A text without words leaves the vector query alone, a zero vector the
        keyword query. The semantic ranker ranks at most 50 hits, and the page holds no others.

        Raises:
            InvalidInputError: Semantic ranking is on and the text is blank.
            StoreError: The service failed, or did not rank though it was asked to.
            RagError: As `search`.
        """
        vector, top = checked_query(embedding, self._dimensions), options.top_k
        condition = metadata_filter(checked_filter(options))
        if self._semantic and not text.strip():
            raise InvalidInputError("semantic ranking needs a query text, and this one is blank")
        await self._prepared()
        top = min(top, RANKED) if self._semantic else top
        query = self._text_query(text) | (self._vector_query(vector, top) if vector.any() else {})
        if top == 0 or not query:
            return []
        found = await self._query(top=top, filter=condition, **query)
        return _ranked(found, self._ranker_score if self._semantic else _fused_score, ScoreScale.BACKEND)

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; neither a document nor an index that is not there is an error.

        Raises:
            StoreError: The service failed.
        """
        from azure.core.exceptions import ResourceNotFoundError

        condition = document_filter(document_id)
        deleting = f"delete document {document_id!r}"
        with translated(deleting, self._name):
            while True:
                try:
                    found = await self._page(search_text="*", filter=condition, select=["id"], top=_PAGE)
                except ResourceNotFoundError:
                    return
                if not found:
                    return
                outcome = await self._documents.delete_documents([{"id": hit["id"]} for hit in found])
                self._check_outcome(outcome, lambda key: f"chunk {key} of document {document_id!r}", "delete")
                await asyncio.sleep(self._delay)
                if len(found) < _PAGE:
                    return

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Create an index, or add what an existing one lacks.

        Raises:
            ConfigurationError: The name is not one, `dimensions` is out of bounds, or the index cannot serve.
            DimensionMismatchError: It holds vectors of another length.
            StoreError: The service failed.
        """
        await self._indexes.create(check_name(name), check_dimensions(dimensions))

    async def delete_collection(self, name: str) -> None:
        """Drop an index with all it holds; the store's own is made again on the next use.

        Raises:
            StoreError: The service failed.
        """
        await self._indexes.drop(check_name(name))
        if name == self._name:
            self._prepared.reset()

    async def collection_exists(self, name: str) -> bool:
        """Whether the index is there.

        Raises:
            StoreError: The service failed.
        """
        return await self._indexes.exists(check_name(name))

    async def _prepare(self) -> None:
        await self._indexes.create(self._name, self._dimensions)

    def _text_query(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        query: dict[str, Any] = {"search_text": plain_text(text), "search_fields": ["text"]}
        if self._semantic:
            query |= {
                "query_type": "semantic",
                "semantic_configuration_name": SEMANTIC_CONFIGURATION,
                "semantic_query": text,
            }
        return query

    def _vector_query(self, vector: Vector, top: int) -> dict[str, Any]:
        from azure.search.documents.models import VectorizedQuery

        enough = top <= (self._neighbors_count or _DEFAULT_NEIGHBORS)
        neighbors = self._neighbors_count if enough else top
        query = VectorizedQuery(vector=vector.tolist(), k_nearest_neighbors=neighbors, fields="embedding")
        return {"vector_queries": [query], "vector_filter_mode": "preFilter"}

    async def _query(self, **query: Any) -> list[dict[str, Any]]:
        with translated("search", self._name):
            return await self._page(select=RETURNED, **query)

    async def _page(self, **query: Any) -> list[dict[str, Any]]:
        found = await self._documents.search(**query)
        return [hit async for hit in found]

    def _ranker_score(self, hit: Mapping[str, Any]) -> float:
        score = hit["@search.reranker_score"]
        if score is None:
            raise StoreError(
                f"Azure AI Search did not rank the hits of index '{self._name}' semantically: use a service of tier "
                "Basic or above with the semantic ranker enabled, in a region that has it, or turn semantic_ranking off"
            )
        return float(score)

    def _check_outcome(self, outcome: Sequence[IndexingResult], name: Callable[[str], str], action: str) -> None:
        failed = [item for item in outcome if not item.succeeded]
        if failed:
            raise StoreError(
                f"Azure AI Search did not {action} {len(failed)} of {len(outcome)} chunks (index '{self._name}'), "
                f"the first being {name(failed[0].key)} with HTTP {failed[0].status_code}: "
                "do it again, which is harmless for the others"
            )


def _fused_score(hit: Mapping[str, Any]) -> float:
    return float(hit["@search.score"])


def _cosine(score: float) -> float:
    """The cosine behind a score of a vector query, which is 1 / (1 + (1 - cosine))."""
    return min(1.0, max(-1.0, 2.0 - 1.0 / score))


def _ranked(
    found: Sequence[Mapping[str, Any]], score: Callable[[Mapping[str, Any]], float], scale: ScoreScale
) -> list[SearchResult]:
    hits = [SearchResult(chunk_of(hit), score(hit), scale) for hit in found]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.key))

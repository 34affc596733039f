"""The door: `RagPipeline` takes documents in and gives the right chunks back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from ragstone.caching import IndexGeneration
from ragstone.clock import SystemClock
from ragstone.concurrency import offload
from ragstone.errors import ConfigurationError
from ragstone.ingestion.ingestor import Ingestor, Source
from ragstone.ingestion.restore import restore
from ragstone.models import DocumentMetadata, IngestionReport, IngestionResult
from ragstone.options import (
    CachingOptions,
    IngestionOptions,
    ParentDocumentOptions,
    RetrievalOptions,
    TagRetrievalOptions,
    TimeWeightedOptions,
)
from ragstone.persistence.directory import IndexDirectory
from ragstone.ports import (
    CacheBackend,
    ChunkingStrategy,
    Clock,
    DocumentParser,
    Embedder,
    KeywordIndex,
    ParentChunkStore,
    ProgressCallback,
    SparseEmbedder,
    SparseSearchable,
    TokenCounter,
    VectorStore,
)
from ragstone.retrieval.explanation import Explanation
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.remembering import remembering
from ragstone.retrieval.retriever import Retriever
from ragstone.stores import InMemoryBm25Index, InMemoryParentChunkStore, InMemoryVectorStore
from ragstone.tags import TagIndex

__all__ = ["RagPipeline"]


@dataclass(frozen=True, slots=True)
class _Ready:
    """The parts of a pipeline that is open for work."""

    ingestor: Ingestor
    retriever: Retriever
    journal: IndexDirectory | None


class RagPipeline:
    """Documents in, the right chunks out.

    Every part can be replaced by anything that satisfies its protocol in `ragstone.ports`. Without an embedder the
    pipeline searches by keywords alone. Without a path everything lives in memory; with one it is kept in that
    directory, document by document, and loaded on first use.

    Args:
        embedder: Turns chunks and queries into vectors, such as `OnnxEmbedder.local()`.
        store: Holds the vectors; an `InMemoryVectorStore` when left out.
        keyword_index: The keyword arm; an `InMemoryBm25Index` when left out.
        chunker: Cuts documents; a `RecursiveChunker` of 512 characters with an overlap of 50 when left out.
        parsers: Read documents, the first that can reads one; those of Ragstone when left out.
        sparse_encoder: Gives chunks learned sparse vectors, such as an `OnnxSpladeEncoder`: hybrid search has a third
            arm then. The store must be `SparseSearchable`, which an `InMemoryVectorStore` is.
        parents: Cuts each document into larger parents as well, which come back in place of the chunks that were found.
        parent_store: Keeps the parents; an `InMemoryParentChunkStore` when left out.
        token_counter: Counts for `max_context_tokens`; cl100k_base when left out.
        path: The directory of an embedded index. It is made when it is not there.
        tag_retrieval: Finds metadata filters from the query; needs an embedder.
        time_weighting: Makes older chunks score lower.
        caching: Remembers vectors of texts, pages and answers.
        cache_backend: Where they are remembered beyond the process, such as `RedisCache`; its owner closes it.
        clock: Tells the time; the system's when left out.

    Raises:
        ConfigurationError: The parts do not go together.

    Example:
        >>> import asyncio
        >>> async def main() -> None:
        ...     rag = RagPipeline()
        ...     await rag.ingest_text("The quick brown fox jumps.", DocumentMetadata(document_id="fox"))
        ...     await rag.ingest_text("Paid leave is 16 weeks.", DocumentMetadata(document_id="leave"))
        ...     page = await rag.retrieve("how long is paid leave?")
        ...     print([hit.chunk.document_id for hit in page])
        >>> asyncio.run(main())
        ['leave']
    """

    def __init__(
        self,
        *,
        embedder: Embedder | None = None,
        store: VectorStore | None = None,
        keyword_index: KeywordIndex | None = None,
        chunker: ChunkingStrategy | None = None,
        parsers: Sequence[DocumentParser] | None = None,
        sparse_encoder: SparseEmbedder | None = None,
        parents: ParentDocumentOptions | None = None,
        parent_store: ParentChunkStore | None = None,
        token_counter: TokenCounter | None = None,
        path: str | PathLike[str] | None = None,
        tag_retrieval: TagRetrievalOptions | None = None,
        time_weighting: TimeWeightedOptions | None = None,
        caching: CachingOptions | None = None,
        cache_backend: CacheBackend | None = None,
        clock: Clock | None = None,
    ) -> None:
        if store is not None and embedder is None:
            raise ConfigurationError(
                f"store={type(store).__name__} needs an embedder to make its vectors: give embedder=…"
            )
        if path is not None and (store is not None or keyword_index is not None or parent_store is not None):
            raise ConfigurationError(
                "path= keeps an embedded index: leave out store=, keyword_index= and parent_store=, or leave out path="
            )
        if tag_retrieval is not None and embedder is None:
            raise ConfigurationError(
                "tag_retrieval= compares tags with the query and needs an embedder: give embedder=…"
            )
        if cache_backend is not None and caching is None:
            raise ConfigurationError("cache_backend= is where a cache is kept: give caching=CachingOptions(…) with it")
        if parent_store is not None and parents is None:
            raise ConfigurationError("parent_store= keeps the parents that parents=ParentDocumentOptions(…) asks for")
        self._embedder = embedder
        self._store = InMemoryVectorStore() if store is None and embedder is not None else store
        if sparse_encoder is not None:
            _require_sparse_search(self._store)
        self._sparse_encoder = sparse_encoder
        self._parents = parents
        self._parent_store = (
            InMemoryParentChunkStore() if parent_store is None and parents is not None else parent_store
        )
        self._keyword_index: KeywordIndex = InMemoryBm25Index() if keyword_index is None else keyword_index
        self._chunker = chunker
        self._parsers = parsers
        self._token_counter = token_counter
        self._path = None if path is None else Path(path)
        self._tag_retrieval = tag_retrieval
        self._tags = None if tag_retrieval is None or embedder is None else TagIndex(embedder)
        self._time_weighting = time_weighting
        self._caching = caching
        self._cache_backend = cache_backend
        self._clock: Clock = SystemClock() if clock is None else clock
        self._opening = asyncio.Lock()
        self._parts: _Ready | None = None
        self._closed = False

    async def ingest(
        self, source: Source, metadata: DocumentMetadata | None = None, *, options: IngestionOptions | None = None
    ) -> IngestionResult:
        """Take in one document: all of it becomes visible at once, or nothing does.

        Args:
            source: A path, the document's bytes, or an open binary file. For a text use `ingest_text`.
            metadata: Its identity, type and tags; for a path, `document_id` is the path when left out.
            options: Whether to overwrite and to skip what is unchanged.

        Raises:
            IngestionError: The document cannot be read; nothing of it was stored, and what was there before stays.
            EmbeddingError: Its chunks cannot be embedded; as above.
            StoreError: The store failed.
        """
        if metadata is None:
            if not isinstance(source, (str, PathLike)):
                raise ConfigurationError(
                    "metadata with a document_id is needed for a document that does not come from a path"
                )
            file = Path(source)
            metadata = DocumentMetadata(document_id=file.as_posix(), file_name=file.name)
        return await (await self._ready()).ingestor.ingest(source, metadata, options=options)

    async def ingest_text(
        self, text: str, metadata: DocumentMetadata, *, options: IngestionOptions | None = None
    ) -> IngestionResult:
        """Take in a text that is at hand; otherwise as `ingest`."""
        return await (await self._ready()).ingestor.ingest_text(text, metadata, options=options)

    async def ingest_many(
        self,
        sources: str | PathLike[str] | Iterable[str | PathLike[str] | tuple[Source, DocumentMetadata]],
        *,
        options: IngestionOptions | None = None,
        progress: ProgressCallback | None = None,
    ) -> IngestionReport:
        """Take in a directory, a glob or any number of documents, in bounded memory.

        A document that fails is reported and skipped; one that is unchanged is not worked on again, so that an
        interrupted run is resumed by running it again.

        Args:
            sources: A directory, a glob pattern, or an iterable of paths and of (source, metadata) pairs.
            options: As `ingest`, and how many documents are worked on at once.
            progress: Called after each document.
        """
        return await (await self._ready()).ingestor.ingest_many(sources, options=options, progress=progress)

    async def retrieve(self, query: str, options: RetrievalOptions | None = None) -> SearchPage:
        """Find the chunks that answer a query.

        Args:
            query: What the user asks, in words.
            options: What to switch on; with none, five chunks by dense similarity (by keywords without an embedder).

        Raises:
            InvalidInputError: The query is empty.
            CapabilityError: The configured parts cannot do what the options ask for.
            RagError: No arm of the search could serve.
        """
        return await (await self._ready()).retriever.retrieve(query, options or RetrievalOptions())

    async def explain(self, query: str, options: RetrievalOptions | None = None) -> Explanation:
        """Retrieve, and return the record of the call: print it to see why each chunk came and the others did not."""
        return (await self.retrieve(query, options)).explain()

    async def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether it was known. A document that is not there is no error."""
        return await (await self._ready()).ingestor.delete(document_id)

    async def aclose(self) -> None:
        """Close the index directory; the pipeline cannot be used afterwards. Closing twice is no error."""
        self._closed = True
        parts, self._parts = self._parts, None
        if parts is not None and parts.journal is not None:
            await offload(parts.journal.close)

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _ready(self) -> _Ready:
        """Open what is to be opened, once; only success is remembered."""
        if self._parts is not None:
            return self._parts
        async with self._opening:
            if self._closed:
                raise ConfigurationError("this pipeline is closed: make a new one")
            if self._parts is None:
                self._parts = await self._open()
            return self._parts

    async def _open(self) -> _Ready:
        if self._store is not None:
            await self._store.initialize()
        journal = None
        if self._path is not None:
            journal = await offload(self._open_directory, self._path)
            try:
                await restore(
                    journal.load(),
                    store=self._store,
                    keyword_index=self._keyword_index,
                    sparse_encoder=self._sparse_encoder,
                    parents=self._parent_store,
                    tags=self._tags,
                )
            except BaseException:
                await offload(journal.close)
                raise
        generation = IndexGeneration(None if journal is None else journal.revision)
        ingestor = Ingestor(
            store=self._store,
            keyword_index=self._keyword_index,
            embedder=self._embedder,
            parsers=self._parsers,
            chunker=self._chunker,
            journal=journal,
            sparse_encoder=self._sparse_encoder,
            parents=self._parents,
            parent_store=self._parent_store,
            tags=self._tags,
            generation=generation,
        )
        return _Ready(ingestor, Retriever(await self._retrieval_parts(generation)), journal)

    async def _retrieval_parts(self, generation: IndexGeneration) -> RetrievalParts:
        parts = RetrievalParts(
            store=self._store,
            keyword_index=self._keyword_index,
            embedder=self._embedder,
            sparse_encoder=self._sparse_encoder,
            parents=self._parent_store,
            token_counter=self._token_counter,
            tag_retrieval=self._tag_retrieval,
            tags=self._tags,
            time_weighting=self._time_weighting,
            clock=self._clock,
        )
        if self._caching is None:
            return parts
        return await remembering(parts, self._caching, generation=generation, backend=self._cache_backend)

    def _open_directory(self, path: Path) -> IndexDirectory:
        embedder = self._embedder
        return IndexDirectory.open(
            path,
            embedder_identity=None if embedder is None else embedder.identity,
            dimensions=None if embedder is None else embedder.dimensions,
        )


def _require_sparse_search(store: VectorStore | None) -> None:
    if store is None:
        raise ConfigurationError(
            "sparse_encoder= makes the third arm of hybrid search, which needs an embedder: give embedder=…"
        )
    if not isinstance(store, SparseSearchable):
        raise ConfigurationError(
            f"sparse_encoder= needs a store that searches sparse vectors, and {type(store).__name__} does not: "
            "take another store, or leave out sparse_encoder="
        )

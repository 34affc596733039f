"""Putting a pipeline together: its parts, checked as a whole, and what they become once it opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragstone.answering.engine import AnswerEngine
from ragstone.caching import CachingChat, CachingEmbedder, IndexGeneration, TwoLevelCache
from ragstone.clock import SystemClock
from ragstone.concurrency import offload
from ragstone.errors import ConfigurationError
from ragstone.ingestion.ingestor import Ingestor
from ragstone.ingestion.restore import restore
from ragstone.options import (
    CachingOptions,
    CompressionOptions,
    DeepResearchOptions,
    HydeOptions,
    MultiQueryOptions,
    ParentDocumentOptions,
    TagRetrievalOptions,
    TimeWeightedOptions,
)
from ragstone.persistence.directory import IndexDirectory
from ragstone.ports import (
    CacheBackend,
    ChatClient,
    ChunkingStrategy,
    Clock,
    Compressor,
    DocumentParser,
    Embedder,
    KeywordIndex,
    ParentChunkStore,
    PromptObserver,
    Reranker,
    RetrievalGuard,
    SparseEmbedder,
    SparseSearchable,
    TokenCounter,
    VectorStore,
    WebSearch,
)
from ragstone.retrieval.codec import CandidatesCodec
from ragstone.retrieval.identity import pipeline_identity
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from ragstone.retrieval.stages.result_cache import PageMemory
from ragstone.stores import InMemoryBm25Index, InMemoryParentChunkStore, InMemoryVectorStore
from ragstone.tags import TagIndex

__all__ = ["OpenPipeline", "PipelineParts"]


@dataclass(frozen=True, slots=True)
class OpenPipeline:
    """What a pipeline works with while it is open."""

    ingestor: Ingestor
    retriever: Retriever
    answers: AnswerEngine | None
    journal: IndexDirectory | None


@dataclass(slots=True, kw_only=True)
class PipelineParts:
    """Everything that a pipeline was given, as `RagPipeline` documents it, with defaults for what was left out.

    Raises:
        ConfigurationError: The parts do not go together; names each of them.
    """

    embedder: Embedder | None
    store: VectorStore | None
    keyword_index: KeywordIndex | None
    sparse_encoder: SparseEmbedder | None
    chunker: ChunkingStrategy | None
    parsers: Sequence[DocumentParser] | None
    parents: ParentDocumentOptions | None
    parent_store: ParentChunkStore | None
    chat: ChatClient | None
    hyde: HydeOptions | None
    multi_query: MultiQueryOptions | None
    deep_research: DeepResearchOptions | None
    tag_retrieval: TagRetrievalOptions | None
    time_weighting: TimeWeightedOptions | None
    reranker: Reranker | None
    guards: tuple[RetrievalGuard, ...]
    web_search: WebSearch | None
    compression: CompressionOptions | None
    compressor: Compressor | None
    caching: CachingOptions | None
    cache_backend: CacheBackend | None
    observers: tuple[PromptObserver, ...]
    token_counter: TokenCounter | None
    clock: Clock | None
    path: Path | None
    tags: TagIndex | None = field(default=None, init=False)
    index: KeywordIndex = field(init=False)

    def __post_init__(self) -> None:
        self._check_path()
        self._check_partners()
        if self.store is None and self.embedder is not None:
            self.store = InMemoryVectorStore()
        if self.sparse_encoder is not None:
            _require_sparse_search(self.store)
        if self.parent_store is None and self.parents is not None:
            self.parent_store = InMemoryParentChunkStore()
        if self.tag_retrieval is not None and self.embedder is not None:
            self.tags = TagIndex(self.embedder)
        self.index = InMemoryBm25Index() if self.keyword_index is None else self.keyword_index

    def _check_path(self) -> None:
        if self.path is None:
            return
        kept = {"store": self.store, "keyword_index": self.keyword_index, "parent_store": self.parent_store}
        given = [f"{name}=" for name, part in kept.items() if part is not None]
        if given:
            raise ConfigurationError(
                f"path= keeps an embedded index with stores of its own: leave out {' and '.join(given)}, or path="
            )

    def _check_partners(self) -> None:
        """Refuse what is given without the part that it works with."""
        _require("an embedder", self.embedder, "embedder", store=self.store, tag_retrieval=self.tag_retrieval)
        _require("an embedder", self.embedder, "embedder", hyde=self.hyde)
        asking = {"hyde": self.hyde, "multi_query": self.multi_query, "deep_research": self.deep_research}
        _require("a chat model", self.chat, "chat", **asking)
        _require("the options of parents", self.parents, "parents", parent_store=self.parent_store)
        _require("the options of a cache", self.caching, "caching", cache_backend=self.cache_backend)
        self._check_compression()

    def _check_compression(self) -> None:
        options = self.compression
        if options is None:
            return
        if self.compressor is not None:
            raise ConfigurationError(
                "compression= configures Ragstone's compressors and compressor= is your own: give one"
            )
        if options.strategy == "extractive" and self.embedder is None:
            raise ConfigurationError("compression= with strategy='extractive' needs an embedder: give embedder=…")
        if options.strategy == "abstractive" and self.chat is None:
            raise ConfigurationError("compression= with strategy='abstractive' needs a chat model: give chat=…")

    async def open(self) -> OpenPipeline:
        """Prepare the store, load the index directory, and put everything together.

        Raises:
            StoreError: The store could not be prepared.
            PersistenceError: The index directory could not be opened.
        """
        if self.store is not None:
            await self.store.initialize()
        journal = None if self.path is None else await self._load(self.path)
        generation = IndexGeneration(None if journal is None else journal.revision)
        ingestor = Ingestor(
            store=self.store,
            keyword_index=self.index,
            embedder=self.embedder,
            parsers=self.parsers,
            chunker=self.chunker,
            journal=journal,
            sparse_encoder=self.sparse_encoder,
            parents=self.parents,
            parent_store=self.parent_store,
            tags=self.tags,
            generation=generation,
        )
        retriever = Retriever(await self._remembering(self.for_retrieval(), generation))
        return OpenPipeline(ingestor, retriever, self._answers(retriever), journal)

    def _answers(self, retriever: Retriever) -> AnswerEngine | None:
        chat, options = self.chat, self.caching
        if chat is None:
            return None
        if options is not None and options.answer_ttl is not None:
            chat = CachingChat(
                chat,
                ttl=options.answer_ttl,
                max_entries=options.max_entries,
                clock=self._clock,
                backend=self.cache_backend,
            )
        return AnswerEngine(retriever.retrieve, chat, self.observers)

    def for_retrieval(self) -> RetrievalParts:
        """Return the parts that retrieval works with, caches left out."""
        return RetrievalParts(
            store=self.store,
            keyword_index=self.index,
            embedder=self.embedder,
            sparse_encoder=self.sparse_encoder,
            parents=self.parent_store,
            token_counter=self.token_counter,
            chat=self.chat,
            hyde=self.hyde,
            multi_query=self.multi_query,
            deep_research=self.deep_research,
            tag_retrieval=self.tag_retrieval,
            tags=self.tags,
            time_weighting=self.time_weighting,
            clock=self._clock,
            reranker=self.reranker,
            guards=self.guards,
            web_search=self.web_search,
            compression=self.compression,
            compressor=self.compressor,
        )

    @property
    def _clock(self) -> Clock:
        return SystemClock() if self.clock is None else self.clock

    async def _load(self, path: Path) -> IndexDirectory:
        journal = await offload(self._open_directory, path)
        try:
            await restore(
                journal.load(),
                store=self.store,
                keyword_index=self.index,
                sparse_encoder=self.sparse_encoder,
                parents=self.parent_store,
                tags=self.tags,
            )
        except BaseException:
            await offload(journal.close)
            raise
        return journal

    def _open_directory(self, path: Path) -> IndexDirectory:
        embedder = self.embedder
        return IndexDirectory.open(
            path,
            embedder_identity=None if embedder is None else embedder.identity,
            dimensions=None if embedder is None else embedder.dimensions,
        )

    async def _remembering(self, parts: RetrievalParts, generation: IndexGeneration) -> RetrievalParts:
        """The parts with the caches that are asked for."""
        options = self.caching
        if options is None:
            return parts
        if parts.embedder is not None and options.embedding_ttl is not None:
            embedder = CachingEmbedder(
                parts.embedder,
                ttl=options.embedding_ttl,
                max_entries=options.max_entries,
                clock=self._clock,
                backend=self.cache_backend,
            )
            parts = replace(parts, caching_embedder=embedder)
        if options.result_ttl is not None:
            cache = TwoLevelCache(
                CandidatesCodec(),
                ttl=options.result_ttl,
                max_entries=options.max_entries,
                clock=self._clock,
                backend=self.cache_backend,
            )
            identity = await offload(pipeline_identity, parts, generation.instance)
            parts = replace(parts, pages=PageMemory(cache, generation, identity))
        return parts


def _require(what: str, part: object, keyword: str, **dependents: object) -> None:
    for dependent, given in dependents.items():
        if given is not None and part is None:
            raise ConfigurationError(
                f"{dependent}={type(given).__name__}(…) needs {what}: give {keyword}=…, or leave out {dependent}="
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

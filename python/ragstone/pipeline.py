"""The door: `RagPipeline` takes documents in and gives the right chunks back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ragstone.concurrency import offload
from ragstone.errors import ConfigurationError
from ragstone.ingestion.ingestor import Ingestor, Source
from ragstone.models import DocumentMetadata, EmbeddedChunk, IngestionReport, IngestionResult, StoredDocument
from ragstone.options import (
    DeepResearchOptions,
    HydeOptions,
    IngestionOptions,
    MultiQueryOptions,
    RagOptions,
    RetrievalOptions,
)
from ragstone.persistence.directory import IndexDirectory
from ragstone.ports import (
    ChatClient,
    ChunkingStrategy,
    DocumentParser,
    Embedder,
    KeywordIndex,
    ProgressCallback,
    TokenCounter,
    VectorStore,
)
from ragstone.retrieval.explanation import Explanation
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.planning import PlannedStage, RetrievalPlan
from ragstone.retrieval.retriever import Retriever
from ragstone.stores.memory import InMemoryBm25Index, InMemoryVectorStore

__all__ = ["RagPipeline"]

_LOAD_BATCH: Final = 256


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
        token_counter: Counts for `max_context_tokens`; cl100k_base when left out.
        chat: The chat model that the techniques ask.
        hyde: Searches with hypothetical answers in place of the query; needs `chat` and `embedder`.
        multi_query: Searches for other phrasings of the query as well; needs `chat`.
        deep_research: Searches for sub-queries until the page suffices; needs `chat`.
        path: The directory of an embedded index. It is made when it is not there.

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
        token_counter: TokenCounter | None = None,
        chat: ChatClient | None = None,
        hyde: HydeOptions | None = None,
        multi_query: MultiQueryOptions | None = None,
        deep_research: DeepResearchOptions | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        if store is not None and embedder is None:
            raise ConfigurationError(
                f"store={type(store).__name__} needs an embedder to make its vectors: give embedder=…"
            )
        if path is not None and (store is not None or keyword_index is not None):
            raise ConfigurationError(
                "path= keeps an embedded index: leave out store= and keyword_index=, or leave out path="
            )
        _require("chat", chat, hyde=hyde, multi_query=multi_query, deep_research=deep_research)
        _require("embedder", embedder, hyde=hyde)
        self._embedder = embedder
        self._store = InMemoryVectorStore() if store is None and embedder is not None else store
        self._keyword_index: KeywordIndex = InMemoryBm25Index() if keyword_index is None else keyword_index
        self._chunker = chunker
        self._parsers = parsers
        self._token_counter = token_counter
        self._chat = chat
        self._hyde = hyde
        self._multi_query = multi_query
        self._deep_research = deep_research
        self._path = None if path is None else Path(path)
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

    def plan(self, options: RetrievalOptions | None = None) -> RetrievalPlan:
        """Say what a call with these options will do and cost at most, without doing it. Print it for a table.

        `RagOptions` plan an answer: a retrieval, and the request for the answer around it.

        Raises:
            CapabilityError: The configured parts cannot do what the options ask for.
            ConfigurationError: `RagOptions`, and there is no chat model to ask.
        """
        plan = Retriever(self._retrieval_parts()).plan(options or RetrievalOptions())
        if not isinstance(options, RagOptions):
            return plan
        if self._chat is None:
            raise ConfigurationError("RagOptions plan an answer, which needs a chat model: give the pipeline chat=…")
        return plan.surrounded(PlannedStage(name="ask", llm_calls=1))

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
                await self._load(journal)
            except BaseException:
                await offload(journal.close)
                raise
        ingestor = Ingestor(
            store=self._store,
            keyword_index=self._keyword_index,
            embedder=self._embedder,
            parsers=self._parsers,
            chunker=self._chunker,
            journal=journal,
        )
        return _Ready(ingestor, Retriever(self._retrieval_parts()), journal)

    def _retrieval_parts(self) -> RetrievalParts:
        return RetrievalParts(
            store=self._store,
            keyword_index=self._keyword_index,
            embedder=self._embedder,
            token_counter=self._token_counter,
            chat=self._chat,
            hyde=self._hyde,
            multi_query=self._multi_query,
            deep_research=self._deep_research,
        )

    def _open_directory(self, path: Path) -> IndexDirectory:
        embedder = self._embedder
        return IndexDirectory.open(
            path,
            embedder_identity=None if embedder is None else embedder.identity,
            dimensions=None if embedder is None else embedder.dimensions,
        )

    async def _load(self, journal: IndexDirectory) -> None:
        documents = journal.load()
        while batch := await offload(_take, documents):
            chunks = [chunk for document in batch for chunk in document.chunks]
            await offload(self._keyword_index.add, chunks)
            if self._store is not None:
                await self._store.store([embedded for document in batch for embedded in _embedded(document)])


def _require(field: str, part: object, **techniques: object) -> None:
    """Refuse techniques that are configured without the part that they work with."""
    for name, options in techniques.items():
        if options is not None and part is None:
            raise ConfigurationError(
                f"{name}={type(options).__name__}(…) needs {field}=…: give it, or leave {name} out"
            )


def _take(documents: Iterator[StoredDocument]) -> list[StoredDocument]:
    return list(islice(documents, _LOAD_BATCH))


def _embedded(document: StoredDocument) -> Iterator[EmbeddedChunk]:
    if document.vectors is not None:
        yield from (
            EmbeddedChunk(chunk, vector) for chunk, vector in zip(document.chunks, document.vectors, strict=True)
        )

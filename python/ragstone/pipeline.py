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
from ragstone.options import CompressionOptions, IngestionOptions, RetrievalOptions
from ragstone.persistence.directory import IndexDirectory
from ragstone.ports import (
    ChatClient,
    ChunkingStrategy,
    Compressor,
    DocumentParser,
    Embedder,
    KeywordIndex,
    ProgressCallback,
    Reranker,
    RetrievalGuard,
    TokenCounter,
    VectorStore,
    WebSearch,
)
from ragstone.retrieval.explanation import Explanation
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.parts import RetrievalParts
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
        path: The directory of an embedded index. It is made when it is not there.
        chat: The chat model that grades results for corrective retrieval and writes abstracts.
        reranker: Scores the best candidates of a call anew, such as `OnnxReranker`.
        guards: See the candidates before they are reranked, and may drop any, such as `RequiredRolesGuard`.
        web_search: What corrective retrieval (`use_crag`) searches, such as `TavilyWebSearch`.
        compression: Reduces the chunks that a model reads to what bears on the query.
        compressor: Your own compressor, in place of those that `compression` configures.

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
        path: str | PathLike[str] | None = None,
        chat: ChatClient | None = None,
        reranker: Reranker | None = None,
        guards: Sequence[RetrievalGuard] = (),
        web_search: WebSearch | None = None,
        compression: CompressionOptions | None = None,
        compressor: Compressor | None = None,
    ) -> None:
        if store is not None and embedder is None:
            raise ConfigurationError(
                f"store={type(store).__name__} needs an embedder to make its vectors: give embedder=…"
            )
        if path is not None and (store is not None or keyword_index is not None):
            raise ConfigurationError(
                "path= keeps an embedded index: leave out store= and keyword_index=, or leave out path="
            )
        _check_compression(compression, compressor, embedder, chat)
        self._embedder = embedder
        self._store = InMemoryVectorStore() if store is None and embedder is not None else store
        self._keyword_index: KeywordIndex = InMemoryBm25Index() if keyword_index is None else keyword_index
        self._chunker = chunker
        self._parsers = parsers
        self._token_counter = token_counter
        self._chat = chat
        self._reranker = reranker
        self._guards = tuple(guards)
        self._web_search = web_search
        self._compression = compression
        self._compressor = compressor
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
        retriever = Retriever(
            RetrievalParts(
                store=self._store,
                keyword_index=self._keyword_index,
                embedder=self._embedder,
                token_counter=self._token_counter,
                chat=self._chat,
                reranker=self._reranker,
                guards=self._guards,
                web_search=self._web_search,
                compression=self._compression,
                compressor=self._compressor,
            )
        )
        return _Ready(ingestor, retriever, journal)

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


def _check_compression(
    options: CompressionOptions | None,
    own: Compressor | None,
    embedder: Embedder | None,
    chat: ChatClient | None,
) -> None:
    if options is None:
        return
    if own is not None:
        raise ConfigurationError("compression= configures Ragstone's compressors and compressor= is your own: give one")
    if options.strategy == "extractive" and embedder is None:
        raise ConfigurationError("compression= with strategy='extractive' needs an embedder: give embedder=…")
    if options.strategy == "abstractive" and chat is None:
        raise ConfigurationError("compression= with strategy='abstractive' needs a chat model: give chat=…")


def _take(documents: Iterator[StoredDocument]) -> list[StoredDocument]:
    return list(islice(documents, _LOAD_BATCH))


def _embedded(document: StoredDocument) -> Iterator[EmbeddedChunk]:
    if document.vectors is not None:
        yield from (
            EmbeddedChunk(chunk, vector) for chunk, vector in zip(document.chunks, document.vectors, strict=True)
        )

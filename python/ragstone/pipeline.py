"""The door: `RagPipeline` takes documents in, gives the right chunks back, and has questions answered from them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from os import PathLike
from pathlib import Path
from typing import Final, Self

from ragstone.answering.engine import AnswerEngine
from ragstone.answering.response import RagResponse, RagStreamingUpdate
from ragstone.assembly import OpenPipeline, PipelineParts
from ragstone.closing import Closing
from ragstone.concurrency import offload
from ragstone.diagnostics import TraceStore, record
from ragstone.errors import CapabilityError, ConfigurationError
from ragstone.ingestion.ingestor import Source
from ragstone.models import DocumentMetadata, IngestionReport, IngestionResult
from ragstone.options import (
    CachingOptions,
    CompressionOptions,
    DeepResearchOptions,
    HydeOptions,
    IngestionOptions,
    MultiQueryOptions,
    ParentDocumentOptions,
    RagOptions,
    RetrievalOptions,
    TagRetrievalOptions,
    TimeWeightedOptions,
)
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
    ProgressCallback,
    PromptObserver,
    Reranker,
    RetrievalGuard,
    SparseEmbedder,
    TokenCounter,
    VectorStore,
    WebSearch,
)
from ragstone.retrieval.explanation import Explanation
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.planning import PlannedStage, RetrievalPlan
from ragstone.retrieval.retriever import Retriever

__all__ = ["RagPipeline"]

_NO_CHAT: Final = "asking needs a chat model: give the pipeline chat=…, such as OpenAIChat(…)"


class RagPipeline(Closing):
    """Documents in, the right chunks out, and answers from them.

    Every part can be replaced by anything that satisfies its protocol in `ragstone.ports`. Without an embedder the
    pipeline searches by keywords alone. Without a path everything lives in memory; with one it is kept in that
    directory, document by document, and loaded on first use.

    Args:
        embedder: Turns chunks and queries into vectors, such as `OnnxEmbedder.local()`.
        store: Holds the vectors; an `InMemoryVectorStore` when left out.
        keyword_index: The keyword arm; an `InMemoryBm25Index` when left out.
        sparse_encoder: Gives chunks learned sparse vectors, such as an `OnnxSpladeEncoder`: hybrid search has a third
            arm then. The store must be `SparseSearchable`, which an `InMemoryVectorStore` is.
        chunker: Cuts documents; a `RecursiveChunker` of 512 characters with an overlap of 50 when left out.
        parsers: Read documents, the first that can reads one; those of Ragstone when left out.
        parents: Cuts each document into larger parents as well, which come back in place of the chunks that were found.
        parent_store: Keeps the parents; an `InMemoryParentChunkStore` when left out.
        chat: The model that answers `ask` and serves the techniques that need one, such as an `OpenAIChat`.
        hyde: Searches with hypothetical answers in place of the query; needs `chat` and `embedder`.
        multi_query: Searches for other phrasings of the query as well; needs `chat`.
        deep_research: Searches for sub-queries until the page suffices; needs `chat`.
        tag_retrieval: Finds metadata filters from the query; needs an embedder.
        time_weighting: Makes older chunks score lower.
        reranker: Scores the best candidates of a call anew, such as `OnnxReranker`.
        guards: See the candidates before they are reranked, and may drop any, such as `RequiredRolesGuard`.
        web_search: What corrective retrieval (`use_crag`) searches, such as `TavilyWebSearch`.
        compression: Reduces the chunks that a model reads to what bears on the query.
        compressor: Your own compressor, in place of those that `compression` configures.
        caching: Remembers vectors of texts, pages and answers.
        cache_backend: Where they are remembered beyond the process, such as `RedisCache`; its owner closes it.
        observers: See what the model is asked, just before each call.
        traces: Keeps a trace of each request.
        token_counter: Counts for `max_context_tokens`; cl100k_base when left out.
        clock: Tells the time; the system's when left out.
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
        sparse_encoder: SparseEmbedder | None = None,
        chunker: ChunkingStrategy | None = None,
        parsers: Sequence[DocumentParser] | None = None,
        parents: ParentDocumentOptions | None = None,
        parent_store: ParentChunkStore | None = None,
        chat: ChatClient | None = None,
        hyde: HydeOptions | None = None,
        multi_query: MultiQueryOptions | None = None,
        deep_research: DeepResearchOptions | None = None,
        tag_retrieval: TagRetrievalOptions | None = None,
        time_weighting: TimeWeightedOptions | None = None,
        reranker: Reranker | None = None,
        guards: Sequence[RetrievalGuard] = (),
        web_search: WebSearch | None = None,
        compression: CompressionOptions | None = None,
        compressor: Compressor | None = None,
        caching: CachingOptions | None = None,
        cache_backend: CacheBackend | None = None,
        observers: Sequence[PromptObserver] = (),
        traces: TraceStore | None = None,
        token_counter: TokenCounter | None = None,
        clock: Clock | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        self._parts = PipelineParts(
            embedder=embedder,
            store=store,
            keyword_index=keyword_index,
            sparse_encoder=sparse_encoder,
            chunker=chunker,
            parsers=parsers,
            parents=parents,
            parent_store=parent_store,
            chat=chat,
            hyde=hyde,
            multi_query=multi_query,
            deep_research=deep_research,
            tag_retrieval=tag_retrieval,
            time_weighting=time_weighting,
            reranker=reranker,
            guards=tuple(guards),
            web_search=web_search,
            compression=compression,
            compressor=compressor,
            caching=caching,
            cache_backend=cache_backend,
            observers=tuple(observers),
            token_counter=token_counter,
            clock=clock,
            path=None if path is None else Path(path),
        )
        self._traces = traces
        self._opening = asyncio.Lock()
        self._open: OpenPipeline | None = None
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
        with record(self._traces, "retrieve", query) as recording:
            retriever = (await self._ready()).retriever
            recording.page = page = await retriever.retrieve(query, options or RetrievalOptions())
            return page

    async def ask(self, query: str, options: RagOptions | None = None) -> RagResponse:
        """Answer a question from what `retrieve` finds.

        Args:
            query: What the user asks, in words.
            options: What retrieval switches on, and how the model is asked.

        Raises:
            CapabilityError: The pipeline has no chat model.
            ChatError: The model failed or gave no answer.
            RagError: As `retrieve`.
        """
        with record(self._traces, "ask", query) as recording:
            return await (await self._answers()).ask(query, options or RagOptions(), recording)

    async def ask_streaming(
        self, query: str, options: RagOptions | None = None
    ) -> AsyncGenerator[RagStreamingUpdate, None]:
        """Answer piece by piece: first the sources, then text, last the whole response.

        A caller that stops early closes the generator, with `aclose()` or `contextlib.aclosing`: the model's stream has
        ended when that returns.

        Raises:
            RagError: As `ask`.
        """
        with record(self._traces, "ask_streaming", query) as recording:
            engine = await self._answers()
            async with aclosing(engine.ask_streaming(query, options or RagOptions(), recording)) as updates:
                async for update in updates:
                    yield update

    async def explain(self, query: str, options: RetrievalOptions | None = None) -> Explanation:
        """Retrieve, and return the record of the call: print it to see why each chunk came and the others did not."""
        return (await self.retrieve(query, options)).explain()

    def plan(self, options: RetrievalOptions | None = None) -> RetrievalPlan:
        """Say what a call with these options will do and cost at most, without doing it. Print it for a table.

        `RagOptions` plan an answer: a retrieval, and the request for the answer around it. A cache of pages
        costs nothing and is listed once the pipeline is open.

        Raises:
            CapabilityError: The configured parts cannot do what the options ask for, or there is no chat model to ask.
        """
        asking = isinstance(options, RagOptions)
        retriever = Retriever(self._parts.for_retrieval()) if self._open is None else self._open.retriever
        plan = retriever.plan(options or RetrievalOptions(), asking=asking)
        if not asking:
            return plan
        if self._parts.chat is None:
            raise CapabilityError(_NO_CHAT)
        return plan.surrounded(PlannedStage(name="ask", llm_calls=1))

    async def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether it was known. A document that is not there is no error."""
        return await (await self._ready()).ingestor.delete(document_id)

    async def aclose(self) -> None:
        """Close the index directory; the pipeline cannot be used afterwards. Closing twice is no error."""
        self._closed = True
        opened, self._open = self._open, None
        if opened is not None and opened.journal is not None:
            await offload(opened.journal.close)

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def _answers(self) -> AnswerEngine:
        answers = (await self._ready()).answers
        if answers is None:
            raise CapabilityError(_NO_CHAT)
        return answers

    async def _ready(self) -> OpenPipeline:
        """Open what is to be opened, once; only success is remembered."""
        if self._open is not None:
            return self._open
        async with self._opening:
            if self._closed:
                raise ConfigurationError("this pipeline is closed: make a new one")
            if self._open is None:
                self._open = await self._parts.open()
            return self._open

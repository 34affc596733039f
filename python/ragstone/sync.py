"""A synchronous face for scripts and notebooks: the same pipeline, driven by an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable
from os import PathLike
from types import TracebackType
from typing import Any, Self, TypeVar

from ragstone.answering.response import RagResponse, RagStreamingUpdate
from ragstone.errors import ConfigurationError
from ragstone.ingestion.ingestor import Source
from ragstone.models import DocumentMetadata, IngestionReport, IngestionResult
from ragstone.options import IngestionOptions, RagOptions, RetrievalOptions
from ragstone.pipeline import RagPipeline
from ragstone.ports import ProgressCallback
from ragstone.retrieval.explanation import Explanation
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.planning import RetrievalPlan

__all__ = ["SyncPipeline", "sync"]

_T = TypeVar("_T")


class SyncPipeline:
    """A `RagPipeline` whose methods block: use it as `with sync(rag) as r: …`, also where an event loop runs already.

    Each method does what its namesake on `RagPipeline` does. Ctrl-C and any other exception in the waiting thread
    cancel the work that is under way.
    """

    def __init__(self, pipeline: RagPipeline) -> None:
        self._pipeline = pipeline
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ragstone-sync", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._loop is not None:
                self._run(self._loop.shutdown_asyncgens())
            self._run(self._pipeline.aclose())
        finally:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            if loop is not None and thread is not None:
                asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
                loop.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._loop is None:
            work.close()
            raise ConfigurationError("a synchronous pipeline works inside its with block:  with sync(rag) as r: …")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def ingest(
        self, source: Source, metadata: DocumentMetadata | None = None, *, options: IngestionOptions | None = None
    ) -> IngestionResult:
        """See `RagPipeline.ingest`."""
        return self._run(self._pipeline.ingest(source, metadata, options=options))

    def ingest_text(
        self, text: str, metadata: DocumentMetadata, *, options: IngestionOptions | None = None
    ) -> IngestionResult:
        """See `RagPipeline.ingest_text`."""
        return self._run(self._pipeline.ingest_text(text, metadata, options=options))

    def ingest_many(
        self,
        sources: str | PathLike[str] | Iterable[str | PathLike[str] | tuple[Source, DocumentMetadata]],
        *,
        options: IngestionOptions | None = None,
        progress: ProgressCallback | None = None,
    ) -> IngestionReport:
        """See `RagPipeline.ingest_many`; `progress` is called in the loop's thread."""
        return self._run(self._pipeline.ingest_many(sources, options=options, progress=progress))

    def retrieve(self, query: str, options: RetrievalOptions | None = None) -> SearchPage:
        """See `RagPipeline.retrieve`."""
        return self._run(self._pipeline.retrieve(query, options))

    def explain(self, query: str, options: RetrievalOptions | None = None) -> Explanation:
        """See `RagPipeline.explain`."""
        return self._run(self._pipeline.explain(query, options))

    def plan(self, options: RetrievalOptions | None = None) -> RetrievalPlan:
        """See `RagPipeline.plan`."""
        return self._pipeline.plan(options)

    def ask(self, query: str, options: RagOptions | None = None) -> RagResponse:
        """See `RagPipeline.ask`."""
        return self._run(self._pipeline.ask(query, options))

    def ask_streaming(self, query: str, options: RagOptions | None = None) -> Generator[RagStreamingUpdate, None, None]:
        """See `RagPipeline.ask_streaming`; a caller that stops early calls `close()`."""
        updates, turn = self._pipeline.ask_streaming(query, options), asyncio.Lock()
        try:
            while (update := self._run(_next(updates, turn))) is not None:
                yield update
        finally:
            if self._loop is not None:
                self._run(_close(updates, turn))

    def delete(self, document_id: str) -> bool:
        """See `RagPipeline.delete`."""
        return self._run(self._pipeline.delete(document_id))


# A step that Ctrl-C cancelled may still be unwinding when the stream is closed: the two take turns.
async def _next(updates: AsyncGenerator[RagStreamingUpdate, None], turn: asyncio.Lock) -> RagStreamingUpdate | None:
    async with turn:
        return await anext(updates, None)


async def _close(updates: AsyncGenerator[RagStreamingUpdate, None], turn: asyncio.Lock) -> None:
    async with turn:
        await updates.aclose()


def sync(pipeline: RagPipeline) -> SyncPipeline:
    """Wrap a pipeline for synchronous use; leaving the `with` block closes it.

    Example:
        >>> import ragstone as rs
        >>> with rs.sync(rs.RagPipeline()) as rag:
        ...     _ = rag.ingest_text("Paid leave is 16 weeks.", rs.DocumentMetadata(document_id="leave"))
        ...     print(rag.retrieve("paid leave")[0].chunk.text)
        Paid leave is 16 weeks.
    """
    return SyncPipeline(pipeline)

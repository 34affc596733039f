"""The ingestor: documents in, whole or not at all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

from ragstone.caching.generation import IndexGeneration
from ragstone.concurrency import offload
from ragstone.errors import ConfigurationError, DocumentExistsError, InvalidInputError
from ragstone.faults import described, tried
from ragstone.ingestion import steps
from ragstone.ingestion.batch import Batch
from ragstone.ingestion.chunking.recursive import RecursiveChunker
from ragstone.ingestion.commit import Committer
from ragstone.ingestion.fingerprint import fingerprint
from ragstone.ingestion.listing import ManySources
from ragstone.ingestion.parsers.registry import ParserRegistry, default_parsers
from ragstone.ingestion.sources import Source, load
from ragstone.ingestion.steps import SourceDocument
from ragstone.models import DocumentMetadata, IngestionReport, IngestionResult, IngestionStatus
from ragstone.observability.tracing import span
from ragstone.options import IngestionOptions, ParentDocumentOptions
from ragstone.ports import (
    ChunkingStrategy,
    DocumentJournal,
    DocumentParser,
    Embedder,
    KeywordIndex,
    ParentChunkStore,
    ProgressCallback,
    SparseEmbedder,
    SparseSearchable,
    VectorStore,
)
from ragstone.tags import TagIndex

__all__ = ["Ingestor", "ManySources", "Source"]

_log = logging.getLogger(__name__)


class Ingestor:
    """Takes documents in: reads, cuts, describes, embeds and commits them.

    A document is one unit of work. Everything that can fail comes before its first trace is written, and what is
    written is undone where a later write fails. Of two ingestions of one id at the same time, one comes after the
    other; the last one wins whole. Cancellation stops the work at once, except for the write of a finished document,
    which is short and runs to its end first: the document is then there, or it is not, never in part. An ingestor
    serves one event loop.

    Args:
        store: Takes the vectors; `None` without an embedder.
        keyword_index: Takes the texts.
        embedder: Makes the vectors; without one, documents are found by keywords alone.
        parsers: The first that can read a document reads it; `default_parsers()` when left out.
        chunker: Cuts; a `RecursiveChunker` when left out.
        journal: Keeps documents beyond the process.
        sparse_encoder: Makes learned sparse vectors, which the store takes with the others.
        parents: Cuts each document a second time, into parents.
        parent_store: Takes them.
        tags: Learns the documents' tags and has their values embedded; a document whose tags cannot be embedded is
            taken in all the same.
        generation: Learns when the indexes change.

    Raises:
        ConfigurationError: An embedder or an encoder without a store for its vectors, parents without a store, or no
            parser at all.
    """

    def __init__(
        self,
        *,
        store: VectorStore | None,
        keyword_index: KeywordIndex,
        embedder: Embedder | None,
        parsers: Sequence[DocumentParser] | None = None,
        chunker: ChunkingStrategy | None = None,
        journal: DocumentJournal | None = None,
        sparse_encoder: SparseEmbedder | None = None,
        parents: ParentDocumentOptions | None = None,
        parent_store: ParentChunkStore | None = None,
        tags: TagIndex | None = None,
        generation: IndexGeneration | None = None,
    ) -> None:
        if embedder is not None and store is None:
            raise ConfigurationError(
                "an embedder needs a store for its vectors: give store=…, or leave out the embedder"
            )
        if sparse_encoder is not None and not isinstance(store, SparseSearchable):
            raise ConfigurationError("a sparse_encoder needs a store that searches sparse vectors")
        if (parents is None) != (parent_store is None):
            raise ConfigurationError("parents and parent_store go together: give both, or neither")
        if parsers is not None and not parsers:
            raise ConfigurationError("parsers must name at least one parser; leave it out for those of Ragstone")
        self._embedder = embedder
        self._registry = ParserRegistry(tuple(default_parsers() if parsers is None else parsers))
        self._chunker: ChunkingStrategy = RecursiveChunker() if chunker is None else chunker
        self._sparse_encoder: SparseEmbedder | None = sparse_encoder
        self._parent_chunker = (
            None
            if parents is None
            else RecursiveChunker(max_size=parents.parent_chunk_size, overlap=parents.parent_overlap)
        )
        self._committer = Committer(
            store=store,
            keyword_index=keyword_index,
            journal=journal,
            parents=parent_store,
            tags=tags,
            generation=generation,
        )
        self._tags = tags
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ingest(
        self, source: Source, metadata: DocumentMetadata, *, options: IngestionOptions | None = None
    ) -> IngestionResult:
        """Take in one document.

        Args:
            source: A path, the document's bytes, or an open binary file. A string is a path; a text goes to
                `ingest_text`.
            metadata: Its identity and tags; its type, where the name of the file does not tell it.
            options: Whether to overwrite, and to skip what is unchanged.

        Raises:
            UnsupportedContentTypeError: No parser reads its type.
            ParseError: The bytes are not what the type says: damaged, binary, or in another encoding.
            EmptyDocumentError: There is no text in it.
            DocumentExistsError: The id is taken and `options.overwrite` is False.
            IngestionError: The file cannot be read. Of none of these anything is stored, and an earlier version stays.
            MissingDependencyError: Its parser needs a package that is not installed; as above.
            EmbeddingError: The embedder failed or its answer does not fit; as above.
            StoreError: The store failed; see `Committer`.
            PersistenceError: The journal could not be written; as above.
        """
        return await self._ingest(partial(self._load, source, metadata), metadata, options or IngestionOptions())

    async def ingest_text(
        self, text: str, metadata: DocumentMetadata, *, options: IngestionOptions | None = None
    ) -> IngestionResult:
        """Take in a text that is at hand: plain text, unless `metadata` tells another type. Otherwise as `ingest`."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"a text must be a string, not {type(text).__name__}: bytes and files go to ingest")
        return await self._ingest(partial(self._typed_text, text, metadata), metadata, options or IngestionOptions())

    async def ingest_many(
        self, sources: ManySources, *, options: IngestionOptions | None = None, progress: ProgressCallback | None = None
    ) -> IngestionReport:
        """Take in many documents, `options.concurrency` at a time, in memory that does not grow with their number.

        A document that fails is reported and the others go on. Run again over the same sources, only what is new or
        has changed is worked on. The id of a file is its path relative to the directory (or to the part of the pattern
        before its first wildcard), with `/` between the parts; of a file that is named itself, the path as given.
        Hidden files are left out; files in a directory or pattern that no parser reads are counted as skipped.

        Args:
            sources: A directory, a glob pattern or a file; or an iterable of these and of (source, metadata) pairs. The
                iterable is advanced only as fast as documents are worked on.
            options: As `ingest`, and how many documents are worked on at once.
            progress: Called on the event loop after each document. For paths and sequences of them it knows the total.

        Returns:
            The counts, and the failures with their reasons.

        Raises:
            InvalidInputError: `sources`, or an item of it, is nothing that can be ingested.
        """
        options = options or IngestionOptions()
        batch = Batch(
            partial(self.ingest, options=options),
            registry=self._registry,
            concurrency=options.concurrency,
            progress=progress,
        )
        return await batch.run(sources)

    async def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether it was known. One that is not there is no error.

        Raises:
            PersistenceError: The journal could not be written; nothing was removed.
            StoreError: The store failed; deleting again is safe.
        """
        async with self._lock(document_id):
            return await self._committer.delete(document_id)

    async def _ingest(
        self, load_source: Callable[[], SourceDocument], metadata: DocumentMetadata, options: IngestionOptions
    ) -> IngestionResult:
        with span("ragstone.ingest") as current, steps.naming(metadata.document_id):
            current.set_attribute("ragstone.document_id", metadata.document_id)
            async with self._lock(metadata.document_id):
                result = await self._taken_in(load_source, metadata.document_id, options)
            await self._embed_tags()
            current.set_attribute("ragstone.ingest.status", result.status.value)
            current.set_attribute("ragstone.ingest.chunks", result.chunks_stored)
        return result

    async def _taken_in(
        self, load_source: Callable[[], SourceDocument], document_id: str, options: IngestionOptions
    ) -> IngestionResult:
        source, mark = await offload(self._identify, load_source)
        if await self._is_current(document_id, mark, options):
            return IngestionResult(
                document_id=document_id, chunks_stored=0, status=IngestionStatus.UNCHANGED, source=source.path
            )
        family = await offload(self._prepare, source)
        encoded = await steps.encode(await steps.embed(family, self._embedder), self._sparse_encoder)
        if encoded.sparse_encoder is None and self._sparse_encoder is not None:
            # Marked as what it is, so that it is not taken for unchanged once the encoder works again.
            mark = await offload(self._mark, source, None)
        await self._committer.commit(steps.seal(encoded, source, mark))
        return IngestionResult(
            document_id=document_id, chunks_stored=len(family.chunks), source=source.path, warnings=encoded.warnings
        )

    async def _embed_tags(self) -> None:
        """Where that fails the documents are found without; the next call tries again."""
        error = None if self._tags is None else await tried(self._tags.embed())
        if error is not None:
            _log.warning("tag_embedding_failed: %s", described(error))

    def _load(self, source: Source, metadata: DocumentMetadata) -> SourceDocument:
        loaded = load(source)
        file_name = metadata.file_name or (None if loaded.path is None else Path(loaded.path).name)
        content_type = self._registry.content_type(metadata.content_type, file_name)
        return SourceDocument(content=loaded.content, content_type=content_type, metadata=metadata, path=loaded.path)

    def _typed_text(self, text: str, metadata: DocumentMetadata) -> SourceDocument:
        untold = metadata.content_type is None and metadata.file_name is None
        content_type = (
            "text/plain" if untold else self._registry.content_type(metadata.content_type, metadata.file_name)
        )
        return SourceDocument(content=text, content_type=content_type, metadata=metadata)

    def _identify(self, load_source: Callable[[], SourceDocument]) -> tuple[SourceDocument, str]:
        source = load_source()
        return source, self._mark(source, self._sparse_encoder)

    def _mark(self, source: SourceDocument, sparse_encoder: SparseEmbedder | None) -> str:
        return fingerprint(
            source,
            parser=self._registry.find(source.content_type).identity,
            chunker=self._chunker.identity,
            embedder=None if self._embedder is None else self._embedder.identity,
            parents=None if self._parent_chunker is None else self._parent_chunker.identity,
            sparse_encoder=None if sparse_encoder is None else sparse_encoder.identity,
        )

    def _prepare(self, source: SourceDocument) -> steps.FamilyDocument:
        parsed = steps.parse(source, self._registry)
        chunked = steps.chunk(parsed, source.metadata.document_id, self._chunker)
        described = steps.describe(chunked, source.metadata)
        return steps.add_parents(described, parsed, source.metadata, self._parent_chunker)

    async def _is_current(self, document_id: str, mark: str, options: IngestionOptions) -> bool:
        """Whether there is nothing to do; refuses to overwrite where that is not allowed."""
        stored = await self._committer.fingerprint(document_id)
        if stored == mark and options.skip_unchanged:
            return True
        if stored is not None and not options.overwrite:
            raise DocumentExistsError(
                f"document '{document_id}' is stored already and overwrite=False: delete it, or choose another id"
            )
        return False

    def _lock(self, document_id: str) -> asyncio.Lock:
        return self._locks.setdefault(document_id, asyncio.Lock())

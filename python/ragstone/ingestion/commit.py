"""Committing a document: all of its traces appear, in the journal, the stores and the keyword index, or none does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from ragstone.caching.generation import IndexGeneration
from ragstone.concurrency import offload
from ragstone.models import StoredDocument
from ragstone.ports import DocumentJournal, DocumentReplaceable, KeywordIndex, ParentChunkStore, VectorStore
from ragstone.tags import TagIndex

__all__ = ["Committer"]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)


class Committer:
    """Writes documents to, and removes them from, every place that holds a trace of them.

    A commit or a removal that has begun runs to its end also when the caller is cancelled; the cancellation goes on
    afterwards. The order is journal, store, keyword index, parents. Where a later one fails, the document is removed
    from all of them, its earlier version too, so that they agree; a failure before anything was changed leaves the
    earlier version.

    Args:
        store: Takes the vectors; `None` without an embedder.
        keyword_index: Takes the texts.
        journal: Keeps documents beyond the process; without one, fingerprints are remembered as long as this object
            lives.
        parents: Takes the parents; `None` without any.
        tags: Learns which tags the documents have.
        generation: Learns when the indexes change.
    """

    def __init__(
        self,
        *,
        store: VectorStore | None,
        keyword_index: KeywordIndex,
        journal: DocumentJournal | None,
        parents: ParentChunkStore | None = None,
        tags: TagIndex | None = None,
        generation: IndexGeneration | None = None,
    ) -> None:
        self._store = store
        self._keyword_index = keyword_index
        self._parents = parents
        self._tags = tags
        self._generation = IndexGeneration() if generation is None else generation
        self._journal = journal
        self._fingerprints: dict[str, str] = {}

    async def fingerprint(self, document_id: str) -> str | None:
        """Return the fingerprint of the committed document, `None` where there is none."""
        if self._journal is None:
            return self._fingerprints.get(document_id)
        return await offload(self._journal.fingerprint, document_id)

    async def commit(self, document: StoredDocument) -> None:
        """Put a document in place of every trace of an earlier one with its id.

        Raises:
            PersistenceError: The journal could not be written; the earlier version is untouched.
            StoreError: The store failed.
            InvalidInputError: The store or an index refuses a vector or value.
        """
        await _to_its_end(self._changing(self._commit(document)))

    async def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether there was one.

        Raises:
            PersistenceError: The journal could not be written; nothing was removed.
            StoreError: The store failed; the document is gone from the other places. Deleting again is safe.
        """
        return await _to_its_end(self._changing(self._delete(document_id)))

    async def _changing(self, work: Awaitable[T]) -> T:
        with self._generation.changing():
            return await work

    async def _commit(self, document: StoredDocument) -> None:
        document_id = document.document_id
        changed = False
        try:
            if self._journal is not None:
                await offload(self._journal.put, document)
                changed = True
            if self._store is not None and document.vectors is not None:
                whole = isinstance(self._store, DocumentReplaceable)
                changed = changed or not whole
                await _replace(self._store, document)
                changed = True
            await offload(self._keyword_index.replace_document, document_id, document.chunks)
            if self._parents is not None:
                changed = True
                await offload(self._parents.replace_document, document_id, document.parents)
        except BaseException as error:
            if changed:
                await self._undo(document_id, error)
            raise
        if self._tags is not None:
            self._tags.replace_document(document_id, document.chunks)
        if self._journal is None:
            self._fingerprints[document_id] = document.fingerprint

    async def _undo(self, document_id: str, cause: BaseException) -> None:
        self._fingerprints.pop(document_id, None)
        failures: list[Exception] = []
        if self._journal is not None:
            await _collect(offload(self._journal.delete, document_id), failures)
        await self._erase(document_id, failures)
        for failure in failures:
            _LOG.error("undoing the commit of document %r failed: %s", document_id, type(failure).__name__)
            cause.add_note(f"undoing the commit of document '{document_id}' failed as well: {failure}")
        cause.add_note(
            f"document '{document_id}' was removed, its earlier version too, so that the stores agree: ingest it again"
        )

    async def _delete(self, document_id: str) -> bool:
        known = self._journal is not None and await offload(self._journal.delete, document_id)
        known = self._fingerprints.pop(document_id, None) is not None or known
        failures: list[Exception] = []
        removed = await self._erase(document_id, failures)
        if failures:
            raise failures[0]
        return known or removed > 0

    async def _erase(self, document_id: str, failures: list[Exception]) -> int:
        """Remove a document from every place but the journal; return how many chunks the keyword index held."""
        if self._tags is not None:
            self._tags.remove(document_id)
        if self._store is not None:
            await _collect(self._store.delete_by_document_id(document_id), failures)
        if self._parents is not None:
            await _collect(offload(self._parents.remove, document_id), failures)
        return await _collect(offload(self._keyword_index.remove, document_id), failures) or 0


async def _replace(store: VectorStore, document: StoredDocument) -> None:
    chunks = document.embedded_chunks()
    if isinstance(store, DocumentReplaceable):
        await store.replace_document(document.document_id, chunks)
    else:
        await store.delete_by_document_id(document.document_id)
        await store.store(chunks)


async def _collect(work: Awaitable[T], failures: list[Exception]) -> T | None:
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - every place is to be tried; the caller reports what is collected
        failures.append(error)
        return None


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; if the caller is cancelled meanwhile, let it finish first and then go on with the cancellation."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("a write failed while its caller was cancelled: %s", type(error).__name__, exc_info=error)
        raise

"""Filling stores and indexes in memory from documents that were committed before."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from ragstone.concurrency import offload
from ragstone.models import StoredDocument
from ragstone.ports import KeywordIndex, ParentChunkStore, SparseEmbedder, VectorStore
from ragstone.tags import TagIndex

__all__ = ["restore"]

_LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 256


async def restore(
    documents: Iterator[StoredDocument],
    *,
    store: VectorStore | None,
    keyword_index: KeywordIndex,
    sparse_encoder: SparseEmbedder | None = None,
    parents: ParentChunkStore | None = None,
    tags: TagIndex | None = None,
) -> None:
    """Put committed documents back into every place that a commit writes to beside the journal.

    Sparse vectors of another encoder than `sparse_encoder` are left out, since dot products with them mean nothing; how
    many documents are without is logged.
    """
    identity = None if sparse_encoder is None else await offload(lambda: sparse_encoder.identity)
    without = 0
    while batch := await offload(_take, documents):
        await offload(keyword_index.add, [chunk for document in batch for chunk in document.chunks])
        if store is not None:
            usable = [_with_vectors_of(document, identity) for document in batch]
            without += sum(document.sparse is None for document in usable)
            await store.store([chunk for document in usable for chunk in document.embedded_chunks()])
        if tags is not None:
            for document in batch:
                tags.replace_document(document.document_id, document.chunks)
        if parents is not None:
            await offload(_put_parents, parents, batch)
    if without and identity is not None:
        _LOG.warning(
            "sparse_vectors_missing: %d documents have no sparse vectors of %s: ingest them again", without, identity
        )


def _take(documents: Iterator[StoredDocument]) -> list[StoredDocument]:
    return list(islice(documents, _AT_ONCE))


def _with_vectors_of(document: StoredDocument, encoder: str | None) -> StoredDocument:
    return document if document.sparse_encoder == encoder else replace(document, sparse=None, sparse_encoder=None)


def _put_parents(store: ParentChunkStore, documents: Sequence[StoredDocument]) -> None:
    for document in documents:
        store.replace_document(document.document_id, document.parents)

"""The string tags of all documents, each value embedded once: what tag retrieval finds filters in."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from ragstone.concurrency import offload
from ragstone.encoders.checked import embed_checked
from ragstone.metadata import is_reserved
from ragstone.models import TextChunk, Vector, Vectors
from ragstone.ports import Embedder

__all__ = ["Tag", "TagIndex", "TagMatch", "document_tags"]

_SMALLEST_NORM: Final = 1e-12
_DIGITS: Final = 6
"""Decimals of a similarity: what float32 can tell, so that a text's cosine with itself is 1."""


class Tag(NamedTuple):
    """A key and one of its values."""

    key: str
    value: str


class TagMatch(NamedTuple):
    """A tag, and the cosine similarity of its value and the query."""

    tag: Tag
    score: float


def document_tags(chunks: Sequence[TextChunk]) -> frozenset[Tag]:
    """Return the tags of a document: the strings that all of its chunks carry under keys that are not reserved."""
    shared: set[Tag] | None = None
    for chunk in chunks:
        own = {
            Tag(key, value)
            for key, value in chunk.metadata.items()
            if isinstance(value, str) and value.strip() and not is_reserved(key)
        }
        shared = own if shared is None else shared & own
    return frozenset(shared or ())


class TagIndex:
    """Which tags the documents have, in memory, and the embeddings of their values.

    A tag lives as long as a document has it. Its value is embedded once, however many documents share it; where that
    fails, the next call of `embed` tries again. An index serves one event loop.

    Args:
        embedder: Embeds the values, as documents.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._of_document: dict[str, frozenset[Tag]] = {}
        self._documents: dict[Tag, int] = {}
        self._vectors: dict[Tag, Vector] = {}
        self._embedding = asyncio.Lock()
        self._table: tuple[tuple[Tag, ...], Vectors] | None = None

    def __len__(self) -> int:
        """How many different tags the documents have."""
        return len(self._documents)

    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        """Put the tags of these chunks in place of those that the document has."""
        tags = document_tags(chunks)
        for tag in tags:
            self._documents[tag] = self._documents.get(tag, 0) + 1
        self.remove(document_id)
        if tags:
            self._of_document[document_id] = tags

    def remove(self, document_id: str) -> None:
        """Forget a document, and the tags that no other has; one that is not there is no error."""
        for tag in self._of_document.pop(document_id, ()):
            self._documents[tag] -= 1
            if not self._documents[tag]:
                del self._documents[tag]
                self._vectors.pop(tag, None)
                self._table = None

    async def embed(self) -> None:
        """Embed the values that have no embedding yet, in one batch; nothing is asked where all have one.

        Raises:
            EmbeddingError: The embedder failed; nothing has changed.
        """
        async with self._embedding:
            missing = sorted(tag for tag in self._documents if tag not in self._vectors)
            if not missing:
                return
            vectors = await embed_checked(self._embedder, [tag.value for tag in missing])
            for tag, vector in zip(missing, vectors, strict=True):
                if tag in self._documents:  # it may have gone meanwhile
                    self._vectors[tag] = vector
            self._table = None

    async def nearest(
        self, query: Vector, *, top_k: int, min_score: float, without: Collection[str] = ()
    ) -> list[TagMatch]:
        """Return the best tag of each key, the best keys first; equal scores by key, then value.

        Args:
            query: The query's embedding, shape (dimensions,).
            top_k: At most this many keys.
            min_score: The least cosine similarity.
            without: Keys that are left out.
        """
        if not self._vectors:
            return []
        if self._table is None:
            known = tuple(sorted(self._vectors))
            self._table = known, _unit(np.stack([self._vectors[tag] for tag in known]))
        tags, table = self._table
        scores = await offload(_cosines, table, query)
        best: dict[str, TagMatch] = {}
        for tag, score in zip(tags, scores, strict=True):
            if score >= min_score and tag.key not in without:
                held = best.get(tag.key)
                if held is None or score > held.score:
                    best[tag.key] = TagMatch(tag, score)
        return sorted(best.values(), key=lambda match: (-match.score, match.tag))[:top_k]


def _unit(rows: Vectors) -> Vectors:
    """The rows at length 1; a zero row stays."""
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _SMALLEST_NORM)
    return np.asarray(rows / norms, dtype=np.float32)


def _cosines(table: Vectors, query: Vector) -> list[float]:
    """The cosine of the query and each row, rows being of length 1."""
    scores: list[float] = (table @ _unit(query[np.newaxis])[0]).tolist()
    return [round(score, _DIGITS) for score in scores]

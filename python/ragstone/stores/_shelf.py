"""The chunks beside an index that knows only keys, kept so that a page never mixes two states.

A search takes two steps: the index names keys and scores, the shelf has the chunks. A write that comes between could
put a chunk's new text beside its old score. So every change of a document is numbered, and a page with a document that
has changed since the search began is made again, this time with writers held off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, TypeAlias, cast

from ragstone.models import ScoreScale, SearchResult, TextChunk

__all__ = ["Hit", "Shelf"]

_DocumentId: TypeAlias = str | int

_CHANGING = sys.maxsize
"""The number of a change that has not ended: later than any."""


class _Changed(Exception):  # noqa: N818 - a signal, not an error
    """A document has changed since the search began."""


class Hit(Protocol):
    """What an index answers."""

    @property
    def document_id(self) -> _DocumentId:
        """The document."""
        ...

    @property
    def chunk_index(self) -> int:
        """The chunk's place in it."""
        ...

    @property
    def score(self) -> float:
        """On the index's scale."""
        ...


class Shelf:
    """Chunks by document and place, and the number of each document's last change."""

    __slots__ = ("_changed", "_changes", "_documents", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._documents: dict[_DocumentId, dict[int, TextChunk]] = {}
        self._changed: dict[_DocumentId, int] = {}
        self._changes = 0

    @contextmanager
    def changing(self, document_ids: Collection[_DocumentId]) -> Generator[None]:
        """Hold off other writers while the index and the shelf change these documents."""
        with self._lock:
            self._changed.update(dict.fromkeys(document_ids, _CHANGING))
            try:
                yield
            finally:
                self._changes += 1
                for document_id in document_ids:
                    if document_id in self._documents:
                        self._changed[document_id] = self._changes
                    else:
                        self._changed.pop(document_id, None)

    def put(self, chunks: Iterable[TextChunk]) -> None:
        """Insert or replace chunks; only inside of `changing`."""
        for chunk in chunks:
            self._documents.setdefault(chunk.document_id, {})[chunk.chunk_index] = chunk

    def replace(self, document_id: _DocumentId, chunks: Iterable[TextChunk]) -> None:
        """Put these chunks in the place of a document's, none to remove it; only inside of `changing`."""
        held = {chunk.chunk_index: chunk for chunk in chunks}
        if held:
            self._documents[document_id] = held
        else:
            self._documents.pop(document_id, None)

    def clear(self, clear_index: Callable[[], None]) -> None:
        """Empty the index and the shelf."""
        with self._lock:
            clear_index()
            self._documents = {}
            self._changed = {}

    def page(self, search: Callable[[], Sequence[Hit]], scale: ScoreScale) -> list[SearchResult]:
        """Return the results of a search, all of one state; `search` runs a second time where writers interfere."""
        before = self._changes
        try:
            return self._results(search(), scale, before)
        except _Changed:
            with self._lock:
                return self._results(search(), scale, self._changes)

    def chunks(self, document_id: _DocumentId) -> list[TextChunk]:
        """Return a document's chunks in order, none where it is not there; waits for a write that is under way."""
        with self._lock:
            held = self._documents.get(document_id, {})
            return [held[index] for index in sorted(held)]

    def documents(self) -> list[str]:
        """Return the ids of all documents, in the order in which they came; waits for a write that is under way."""
        with self._lock:
            return cast("list[str]", list(self._documents))

    def _results(self, hits: Sequence[Hit], scale: ScoreScale, before: int) -> list[SearchResult]:
        """The results of hits, unless a document of theirs has changed since change number `before`."""
        results: list[SearchResult] = []
        nothing: dict[int, TextChunk] = {}
        documents, changed = self._documents, self._changed
        for hit in hits:
            document_id = hit.document_id
            chunk = documents.get(document_id, nothing).get(hit.chunk_index)
            # The number is read after the chunk, so that a change which the chunk is part of is seen.
            if chunk is None or changed.get(document_id, 0) > before:
                raise _Changed
            results.append(SearchResult(chunk, hit.score, scale))
        return results

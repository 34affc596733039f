"""The parents of chunks in this process's memory."""

from __future__ import annotations

from collections.abc import Sequence

from ragstone.models import TextChunk
from ragstone.stores._columns import of_document

__all__ = ["InMemoryParentChunkStore"]


class InMemoryParentChunkStore:
    """Keeps the parents of each document's chunks in memory.

    Implements `ParentChunkStore`. Every method may be called from many threads at once: each is one step.

    Example:
        >>> store = InMemoryParentChunkStore()
        >>> store.replace_document("a", [TextChunk("a long passage", "a", 0, 0, 14)])
        >>> [parent.text for parent in store.parents("a")]
        ['a long passage']
    """

    def __init__(self) -> None:
        self._documents: dict[str, tuple[TextChunk, ...]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._documents.copy().values()))

    def replace_document(self, document_id: str, parents: Sequence[TextChunk]) -> None:
        """Put these parents in place of the document's earlier ones, none to remove it.

        Raises:
            InvalidInputError: A parent is of another document; the earlier ones stay.
        """
        held = tuple(sorted(of_document(document_id, parents), key=lambda parent: (parent.start, parent.chunk_index)))
        if held:
            self._documents[document_id] = held
        else:
            self._documents.pop(document_id, None)

    def parents(self, document_id: str) -> Sequence[TextChunk]:
        """Return the document's parents in order of their `start`; empty where it has none."""
        return self._documents.get(document_id, ())

    def remove(self, document_id: str) -> None:
        """Forget a document; one that is not there is no error."""
        self._documents.pop(document_id, None)

    def clear(self) -> None:
        """Forget everything."""
        self._documents = {}

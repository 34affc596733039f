"""The keyword index in this process's memory: exact, live, gone when the process ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragstone.engine.lexical import Bm25Index, Bm25Term
from ragstone.metadata import MetadataValue
from ragstone.models import ChunkKey, ScoreScale, SearchResult, TextChunk
from ragstone.stores._columns import columns, of_document
from ragstone.stores._shelf import Shelf

__all__ = ["InMemoryBm25Index"]


class InMemoryBm25Index:
    """A keyword index in memory: exact, live BM25 that returns whole chunks.

    Implements `KeywordIndex`. Every method may be called from many threads at once.

    Args:
        k1: How soon repetitions of a term stop counting; at least 0.
        b: How much long chunks are discounted; 0 not at all, 1 in full.

    Raises:
        ConfigurationError: `k1` or `b` is out of range.

    Example:
        >>> index = InMemoryBm25Index()
        >>> index.add([TextChunk("the quick brown fox", "a", 0), TextChunk("a lazy dog", "b", 0)])
        >>> [hit] = index.search("brown fox", 5)
        >>> hit.chunk.document_id, str(hit.score_scale)
        ('a', 'bm25')
    """

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        self._index = Bm25Index(k1=k1, b=b)
        self._shelf = Shelf()

    @property
    def k1(self) -> float:
        """How soon repetitions of a term stop counting."""
        return self._index.k1

    @property
    def b(self) -> float:
        """How much long chunks are discounted."""
        return self._index.b

    def __len__(self) -> int:
        return len(self._index)

    def chunks(self, document_id: str) -> list[TextChunk]:
        """Return a document's chunks in order of `chunk_index`; none where it is not there."""
        return self._shelf.chunks(document_id)

    def documents(self) -> list[str]:
        """Return the ids of the indexed documents, in the order in which they came."""
        return self._shelf.documents()

    def add(self, chunks: Sequence[TextChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index), in one step."""
        ids, places, metadata = columns(chunks)
        with self._shelf.changing(set(ids)):
            self._index.add_many(ids, places, [chunk.text for chunk in chunks], metadata)
            self._shelf.put(chunks)

    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        """Put these chunks in the place of all that the document has, in one step.

        Raises:
            InvalidInputError: A chunk is of another document.
        """
        _, places, metadata = columns(of_document(document_id, chunks))
        with self._shelf.changing((document_id,)):
            self._index.replace_document(document_id, places, [chunk.text for chunk in chunks], metadata)
            self._shelf.replace(document_id, chunks)

    def remove(self, document_id: str) -> int:
        """Remove a document; return how many chunks it had."""
        with self._shelf.changing((document_id,)):
            removed = self._index.remove(document_id)
            self._shelf.replace(document_id, ())
            return removed

    def search(
        self, query: str, top_k: int, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[SearchResult]:
        """Return the best chunks that match the filter, best first, only those with a positive score; ties by key.

        Raises:
            ConfigurationError: `top_k` is negative.
            MetadataError: A filter value is `None` or of no known kind.
        """
        return self._shelf.page(
            lambda: self._index.search(query, top_k=top_k, metadata_filter=metadata_filter), ScoreScale.BM25
        )

    def explain(self, query: str, key: ChunkKey) -> list[Bm25Term]:
        """Return what each term of the query adds to the chunk's score; the contributions add up to it."""
        return self._index.explain(query, key.document_id, key.chunk_index)

    def clear(self) -> None:
        """Remove everything."""
        self._shelf.clear(self._index.clear)

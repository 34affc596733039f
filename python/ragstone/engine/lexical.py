"""Keyword search: BM25 over a live index, exact after every write, filtered before the cut.

Usable alone, with document ids that are strings or integers. Texts are read where they lie and the interpreter lock is
released while the core works.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple, TypeAlias

from ragstone._core import Bm25Index as _Bm25Index
from ragstone.metadata import MetadataValue, check_filter, check_metadata
from ragstone.validation import require_at_least, require_finite

__all__ = ["Bm25Hit", "Bm25Index", "Bm25Memory", "Bm25Term", "DocumentId"]

DocumentId: TypeAlias = str | int


class Bm25Hit(NamedTuple):
    """A chunk that was found.

    Attributes:
        document_id: The document, as it was added.
        chunk_index: The chunk's place in the document.
        score: Its BM25 score, above 0 and without an upper bound.
    """

    document_id: DocumentId
    chunk_index: int
    score: float


class Bm25Term(NamedTuple):
    """What one distinct term of a query adds to one chunk's score.

    Attributes:
        term: The term.
        query_frequency: How often the query has it.
        term_frequency: How often the chunk has it.
        document_frequency: How many chunks have it.
        idf: Its inverse document frequency, above 0.
        contribution: Its part of the score; 0.0 where the chunk does not have it.
    """

    term: str
    query_frequency: int
    term_frequency: int
    document_frequency: int
    idf: float
    contribution: float


class Bm25Memory(NamedTuple):
    """What an index holds, dead chunks that are not left behind yet included, and the bytes reserved for it.

    Metadata is not counted, nor what the allocator keeps besides.

    Attributes:
        chunks: How many chunks.
        postings: How many pairs of a chunk and a distinct term of it.
        lists: Bytes of the inverted lists: chunks, frequencies, bounds.
        forward: Bytes of each chunk's own list of terms, which is what a removal reads.
        documents: Bytes of ids, lengths, and of the way from a document to its chunks.
        vocabulary: Bytes of the terms, their numbers and their counts.
    """

    chunks: int
    postings: int
    lists: int
    forward: int
    documents: int
    vocabulary: int

    @property
    def total(self) -> int:
        """All bytes."""
        return self.lists + self.forward + self.documents + self.vocabulary


class Bm25Index:
    """A live BM25 index: what is added is found at once, what is removed is gone from every score.

    Scores follow Lucene since version 8, with exact lengths: the sum over the query's terms, repeats included, of
    `ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / average_length))`. After any sequence
    of writes they equal, bit for bit, those of a new index of the chunks that are left. Equal scores are ordered by
    (document_id, chunk_index), integer ids before strings.

    Every method may be called from many threads at once. What one write has for one document becomes visible in one
    step: no search sees a document half written. A write of many documents becomes visible in turns of whole
    documents, in the order in which they first appear; when it returns, all of it is. Searches go on meanwhile.

    Args:
        k1: How slowly repeated terms saturate, at least 0.
        b: How much length counts, from 0 (not at all) to 1 (in full).

    Raises:
        ConfigurationError: `k1` or `b` is out of its range.

    Example:
        >>> index = Bm25Index()
        >>> index.add("a", 0, "the quick brown fox", {"lang": "en"})
        >>> index.add("b", 0, "der schnelle braune Fuchs", {"lang": "de"})
        >>> [(hit.document_id, round(hit.score, 4)) for hit in index.search("brown fox")]
        [('a', 0.5545)]
        >>> index.search("brown fox", metadata_filter={"lang": "de"})
        []
    """

    __slots__ = ("_core",)

    def __init__(self, *, k1: float = 1.5, b: float = 0.75) -> None:
        self._core = _Bm25Index(require_finite("k1", k1), require_finite("b", b))

    @property
    def k1(self) -> float:
        """How slowly repeated terms saturate."""
        return self._core.k1

    @property
    def b(self) -> float:
        """How much length counts."""
        return self._core.b

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"Bm25Index(k1={self.k1}, b={self.b}, chunks={len(self)})"

    def add(
        self, document_id: DocumentId, chunk_index: int, text: str, metadata: Mapping[str, object] | None = None
    ) -> None:
        """Insert a chunk, or replace the one of the same (document_id, chunk_index).

        Args:
            document_id: The document.
            chunk_index: The chunk's place in the document, at least 0.
            text: What to index; a text without a term is a chunk that no query finds.
            metadata: What filters compare.

        Raises:
            MetadataError: A metadata value is of no known kind.
            InvalidInputError: The id or the index is out of range, or the text holds half of a surrogate pair.
        """
        self._core.upsert([document_id], [chunk_index], [text], [check_metadata(metadata)])

    def add_many(
        self,
        document_ids: Sequence[DocumentId],
        chunk_indices: Sequence[int],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, object] | None] | None = None,
    ) -> None:
        """Insert or replace many chunks; they are analysed by all cores and become visible in turns of whole documents.

        Args:
            document_ids: The document of each chunk.
            chunk_indices: The place of each chunk in its document, at least 0.
            texts: The text of each chunk.
            metadata: One mapping or `None` a chunk.

        Where a key comes twice the later chunk stays. Searches wait while 512 chunks or one document are merged, about
        a microsecond a chunk.

        Raises:
            MetadataError: A metadata value is of no known kind.
            InvalidInputError: The arguments are of different lengths, or as `add`; nothing is stored then.
        """
        self._core.upsert(document_ids, chunk_indices, texts, _metadata(metadata))

    def replace_document(
        self,
        document_id: DocumentId,
        chunk_indices: Sequence[int],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, object] | None] | None = None,
    ) -> None:
        """Remove what the document has and insert these chunks, in one step that no search sees half done.

        Arguments and errors are those of `add_many`; after an error the document is as it was.
        """
        self._core.replace_document(document_id, chunk_indices, texts, _metadata(metadata))

    def remove(self, document_id: DocumentId) -> int:
        """Remove a document and return how many chunks it had; one that is not there has 0."""
        return self._core.remove(document_id)

    def memory_usage(self) -> Bm25Memory:
        """Return how much the index holds and what that takes. It looks at every list: milliseconds for a large index.

        Example:
            >>> index = Bm25Index()
            >>> index.add("a", 0, "red kite, red lamp")
            >>> usage = index.memory_usage()
            >>> usage.chunks, usage.postings
            (1, 3)
        """
        return Bm25Memory(*self._core.memory())

    def clear(self) -> None:
        """Remove everything."""
        self._core.clear()

    def search(
        self, query: str, *, top_k: int = 10, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[Bm25Hit]:
        """Return the chunks that score best, best first; only chunks with a term of the query.

        Args:
            query: Analysed as the texts are; a term that it repeats counts as often.
            top_k: At most so many; 0 asks for none.
            metadata_filter: Only chunks whose metadata equals every entry, in kind and value; applied before the cut.

        Raises:
            ConfigurationError: `top_k` is negative.
            MetadataError: A filter value is `None` or of no known kind.
            InvalidInputError: The query holds half of a surrogate pair.
        """
        hits = self._core.search(query, _limit(top_k), check_filter(metadata_filter))
        return list(starmap(Bm25Hit, hits))

    def search_many(
        self, queries: Sequence[str], *, top_k: int = 10, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[list[Bm25Hit]]:
        """Return the page of each query, all against one state of the index, by all cores.

        The rest is as in `search`.
        """
        pages = self._core.search_many(queries, _limit(top_k), check_filter(metadata_filter))
        return [list(starmap(Bm25Hit, hits)) for hits in pages]

    def explain(self, query: str, document_id: DocumentId, chunk_index: int) -> list[Bm25Term]:
        """Return each distinct term of the query, in order of first appearance, with its part of the chunk's score.

        The contributions, added one after the other from 0.0, are the score exactly. (`sum` of Python 3.12 and newer
        rounds once at the end and may differ in the last bit.) A chunk that is not there has no terms.

        Raises:
            InvalidInputError: The id or the index is out of range, or the query holds half of a surrogate pair.

        Example:
            >>> index = Bm25Index()
            >>> index.add("a", 0, "red kite")
            >>> index.add("b", 0, "red lamp")
            >>> for term in index.explain("red kite", "a", 0):
            ...     print(term.term, term.document_frequency, round(term.contribution, 4))
            red 2 0.0729
            kite 1 0.2773
        """
        return list(starmap(Bm25Term, self._core.explain(query, document_id, chunk_index)))


def _limit(top_k: int) -> int:
    return min(require_at_least("top_k", top_k, 0), sys.maxsize)


def _metadata(metadata: Sequence[Mapping[str, object] | None] | None) -> Iterator[dict[str, MetadataValue]] | None:
    return None if metadata is None else map(check_metadata, metadata)

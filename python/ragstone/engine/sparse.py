"""Learned-sparse search: exact dot products over a live inverted index, filtered before the cut.

Usable alone, with document ids that are strings or integers. The interpreter lock is released while the core works.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragstone._core import SparseIndex as _SparseIndex
from ragstone.engine.lexical import DocumentId
from ragstone.errors import InvalidInputError
from ragstone.metadata import MetadataValue, check_filter, check_metadata
from ragstone.sparse_vector import SparseVector
from ragstone.validation import require_at_least, require_finite

__all__ = ["SparseHit", "SparseIndex"]

_Packed: TypeAlias = tuple[NDArray[np.uintp], NDArray[np.uint32], NDArray[np.float32]]
"""Vectors one after the other: where each ends, their terms, their weights."""


class SparseHit(NamedTuple):
    """A chunk that was found.

    Attributes:
        document_id: The document, as it was added.
        chunk_index: The chunk's place in the document.
        score: Its dot product with the query, above 0 and without an upper bound.
    """

    document_id: DocumentId
    chunk_index: int
    score: float


class SparseIndex:
    """A live index of sparse vectors: what is added is found at once, what is removed is gone.

    A score is the dot product: the sum of `query[t] * chunk[t]` over the terms t of both, by ascending t, in double
    precision from the float32 weights. After any sequence of writes scores equal, bit for bit, those of a new index of
    the chunks that are left. Chunks that share no term with the query are no hits. Equal scores are ordered by
    (document_id, chunk_index), integer ids before strings. Every method may be called from many threads at once; a
    write is seen as a whole or not at all.

    Example:
        >>> index = SparseIndex()
        >>> index.add("a", 0, SparseVector.from_dict({2: 2.0, 9: 0.5}), {"lang": "en"})
        >>> index.add("b", 0, SparseVector.from_dict({9: 1.0}), {"lang": "de"})
        >>> query = SparseVector.from_dict({2: 1.0, 9: 4.0})
        >>> index.search(query, top_k=1)
        [SparseHit(document_id='a', chunk_index=0, score=4.0)]
        >>> [hit.document_id for hit in index.search(query, metadata_filter={"lang": "de"})]
        ['b']
    """

    __slots__ = ("_core",)

    def __init__(self) -> None:
        self._core = _SparseIndex()

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"SparseIndex(chunks={len(self)})"

    def add(
        self,
        document_id: DocumentId,
        chunk_index: int,
        vector: SparseVector,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Insert a chunk, or replace the one of the same (document_id, chunk_index).

        Args:
            document_id: The document.
            chunk_index: The chunk's place in the document, at least 0.
            vector: Its terms and weights; a vector without terms is a chunk that no query finds.
            metadata: What filters compare.

        Raises:
            MetadataError: A metadata value is of no known kind.
            InvalidInputError: The id or the index is out of range, or `vector` is no `SparseVector`.
        """
        self._core.upsert([document_id], [chunk_index], _packed([vector]), [check_metadata(metadata)])

    def add_many(
        self,
        document_ids: Sequence[DocumentId],
        chunk_indices: Sequence[int],
        vectors: Sequence[SparseVector],
        metadata: Sequence[Mapping[str, object] | None] | None = None,
    ) -> None:
        """Insert or replace many chunks in one step that no search sees half done.

        Args:
            document_ids: The document of each chunk.
            chunk_indices: The place of each chunk in its document, at least 0.
            vectors: The terms and weights of each chunk.
            metadata: One mapping or `None` a chunk.

        Where a key comes twice the later chunk stays. Searches go on meanwhile and find none of it before all is there.

        Raises:
            MetadataError: A metadata value is of no known kind.
            InvalidInputError: The arguments are of different lengths, or as `add`; nothing is stored then.
        """
        self._core.upsert(document_ids, chunk_indices, _packed(vectors), _metadata(metadata))

    def replace_document(
        self,
        document_id: DocumentId,
        chunk_indices: Sequence[int],
        vectors: Sequence[SparseVector],
        metadata: Sequence[Mapping[str, object] | None] | None = None,
    ) -> None:
        """Remove what the document has and insert these chunks, in one step that no search sees half done.

        Arguments and errors are those of `add_many`; after an error the document is as it was.
        """
        self._core.replace_document(document_id, chunk_indices, _packed(vectors), _metadata(metadata))

    def remove(self, document_id: DocumentId) -> int:
        """Remove a document and return how many chunks it had; one that is not there has 0."""
        return self._core.remove(document_id)

    def clear(self) -> None:
        """Remove everything."""
        self._core.clear()

    def search(
        self,
        vector: SparseVector,
        *,
        top_k: int = 10,
        min_score: float = 0.0,
        metadata_filter: Mapping[str, MetadataValue] | None = None,
    ) -> list[SparseHit]:
        """Return the chunks of the greatest dot product, best first; only chunks with a term of the query.

        Args:
            vector: The query's terms and weights.
            top_k: At most so many; 0 asks for none.
            min_score: The least score of a hit; 0.0 is no threshold.
            metadata_filter: Only chunks whose metadata equals every entry, in kind and value; applied before the cut.

        Raises:
            ConfigurationError: `top_k` is negative or `min_score` not finite.
            MetadataError: A filter value is `None` or of no known kind.
            InvalidInputError: `vector` is no `SparseVector`.
        """
        return self.search_many([vector], top_k=top_k, min_score=min_score, metadata_filter=metadata_filter)[0]

    def search_many(
        self,
        vectors: Sequence[SparseVector],
        *,
        top_k: int = 10,
        min_score: float = 0.0,
        metadata_filter: Mapping[str, MetadataValue] | None = None,
    ) -> list[list[SparseHit]]:
        """Return the page of each query, all against one state of the index, by all cores.

        The rest is as in `search`.
        """
        limit = min(require_at_least("top_k", top_k, 0), sys.maxsize)
        floor = require_finite("min_score", min_score)
        pages = self._core.search(_packed(vectors), limit, floor, check_filter(metadata_filter))
        return [list(starmap(SparseHit, hits)) for hits in pages]


def _packed(vectors: Sequence[SparseVector]) -> _Packed:
    for vector in vectors:
        if not isinstance(vector, SparseVector):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"a vector must be a SparseVector, not {type(vector).__name__}: use SparseVector.from_dict or its kin"
            )
    if len(vectors) == 1:
        return np.array([len(vectors[0])], np.uintp), vectors[0].indices, vectors[0].values
    ends = np.cumsum([len(vector) for vector in vectors], dtype=np.uintp)
    # The empty vector lets none be joined as well.
    terms = np.concatenate([_EMPTY.indices, *(vector.indices for vector in vectors)])
    return ends, terms, np.concatenate([_EMPTY.values, *(vector.values for vector in vectors)])


_EMPTY = SparseVector.from_dict({})


def _metadata(metadata: Sequence[Mapping[str, object] | None] | None) -> Iterator[dict[str, MetadataValue]] | None:
    return None if metadata is None else map(check_metadata, metadata)

"""Vector search: exact cosine similarity, live, filtered before the cut.

Usable alone, with ids that are strings or integers and numpy arrays. An array of C-contiguous float32 is read where it
lies, without a copy and with the interpreter lock released, so do not write to it before the call returns; any other
array or sequence of numbers is converted once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Literal, NamedTuple, TypeAlias

from numpy.typing import ArrayLike

from ragstone._core import VectorIndex as _VectorIndex
from ragstone.engine.arrays import as_matrix, as_vector
from ragstone.engine.lexical import DocumentId
from ragstone.metadata import MetadataValue, check_filter, check_metadata
from ragstone.models import Vector
from ragstone.validation import require_at_least, require_finite

__all__ = ["Quantization", "VectorHit", "VectorIndex"]

Quantization: TypeAlias = Literal["int8", "binary", "f16"]
"""How an index may keep its vectors; see `VectorIndex`."""


class VectorHit(NamedTuple):
    """A chunk that was found.

    Attributes:
        document_id: The document, as it was inserted.
        chunk_index: The chunk's place in the document.
        score: Cosine similarity to the query, in [-1, 1].
        handle: Names this version of the chunk: what its insertion returned. No two insertions share one.
    """

    document_id: DocumentId
    chunk_index: int
    score: float
    handle: int


class VectorIndex:
    """A live index of vectors that finds the nearest by cosine similarity, exactly or by codes.

    Vectors are kept at unit length in float32 and scored in double precision, so that a page is the one that a scan in
    double precision gives, on any machine and number of threads. Ties go by (document_id, chunk_index), integer ids
    first. A zero vector, stored or asked for, has a cosine of 0 with everything. Every method may be called from many
    threads at once; a write is seen as a whole or not at all.

    With `quantization` a search reads less memory, or the index takes less:

    - `"int8"` and `"binary"` keep a code beside each vector, of one byte a dimension or of one bit for each of the next
      power of two of dimensions. A first pass over the codes chooses `top_k * oversampling` candidates, which are then
      scored exactly. So a score is always the exact cosine, but a page may lack a neighbour that the first pass did not
      choose. The candidates depend on the vectors alone, not on the order in which they came or the number of threads.
    - `"f16"` keeps the vectors in half precision, in half the memory. Every search scans them all; its scores are exact
      for the vectors so rounded, which differ from those given by less than 0.0005.

    Args:
        dimensions: Length of the vectors; `None` lets the first ones decide.
        quantization: `"int8"`, `"binary"`, `"f16"`, or `None` for vectors in float32 and exact search.
        oversampling: Candidates for each hit asked for, at least 1; `None` for 4 with `"int8"` and 64 with `"binary"`.

    Raises:
        ConfigurationError: `dimensions` or `oversampling` is below 1, `quantization` is none of these, or
            `oversampling` is given where there are no codes.

    Example:
        >>> index = VectorIndex()
        >>> index.upsert(["a", "b"], [0, 0], [[0.8, 0.6], [0.0, 2.0]], [{"lang": "en"}, {"lang": "de"}])
        [0, 1]
        >>> [(hit.document_id, round(hit.score, 4)) for hit in index.search([0.0, 1.0])]
        [('b', 1.0), ('a', 0.6)]
        >>> [hit.document_id for hit in index.search([0.0, 1.0], metadata_filter={"lang": "en"})]
        ['a']
    """

    __slots__ = ("_core",)

    def __init__(
        self,
        dimensions: int | None = None,
        *,
        quantization: Quantization | None = None,
        oversampling: int | None = None,
    ) -> None:
        if dimensions is not None:
            require_at_least("dimensions", dimensions, 1)
        if oversampling is not None:
            oversampling = min(require_at_least("oversampling", oversampling, 1), sys.maxsize)
        self._core = _VectorIndex(dimensions, quantization, oversampling)

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors, or `None` while it is not known."""
        return self._core.dimensions

    def __len__(self) -> int:
        return len(self._core)

    def upsert(
        self,
        document_ids: Sequence[DocumentId],
        chunk_indices: Sequence[int],
        vectors: ArrayLike,
        metadata: Sequence[Mapping[str, object] | None] | None = None,
    ) -> list[int]:
        """Insert chunks, or replace those of the same (document_id, chunk_index): all of them or none.

        Args:
            document_ids: The document of each chunk.
            chunk_indices: The place of each chunk in its document, at least 0.
            vectors: Shape (n, dimensions), row i for chunk i; need not be of unit length.
            metadata: One mapping or `None` a chunk.

        Returns:
            The handle of each chunk. Where a key comes twice the later chunk stays.

        Raises:
            DimensionMismatchError: The vectors are of another length than those in the index.
            InvalidVectorError: A vector holds NaN or infinity; names the chunk.
            MetadataError: A metadata value is of no known kind.
            InvalidInputError: The arguments are of different lengths, or an id or index is out of range.
        """
        entries = _metadata(metadata)
        return self._core.upsert(document_ids, chunk_indices, as_matrix("vectors", vectors), entries)

    def replace_document(
        self,
        document_id: DocumentId,
        chunk_indices: Sequence[int],
        vectors: ArrayLike,
        metadata: Sequence[Mapping[str, object] | None] | None = None,
    ) -> list[int]:
        """Remove what the document has and insert these chunks, in one step that no search sees half done.

        Arguments, result and errors are those of `upsert`; after an error the document is as it was.
        """
        entries = _metadata(metadata)
        return self._core.replace_document(document_id, chunk_indices, as_matrix("vectors", vectors), entries)

    def remove(self, document_id: DocumentId) -> int:
        """Remove a document and return how many chunks it had; one that is not there has 0."""
        return self._core.remove(document_id)

    def clear(self) -> None:
        """Remove everything; dimensions that the first vectors decided are open again."""
        self._core.clear()

    def search(
        self,
        query: ArrayLike,
        *,
        top_k: int = 10,
        min_score: float = 0.0,
        metadata_filter: Mapping[str, MetadataValue] | None = None,
    ) -> list[VectorHit]:
        """Return the chunks nearest to `query`, best first.

        Args:
            query: Shape (dimensions,); need not be of unit length.
            top_k: At most so many; 0 gives none.
            min_score: The least cosine of a hit. 0.0 is no threshold: chunks of negative cosine are hits too.
            metadata_filter: Only chunks whose metadata equals every entry, in kind and value; applied before the cut.

        Raises:
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            DimensionMismatchError: The query is of another length than the vectors in the index.
            InvalidVectorError: The query holds NaN or infinity.
            MetadataError: A filter value is `None` or of no known kind.
        """
        vector = as_vector("query", query)
        hits = self._core.search(vector, *_options(top_k, min_score, metadata_filter))
        return list(starmap(VectorHit, hits))

    def search_many(
        self,
        queries: ArrayLike,
        *,
        top_k: int = 10,
        min_score: float = 0.0,
        metadata_filter: Mapping[str, MetadataValue] | None = None,
    ) -> list[list[VectorHit]]:
        """Return the page of each query, all against one state of the index; faster than one search at a time.

        `queries` has the shape (n, dimensions); the rest is as in `search`.
        """
        matrix = as_matrix("queries", queries)
        pages = self._core.search_many(matrix, *_options(top_k, min_score, metadata_filter))
        return [list(starmap(VectorHit, hits)) for hits in pages]

    def vectors(self, keys: Sequence[tuple[DocumentId, int]]) -> list[Vector | None]:
        """Return the stored vector of each (document_id, chunk_index) at unit length, `None` where it is not there."""
        matrix, found = self._core.vectors([key[0] for key in keys], [key[1] for key in keys])
        rows = iter(matrix)
        return [next(rows) if there else None for there in found]


def _options(
    top_k: int, min_score: float, metadata_filter: Mapping[str, MetadataValue] | None
) -> tuple[int, float, dict[str, MetadataValue] | None]:
    limit = min(require_at_least("top_k", top_k, 0), sys.maxsize)
    return limit, require_finite("min_score", min_score), check_filter(metadata_filter)


def _metadata(metadata: Sequence[Mapping[str, object] | None] | None) -> list[dict[str, MetadataValue]] | None:
    return None if metadata is None else [check_metadata(entry) for entry in metadata]

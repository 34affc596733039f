"""The vector store in PostgreSQL: dense and sparse vectors."""

from __future__ import annotations

from typing import Final

from ragstone.errors import InvalidInputError
from ragstone.models import ScoreScale, SearchOptions, SearchResult
from ragstone.sparse_vector import SparseVector
from ragstone.stores.pgvector.binary import sparse_value
from ragstone.stores.pgvector.connections import Pool
from ragstone.stores.pgvector.rows import check_sparse
from ragstone.stores.pgvector.store import PgVectorStore
from ragstone.stores.pgvector.table import Table

__all__ = ["PgVectorSparseStore"]

_BERT_VOCABULARY: Final = 30_522
"""Terms of BERT's WordPiece vocabulary, which the SPLADE models in use share."""


class PgVectorSparseStore(PgVectorStore):
    """A `PgVectorStore` that keeps the chunks' sparse vectors too, in a column of the same rows, and searches them.

    Implements `SparseSearchable` as well, and needs pgvector 0.7. A chunk that is stored again without a sparse vector
    keeps the one it had; replacing the document leaves nothing.

    Args:
        server: As `PgVectorStore`.
        dimensions: As `PgVectorStore`.
        vocabulary: Number of terms of the sparse encoder, which every term id is below; fixed when the table gets its
            column of sparse vectors.
        collection: As `PgVectorStore`.
        max_connections: As `PgVectorStore`.
        timeout: As `PgVectorStore`.

    Raises:
        ConfigurationError: As `PgVectorStore`.
        MissingDependencyError: As `PgVectorStore`.
    """

    def __init__(
        self,
        server: str | Pool,
        *,
        dimensions: int,
        vocabulary: int = _BERT_VOCABULARY,
        collection: str = "rag_chunks",
        max_connections: int = 10,
        timeout: float = 10.0,
    ) -> None:
        self._vocabulary = vocabulary
        super().__init__(
            server, dimensions=dimensions, collection=collection, max_connections=max_connections, timeout=timeout
        )

    @property
    def vocabulary(self) -> int:
        """Number of terms."""
        return self._vocabulary

    async def sparse_search(self, vector: SparseVector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks of the largest dot products that match the filter and reach `min_score`, best first.

        A chunk that shares no term with the query is no hit. Ties are ordered by key.

        Raises:
            InvalidInputError: `vector` is no `SparseVector`, has more than 1000 terms or one beyond the vocabulary.
            ConfigurationError: `top_k` is negative, or `min_score` is not finite.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: PostgreSQL could not be reached or refused.
        """
        if not isinstance(vector, SparseVector):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"the query is a {type(vector).__name__}: use SparseVector")
        check_sparse(vector, self._vocabulary, "the query")
        query = sparse_value(vector, self._vocabulary)
        return await self._page(self._table.greatest, query, options, ScoreScale.DOT)

    def _described(self, name: str, dimensions: int) -> Table:
        return Table(name, dimensions, self._vocabulary)

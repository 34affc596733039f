"""The vector store in PostgreSQL: vectors and words, fused by the server."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Final

from ragstone.models import ScoreScale, SearchOptions, SearchResult, Vector
from ragstone.stores._vectors import checked_query
from ragstone.stores.pgvector.binary import vector_value
from ragstone.stores.pgvector.connections import Pool
from ragstone.stores.pgvector.rows import fits
from ragstone.stores.pgvector.store import PgVectorStore
from ragstone.stores.pgvector.table import FILTER, Table

__all__ = ["PgVectorHybridStore"]

_K: Final = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

_SMALLEST_WINDOW: Final = 50
_OVERFETCH: Final = 3


class PgVectorHybridStore(PgVectorStore):
    """A `PgVectorStore` that searches words too, by PostgreSQL's full text search, and fuses both in one statement.

    Implements `HybridSearchable` as well, so that hybrid retrieval needs no keyword index in the process and holds for
    what other processes store. Words are ranked by `ts_rank_cd`, which is no BM25: it does not know how rare a word is.
    A chunk that has one of the query's words is a hit.

    Args:
        server: As `PgVectorStore`.
        dimensions: As `PgVectorStore`.
        language: A text search configuration of PostgreSQL: `"english"` stems and leaves out stop words, `"simple"`
            does neither. Fixed when the table gets its column of words, which rewrites a table that is there.
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
        language: str = "simple",
        collection: str = "rag_chunks",
        max_connections: int = 10,
        timeout: float = 10.0,
    ) -> None:
        self._language = language
        super().__init__(
            server, dimensions=dimensions, collection=collection, max_connections=max_connections, timeout=timeout
        )

    @property
    def language(self) -> str:
        """The text search configuration."""
        return self._language

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the chunks with the largest sums of 1 / (60 + rank) over both rankings, best first; ties by key.

        Each ranking is max(50, 3 · top_k) chunks deep. `options.min_score` is not applied: fused scores bear none.

        Raises:
            DimensionMismatchError: The query is of another length than the stored vectors.
            InvalidVectorError: The query holds NaN or infinity.
            ConfigurationError: `top_k` is negative.
            MetadataError: A filter value is `None` or of no known kind.
            StoreError: PostgreSQL could not be reached or refused.
        """
        query = vector_value(checked_query(embedding, self.dimensions))
        further = {
            "language": self._language,
            "text": text if fits(text) else "",
            "depth": max(_SMALLEST_WINDOW, _OVERFETCH * options.top_k),
            "k": _K,
        }
        return await self._page(partial(_fused, self.collection), query, options, ScoreScale.RRF, **further)

    def _described(self, name: str, dimensions: int) -> Table:
        return Table(name, dimensions, language=self._language)


@lru_cache(maxsize=64)
def _fused(name: str, *, filtered: bool, floor: bool) -> bytes:  # noqa: ARG001 - a fused score has no floor
    """Both rankings and their sums, negated, so that smaller is better as in every statement."""
    from psycopg.sql import SQL, Identifier

    return (
        SQL("""
        WITH asked AS MATERIALIZED (
            SELECT replace(plainto_tsquery(%(language)s::regconfig, %(text)s)::text, ' & ', ' | ')::tsquery AS terms
        ), dense AS (
            SELECT id, row_number() OVER (ORDER BY distance, document_id COLLATE "C", chunk_index) AS rank FROM (
                SELECT id, document_id, chunk_index, embedding <=> %(query)s::vector AS distance FROM {table}
                WHERE TRUE{filter} ORDER BY embedding <=> %(query)s::vector LIMIT %(depth)s
            ) AS nearest
        ), keyword AS (
            SELECT id, row_number() OVER (ORDER BY weight DESC, document_id COLLATE "C", chunk_index) AS rank FROM (
                SELECT id, document_id, chunk_index, ts_rank_cd(words, terms) AS weight FROM {table}, asked
                WHERE words @@ terms{filter}
                ORDER BY weight DESC, document_id COLLATE "C", chunk_index LIMIT %(depth)s
            ) AS best
        ), fused AS (
            SELECT id, -sum(1 / (%(k)s + rank)::float8) AS score
            FROM (SELECT * FROM dense UNION ALL SELECT * FROM keyword) AS both_rankings GROUP BY id
        )
        SELECT document_id, chunk_index, text, metadata::text, start_offset, end_offset, score
        FROM fused JOIN {table} USING (id)
        ORDER BY score, document_id COLLATE "C", chunk_index LIMIT %(top_k)s
        """)
        .format(table=Identifier(name), filter=SQL(FILTER if filtered else ""))
        .as_bytes(None)
    )

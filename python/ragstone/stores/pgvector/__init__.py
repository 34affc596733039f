"""Chunks in PostgreSQL with the extension pgvector."""

from ragstone.stores.pgvector.hybrid import PgVectorHybridStore
from ragstone.stores.pgvector.sparse import PgVectorSparseStore
from ragstone.stores.pgvector.store import PgVectorStore

__all__ = ["PgVectorHybridStore", "PgVectorSparseStore", "PgVectorStore"]

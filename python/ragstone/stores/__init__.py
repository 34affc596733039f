"""Vector stores, and the keyword index and the store of parents in memory; one module each."""

from ragstone.stores.keywords import InMemoryBm25Index
from ragstone.stores.memory import InMemoryVectorStore
from ragstone.stores.parents import InMemoryParentChunkStore
from ragstone.stores.pgvector import PgVectorHybridStore, PgVectorSparseStore, PgVectorStore

__all__ = [
    "InMemoryBm25Index",
    "InMemoryParentChunkStore",
    "InMemoryVectorStore",
    "PgVectorHybridStore",
    "PgVectorSparseStore",
    "PgVectorStore",
]

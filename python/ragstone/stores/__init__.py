"""Vector stores and the in-memory keyword index, one module a backend."""

from ragstone.stores.memory import InMemoryBm25Index, InMemoryVectorStore

__all__ = ["InMemoryBm25Index", "InMemoryVectorStore"]

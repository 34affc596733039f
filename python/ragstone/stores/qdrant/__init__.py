"""Qdrant: `store` is the store, `points` says how a chunk is kept and filtered, `server` holds the collections."""

from ragstone.stores.qdrant.store import QdrantSparseStore, QdrantStore

__all__ = ["QdrantSparseStore", "QdrantStore"]

"""Pinecone as a vector store, dense alone or with sparse vectors beside."""

from ragstone.stores.pinecone.store import PineconeSparseStore, PineconeStore

__all__ = ["PineconeSparseStore", "PineconeStore"]

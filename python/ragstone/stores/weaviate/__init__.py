"""Weaviate as a vector store."""

from ragstone.stores.weaviate.store import WeaviateStore

__all__ = ["WeaviateStore"]

"""Chunks as records of a Chroma collection."""

from ragstone.stores.chroma.store import ChromaStore

__all__ = ["ChromaStore"]

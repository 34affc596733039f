"""Vector stores, and the keyword index and the store of parents in memory; one module or package each."""

from ragstone.stores.chroma import ChromaStore
from ragstone.stores.keywords import InMemoryBm25Index
from ragstone.stores.memory import InMemoryVectorStore
from ragstone.stores.parents import InMemoryParentChunkStore
from ragstone.stores.redis import RedisVectorStore

__all__ = ["ChromaStore", "InMemoryBm25Index", "InMemoryParentChunkStore", "InMemoryVectorStore", "RedisVectorStore"]

"""Vector stores, and the keyword index and the store of parents in memory; one module each."""

from ragstone.stores.azure_ai_search import AzureAISearchStore
from ragstone.stores.keywords import InMemoryBm25Index
from ragstone.stores.memory import InMemoryVectorStore
from ragstone.stores.parents import InMemoryParentChunkStore
from ragstone.stores.weaviate import WeaviateStore

__all__ = [
    "AzureAISearchStore",
    "InMemoryBm25Index",
    "InMemoryParentChunkStore",
    "InMemoryVectorStore",
    "WeaviateStore",
]

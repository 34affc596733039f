"""Vector stores, and the keyword index and the store of parents in memory; one module each."""

from ragstone.stores.federated import FederatedVectorStore
from ragstone.stores.keywords import InMemoryBm25Index
from ragstone.stores.memory import InMemoryVectorStore
from ragstone.stores.parents import InMemoryParentChunkStore
from ragstone.stores.resilient import ResilientVectorStore

__all__ = [
    "FederatedVectorStore",
    "InMemoryBm25Index",
    "InMemoryParentChunkStore",
    "InMemoryVectorStore",
    "ResilientVectorStore",
]

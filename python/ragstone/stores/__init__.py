"""Vector stores, and the keyword index and the store of parents in memory; one module or package each."""

from ragstone.stores.azure_ai_search import AzureAISearchStore
from ragstone.stores.chroma import ChromaStore
from ragstone.stores.federated import FederatedVectorStore
from ragstone.stores.keywords import InMemoryBm25Index
from ragstone.stores.memory import InMemoryVectorStore
from ragstone.stores.parents import InMemoryParentChunkStore
from ragstone.stores.pgvector import PgVectorHybridStore, PgVectorSparseStore, PgVectorStore
from ragstone.stores.pinecone import PineconeSparseStore, PineconeStore
from ragstone.stores.qdrant import QdrantSparseStore, QdrantStore
from ragstone.stores.redis import RedisVectorStore
from ragstone.stores.resilient import ResilientVectorStore
from ragstone.stores.weaviate import WeaviateStore

__all__ = [
    "AzureAISearchStore",
    "ChromaStore",
    "FederatedVectorStore",
    "InMemoryBm25Index",
    "InMemoryParentChunkStore",
    "InMemoryVectorStore",
    "PgVectorHybridStore",
    "PgVectorSparseStore",
    "PgVectorStore",
    "PineconeSparseStore",
    "PineconeStore",
    "QdrantSparseStore",
    "QdrantStore",
    "RedisVectorStore",
    "ResilientVectorStore",
    "WeaviateStore",
]

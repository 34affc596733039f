"""The protocols at which Ragstone is open: implement one and hand it to the pipeline.

None of them is to be inherited from; a class with the right methods is one. Methods that may wait are `async`; those
that only compute are plain and are called in a worker thread where they may take more than a millisecond.
"""

from ragstone.ports.asking import ChatClient, PromptObserver
from ragstone.ports.caching import CacheBackend, Clock
from ragstone.ports.encoders import Embedder, InputType, SparseEmbedder, TokenCounter
from ragstone.ports.ingestion import (
    ChunkingStrategy,
    DocumentJournal,
    DocumentParser,
    ProgressCallback,
    TextDocumentParser,
)
from ragstone.ports.retrieval import Compressor, Reranker, RetrievalGuard, VocabularyAware, WebSearch
from ragstone.ports.stores import (
    CollectionManageable,
    DocumentReplaceable,
    EmbeddingReadable,
    HybridSearchable,
    KeywordIndex,
    NativeOnly,
    ParentChunkStore,
    ScoreScaleAware,
    SparseSearchable,
    StoreDecorator,
    VectorStore,
)

__all__ = [
    "CacheBackend",
    "ChatClient",
    "ChunkingStrategy",
    "Clock",
    "CollectionManageable",
    "Compressor",
    "DocumentJournal",
    "DocumentParser",
    "DocumentReplaceable",
    "Embedder",
    "EmbeddingReadable",
    "HybridSearchable",
    "InputType",
    "KeywordIndex",
    "NativeOnly",
    "ParentChunkStore",
    "ProgressCallback",
    "PromptObserver",
    "Reranker",
    "RetrievalGuard",
    "ScoreScaleAware",
    "SparseEmbedder",
    "SparseSearchable",
    "StoreDecorator",
    "TextDocumentParser",
    "TokenCounter",
    "VectorStore",
    "VocabularyAware",
    "WebSearch",
]

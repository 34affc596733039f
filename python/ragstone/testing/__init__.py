"""What tests of programs, stores and adapters need.

The fakes need no model and no service: embedders in `embedders`, sparse encoders in `sparse_encoders`, chat models in
`chat`, rerankers in `rerankers`, web searches in `web_search`, of each one that works, one that fails and one that
hangs; and in `clock` a clock that stands still. `ragstone.testing.store_contract` is the suite that every vector store
passes; it needs pytest, pytest-asyncio and hypothesis, which only that module imports.
"""

from ragstone.testing.chat import ChatRequest, FailingChat, HangingChat, ScriptedChat
from ragstone.testing.clock import SettableClock
from ragstone.testing.embedders import EmbedRequest, FailingEmbedder, HangingEmbedder, HashEmbedder
from ragstone.testing.rerankers import FailingReranker, HangingReranker, RerankRequest, ScriptedReranker
from ragstone.testing.sparse_encoders import FailingSparseEncoder, HangingSparseEncoder, HashSparseEncoder
from ragstone.testing.web_search import FailingWebSearch, HangingWebSearch, ScriptedWebSearch, WebRequest

__all__ = [
    "ChatRequest",
    "EmbedRequest",
    "FailingChat",
    "FailingEmbedder",
    "FailingReranker",
    "FailingSparseEncoder",
    "FailingWebSearch",
    "HangingChat",
    "HangingEmbedder",
    "HangingReranker",
    "HangingSparseEncoder",
    "HangingWebSearch",
    "HashEmbedder",
    "HashSparseEncoder",
    "RerankRequest",
    "ScriptedChat",
    "ScriptedReranker",
    "ScriptedWebSearch",
    "SettableClock",
    "WebRequest",
]

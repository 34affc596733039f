"""For tests of code that uses Ragstone, and of parts that plug into it.

`ragstone.testing.fakes` and `ragstone.testing.sparse_fakes` hold encoders that need no model;
`ragstone.testing.store_contract` is the suite that every vector store passes (it needs pytest, pytest-asyncio and
hypothesis, which only that module imports).
"""

from ragstone.testing.fakes import EmbedRequest, FailingEmbedder, HangingEmbedder, HashEmbedder
from ragstone.testing.sparse_fakes import FailingSparseEncoder, HangingSparseEncoder, HashSparseEncoder

__all__ = [
    "EmbedRequest",
    "FailingEmbedder",
    "FailingSparseEncoder",
    "HangingEmbedder",
    "HangingSparseEncoder",
    "HashEmbedder",
    "HashSparseEncoder",
]

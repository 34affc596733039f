"""The small types that all others are made of."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ChunkKey",
    "ScoreScale",
    "Vector",
    "Vectors",
]


Vector: TypeAlias = NDArray[np.float32]
"""One embedding, shape (dimensions,), float32."""

Vectors: TypeAlias = NDArray[np.float32]
"""A batch of embeddings, shape (n, dimensions), float32, C-contiguous."""


class ChunkKey(NamedTuple):
    """What identifies a chunk everywhere: its document and its place in it. Never its text."""

    document_id: str
    chunk_index: int


class ScoreScale(StrEnum):
    """What a score means; scores of different scales are never compared."""

    SIMILARITY = "similarity"
    """Cosine similarity, in [-1, 1]."""
    DOT = "dot"
    """Dot product of sparse vectors, ≥ 0."""
    BM25 = "bm25"
    """BM25 in Lucene's form, > 0."""
    RRF = "rrf"
    """A sum of reciprocal ranks, about 0.016 an arm."""
    RELATIVE = "relative"
    """A weighted sum of min-max scaled scores, in [0, 1]."""
    BACKEND = "backend"
    """A store's own fusion scale: meaningful only as an order."""
    RERANK = "rerank"
    """A reranker's own scale."""
    DECAYED = "decayed"
    """A score multiplied by a time decay."""

"""Extractive compression: the sentences nearest to the query stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragstone.compressors.sentences import Limit, Sentences
from ragstone.concurrency import offload
from ragstone.encoders.checked import embed_checked
from ragstone.models import Vector, Vectors
from ragstone.ports import Embedder

__all__ = ["ExtractiveCompressor"]


class ExtractiveCompressor:
    """Keeps the sentences whose embeddings are nearest to the query's, in the order of the text.

    The sentences of all texts are embedded in one batch. A text that is within the limit stays whole and embeds
    nothing. Of every other at least one sentence stays, even one over `max_tokens_per_chunk`.

    Args:
        embedder: Embeds the query and the sentences.
        keep_top_sentences: How many sentences stay.
        max_tokens_per_chunk: How many cl100k_base tokens stay; `keep_top_sentences` wins over it.

    Raises:
        ConfigurationError: Neither limit is set, or one is below 1.

    Example:
        >>> import asyncio
        >>> from ragstone.testing import HashEmbedder
        >>> compressor = ExtractiveCompressor(HashEmbedder(256), keep_top_sentences=1)
        >>> asyncio.run(compressor.compress("paid leave", ["Lunch is at noon. Leave is paid. The tower is tall."]))
        ['Leave is paid.']
    """

    def __init__(
        self, embedder: Embedder, *, keep_top_sentences: int | None = None, max_tokens_per_chunk: int | None = None
    ) -> None:
        self._embedder = embedder
        self._limit = Limit(sentences=keep_top_sentences, tokens=max_tokens_per_chunk)

    @property
    def identity(self) -> str:
        """Names the strategy, the limit and the embedder."""
        return f"extractive/{self._limit}/{self._embedder.identity}"

    async def compress(self, query: str, texts: Sequence[str]) -> list[str | None]:
        """Return one compressed text a text, in order.

        Raises:
            EmbeddingError: The embedder failed.
        """
        cut = await offload(self._too_long, texts)
        compressed: list[str | None] = list(texts)
        if not cut:
            return compressed
        wanted = (await embed_checked(self._embedder, [query], input_type="query"))[0]
        sentences = [sentence for text in cut.values() for sentence in text.texts()]
        vectors = await embed_checked(self._embedder, sentences, input_type="document")
        for place, text in (await offload(self._chosen, cut, wanted, vectors)).items():
            compressed[place] = text
        return compressed

    def _too_long(self, texts: Sequence[str]) -> dict[int, Sentences]:
        parted = ((place, Sentences(text)) for place, text in enumerate(texts))
        return {place: text for place, text in parted if not text.fits(self._limit) and len(text) > 1}

    def _chosen(self, cut: dict[int, Sentences], wanted: Vector, vectors: Vectors) -> dict[int, str]:
        similarities = _cosines(wanted, vectors)
        chosen: dict[int, str] = {}
        start = 0
        for place, text in cut.items():
            own = similarities[start : start + len(text)]
            start += len(text)
            ranked: list[int] = np.argsort(-own, kind="stable").tolist()
            chosen[place] = text.best(ranked, self._limit)
        return chosen


def _cosines(query: Vector, vectors: Vectors) -> Vector:
    """The cosine of the query and each vector; 0 with a zero vector."""
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return np.asarray(vectors @ query / np.where(lengths > 0.0, lengths, 1.0), dtype=np.float32)

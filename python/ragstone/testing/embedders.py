"""Embedders for tests: deterministic, instant, without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ragstone.errors import EmbeddingError
from ragstone.models import Vectors
from ragstone.ports import InputType
from ragstone.testing._faults import Gate, PlannedFailure
from ragstone.validation import require_at_least

__all__ = ["EmbedRequest", "FailingEmbedder", "HangingEmbedder", "HashEmbedder"]

_WORD = re.compile(r"\w+")


class EmbedRequest(NamedTuple):
    """One call of `embed`: what was asked for."""

    texts: tuple[str, ...]
    input_type: InputType


class HashEmbedder:
    """A bag-of-words embedder: the more words two texts share, the closer their vectors.

    Each lower-cased word counts into the bucket that its BLAKE2b hash names, and the counts are scaled to unit length.
    The same text has the same vector in every process, texts without a common word have a cosine of 0 (collisions of
    buckets aside) and a text without words is the zero vector. Where no word repeats and no bucket collides, the cosine
    of two texts is `shared / sqrt(words_a * words_b)`.

    Attributes:
        requests: Every call so far, in order.

    Args:
        dimensions: Length of the vectors; more make collisions rarer.

    Raises:
        ConfigurationError: `dimensions` is below 1.

    Example:
        >>> import asyncio
        >>> embedder = HashEmbedder(dimensions=256)
        >>> a, b, c = asyncio.run(embedder.embed(["paid leave", "unpaid leave", "brown fox"]))
        >>> bool(a @ b > a @ c)
        True
        >>> embedder.calls
        1
    """

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = require_at_least("dimensions", dimensions, 1)
        self.requests: list[EmbedRequest] = []

    @property
    def identity(self) -> str:
        """Names the embedder and its dimensions."""
        return f"ragstone.testing.HashEmbedder({self._dimensions})"

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        return self._dimensions

    @property
    def calls(self) -> int:
        """How many times `embed` was called."""
        return len(self.requests)

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Return one vector a text, shape (len(texts), dimensions), float32; `input_type` changes nothing."""
        self.requests.append(EmbedRequest(tuple(texts), input_type))
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return what `embed` would, without a request on record."""
        counts = np.zeros((len(texts), self._dimensions), dtype=np.float64)
        for row, text in zip(counts, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                row[int.from_bytes(digest) % self._dimensions] += 1.0
        norms = np.linalg.norm(counts, axis=1, keepdims=True)
        counts /= np.where(norms > 0, norms, 1.0)
        return counts.astype(np.float32)


class FailingEmbedder(HashEmbedder):
    """A `HashEmbedder` that fails.

    Args:
        error: What `embed` raises; an `EmbeddingError` by default.
        after: How many calls succeed first.
        dimensions: As in `HashEmbedder`.
    """

    def __init__(self, error: Exception | None = None, *, after: int = 0, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self._failure = PlannedFailure(error or EmbeddingError("the embedder failed, as the test told it to"), after)

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Record the call; raise the error once `after` calls have succeeded.

        Raises:
            Exception: The `error` handed to the constructor.
        """
        vectors = await super().embed(texts, input_type=input_type)
        self._failure.strike(self.calls)
        return vectors


class HangingEmbedder(HashEmbedder, Gate):
    """A `HashEmbedder` that does not answer until `release` is set, to test cancellation and time limits.

    Attributes:
        started: Set when a call has come.
        release: Set it to let every call answer.
        cancelled: How many calls were cancelled while they waited.
    """

    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        Gate.__init__(self)

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Record the call, wait for `release`, then answer.

        Raises:
            asyncio.CancelledError: The caller was cancelled; counted in `cancelled`.
        """
        vectors = await super().embed(texts, input_type=input_type)
        await self._held()
        return vectors

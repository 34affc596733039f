"""Sparse encoders for tests: deterministic, instant, without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from ragstone.errors import EmbeddingError
from ragstone.ports import InputType
from ragstone.sparse_vector import SparseVector
from ragstone.testing._faults import Gate, PlannedFailure
from ragstone.testing.embedders import EmbedRequest

__all__ = ["FailingSparseEncoder", "HangingSparseEncoder", "HashSparseEncoder"]

_WORD: Final = re.compile(r"\w+")


class HashSparseEncoder:
    """A bag-of-words encoder: a term for each lower-cased word, weighed by how often it occurs.

    The term is the word's BLAKE2b hash, 32 bits of it, the same in every process. The dot product of two texts without
    repeated words is the number of words that they share.

    Attributes:
        requests: Every call so far, in order.

    Args:
        name: Part of `identity`: encoders of different names stand for different models.

    Example:
        >>> import asyncio
        >>> [vector] = asyncio.run(HashSparseEncoder().embed_sparse(["paid leave, paid well"]))
        >>> sorted(vector.to_dict().values())
        [1.0, 1.0, 2.0]
    """

    def __init__(self, name: str = "words") -> None:
        self._name = name
        self.requests: list[EmbedRequest] = []

    @property
    def identity(self) -> str:
        """Names the encoder."""
        return f"ragstone.testing.HashSparseEncoder({self._name})"

    @property
    def calls(self) -> int:
        """How many times `embed_sparse` was called."""
        return len(self.requests)

    async def embed_sparse(self, texts: Sequence[str], *, input_type: InputType = "document") -> list[SparseVector]:
        """Return one vector a text; `input_type` changes nothing."""
        self.requests.append(EmbedRequest(tuple(texts), input_type))
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return what `embed_sparse` would, without a request on record."""
        return [SparseVector.from_dict(Counter(map(_term, _WORD.findall(text.lower())))) for text in texts]


class FailingSparseEncoder(HashSparseEncoder):
    """A `HashSparseEncoder` that fails.

    Args:
        error: What `embed_sparse` raises; an `EmbeddingError` by default.
        after: How many calls succeed first.
        name: As in `HashSparseEncoder`.
    """

    def __init__(self, error: Exception | None = None, *, after: int = 0, name: str = "words") -> None:
        super().__init__(name)
        self._failure = PlannedFailure(
            error or EmbeddingError("the sparse encoder failed, as the test told it to"), after
        )

    async def embed_sparse(self, texts: Sequence[str], *, input_type: InputType = "document") -> list[SparseVector]:
        """Record the call; raise the error once `after` calls have succeeded.

        Raises:
            Exception: The `error` handed to the constructor.
        """
        vectors = await super().embed_sparse(texts, input_type=input_type)
        self._failure.strike(self.calls)
        return vectors


class HangingSparseEncoder(HashSparseEncoder, Gate):
    """A `HashSparseEncoder` that does not answer until `release` is set, to test cancellation and time limits.

    Attributes:
        started: Set when a call has come.
        release: Set it to let every call answer.
        cancelled: How many calls were cancelled while they waited.
    """

    def __init__(self, name: str = "words") -> None:
        super().__init__(name)
        Gate.__init__(self)

    async def embed_sparse(self, texts: Sequence[str], *, input_type: InputType = "document") -> list[SparseVector]:
        """Record the call, wait for `release`, then answer.

        Raises:
            asyncio.CancelledError: The caller was cancelled; counted in `cancelled`.
        """
        vectors = await super().embed_sparse(texts, input_type=input_type)
        await self._held()
        return vectors


def _term(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest())

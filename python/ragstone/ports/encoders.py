"""What turns texts into vectors, and counts their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ragstone.models import Vectors
from ragstone.sparse_vector import SparseVector

__all__ = ["Embedder", "InputType", "SparseEmbedder", "TokenCounter"]

InputType: TypeAlias = Literal["document", "query"]
"""What a text to embed is: some models put another prefix before questions than before passages."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Names the model and everything that changes its vectors; stamped on an index and part of cache keys."""
        ...

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors, or `None` while it is not known."""
        ...

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Return one vector a text, in order, shape (len(texts), dimensions), float32, finite.

        Raises:
            EmbeddingError: The model failed or its answer does not fit the question.
        """
        ...


@runtime_checkable
class SparseEmbedder(Protocol):
    """Turns texts into learned sparse vectors."""

    @property
    def identity(self) -> str:
        """Names the model and everything that changes its vectors; stamped on an index and part of cache keys."""
        ...

    async def embed_sparse(self, texts: Sequence[str], *, input_type: InputType = "document") -> list[SparseVector]:
        """Return one vector a text, in order.

        Raises:
            EmbeddingError: The model failed or its answer does not fit the question.
        """
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts a model's tokens."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; special tokens in a text count as text."""
        ...

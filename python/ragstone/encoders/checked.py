"""Embedding with the answer verified: the one way in which ingestion and retrieval ask an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from ragstone.concurrency import together
from ragstone.errors import ConfigurationError, EmbeddingError, RagError
from ragstone.models import Vectors
from ragstone.ports import Embedder, InputType, SparseEmbedder
from ragstone.sparse_vector import SparseVector

__all__ = ["embed_checked", "embed_sparse_checked", "verify_vectors"]

_LOCATE_SECONDS: Final = 10.0


async def embed_checked(embedder: Embedder, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
    """Embed texts and verify the answer, so that no wrong vector gets further than here.

    When a foreign embedder raises on several texts, the one that it cannot take is looked for by halving the batch,
    unless the error is one of the operating system or a timeout, which no text is to blame for.

    Args:
        embedder: The model to ask.
        texts: What to embed; none of it makes no call.
        input_type: Whether they are passages or questions.

    Returns:
        One vector a text, in order: shape (len(texts), dimensions), float32, C-contiguous, finite.

    Raises:
        EmbeddingError: The model failed, or its answer has another count, shape or dimension, or holds NaN or infinity.
            It names a text by its place among `texts`, never by its content.
        RagError: What the embedder itself raised of this kind, unchanged.

    Example:
        >>> import asyncio
        >>> from ragstone.testing import HashEmbedder
        >>> asyncio.run(embed_checked(HashEmbedder(8), ["one", "two"])).shape
        (2, 8)
    """
    if not texts:
        return np.empty((0, embedder.dimensions or 0), dtype=np.float32)
    try:
        answer = await embedder.embed(texts, input_type=input_type)
    except RagError:
        raise
    except Exception as error:
        index = await _culprit(embedder, texts, input_type, error)
        where = f"text {index} of {len(texts)}" if index is not None else f"a batch of {len(texts)} texts"
        raise EmbeddingError(
            f"{embedder.identity}: embedding {where} failed with {type(error).__name__}; see the chained exception",
            text_index=index,
        ) from error
    return verify_vectors(answer, count=len(texts), dimensions=embedder.dimensions, identity=embedder.identity)


async def embed_sparse_checked(
    encoder: SparseEmbedder, texts: Sequence[str], *, input_type: InputType = "document"
) -> list[SparseVector]:
    """Encode texts as sparse vectors and verify the answer, so that no wrong vector gets further than here.

    Args:
        encoder: The model to ask.
        texts: What to encode; none of it makes no call.
        input_type: Whether they are passages or questions.

    Returns:
        One vector a text, in order.

    Raises:
        EmbeddingError: The model failed, or its answer is no list of one `SparseVector` a text.
        ConfigurationError: The encoder is not set up as it should be.
    """
    if not texts:
        return []
    try:
        answer = await encoder.embed_sparse(texts, input_type=input_type)
    except (ConfigurationError, EmbeddingError):
        raise
    except Exception as error:
        raise EmbeddingError(
            f"{encoder.identity}: encoding {len(texts)} texts failed with {type(error).__name__}; "
            "see the chained exception"
        ) from error
    return _verified_sparse(answer, count=len(texts), identity=encoder.identity)


def _verified_sparse(answer: object, *, count: int, identity: str) -> list[SparseVector]:
    vectors = list(cast("Sequence[object]", answer)) if isinstance(answer, (list, tuple)) else []
    found = [vector for vector in vectors if isinstance(vector, SparseVector)]
    if len(found) != count or len(vectors) != count:
        raise EmbeddingError(f"{identity}: the answer to {count} texts is not one SparseVector for each")
    return found


def verify_vectors(answer: object, *, count: int, dimensions: int | None, identity: str, first: int = 0) -> Vectors:
    """Check a model's answer and return it as float32.

    Args:
        answer: Anything that numpy makes an array of.
        count: How many vectors are due.
        dimensions: How long each has to be, `None` if any length will do.
        identity: Names the model in an error.
        first: The place of the first text, where these are part of more.

    Returns:
        Shape (count, dimensions), float32, C-contiguous, finite; `answer` itself where it is all that already.

    Raises:
        EmbeddingError: It is something else.
    """
    try:
        array = np.asarray(answer)
    except ValueError as error:
        raise EmbeddingError(f"{identity}: the vectors of one answer have different lengths") from error
    if array.dtype.kind not in "fiu":
        raise EmbeddingError(f"{identity}: answered with {array.dtype} where vectors of numbers are due")
    if array.ndim == 0 or len(array) != count:
        found = 0 if array.ndim == 0 else len(array)
        raise EmbeddingError(f"{identity}: {count} texts went in and {found} vectors came back")
    if array.ndim != 2 or array.shape[1] == 0:  # noqa: PLR2004 (rows and columns)
        raise EmbeddingError(f"{identity}: the answer has shape {array.shape} instead of ({count}, dimensions)")
    if dimensions is not None and array.shape[1] != dimensions:
        raise EmbeddingError(f"{identity}: vectors of {array.shape[1]} dimensions came back instead of {dimensions}")
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(array, dtype=np.float32)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        index = first + int(np.argmin(finite))
        raise EmbeddingError(f"{identity}: the vector of text {index} holds NaN or infinity", text_index=index)
    return vectors


async def _culprit(embedder: Embedder, texts: Sequence[str], input_type: InputType, error: Exception) -> int | None:
    """The index of the one text that the embedder cannot take; `None` if that is not what happened."""
    if isinstance(error, OSError) or _is_cancelled():
        return None
    try:
        async with asyncio.timeout(_LOCATE_SECONDS):
            (index,) = await together([_narrow(embedder, texts, input_type)])
    except TimeoutError:
        return None
    return index


async def _narrow(embedder: Embedder, texts: Sequence[str], input_type: InputType) -> int | None:
    async def fails(first: int, last: int) -> bool:
        try:
            await embedder.embed(texts[first:last], input_type=input_type)
        except Exception:
            if _is_cancelled():
                raise
            return True
        return False

    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if await fails(low, middle) else (middle, high)
    if len(texts) == 1:
        return 0
    other = 1 if low == 0 else 0
    return low if await fails(low, high) and not await fails(other, other + 1) else None


def _is_cancelled() -> bool:
    """Whether the task was cancelled and the embedder made an error of its own of that."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

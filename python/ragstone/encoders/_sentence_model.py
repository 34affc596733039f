"""A sentence transformer: tokens in, one vector a text out. Plain computation, called in a worker thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ragstone.encoders._batches import feeds, mask_of, require_token_inputs
from ragstone.encoders._onnx import OnnxGraph
from ragstone.encoders._tokenizer import ModelTokenizer, Tokens
from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.models import Vectors

__all__ = ["POOLINGS", "Pooling", "SentenceModel"]

Pooling: TypeAlias = Literal["mean", "cls", "model"]
"""How token vectors become one: their mean, the first token's, or as the graph itself does it."""

POOLINGS: Final[tuple[str, ...]] = get_args(Pooling)

_TOKEN_OUTPUTS: Final = ("last_hidden_state", "token_embeddings")
_SENTENCE_OUTPUTS: Final = ("sentence_embedding", "pooled")
_TOKEN_RANK: Final = 3
_SENTENCE_RANK: Final = 2


class SentenceModel:
    """A graph with its tokenizer and pooling.

    Args:
        graph: Takes `input_ids` and, where it asks for them, `attention_mask` and `token_type_ids`, each of shape
            (batch, tokens); gives token vectors of shape (batch, tokens, dimensions) or, where it pools by itself,
            (batch, dimensions).
        tokenizer: Makes the ids.
        pooling: Which of its outputs to use, and how.
        normalize: Whether vectors are scaled to length 1; a zero vector stays zero.

    Raises:
        ConfigurationError: The graph asks for another input, or has no output of the kind that the pooling needs.
        EmbeddingError: Its dimensions are not fixed in the graph, and a trial run failed.
    """

    __slots__ = ("_graph", "_normalize", "_output", "_pooling", "_tokenizer", "dimensions")

    def __init__(self, graph: OnnxGraph, tokenizer: ModelTokenizer, *, pooling: Pooling, normalize: bool) -> None:
        require_token_inputs(graph, "a sentence transformer")
        self._graph = graph
        self._tokenizer = tokenizer
        self._pooling: Pooling = pooling
        self._normalize = normalize
        self._output = _choose_output(graph, pooling)
        last = graph.outputs[self._output][-1]
        self.dimensions: int = last if isinstance(last, int) else self.infer(self.encode([""])).shape[1]
        """Length of the vectors."""

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise."""
        return self._tokenizer.encode(texts)

    def infer(self, batch: Sequence[Tokens]) -> Vectors:
        """Run one batch, padded to its longest text.

        Returns:
            Shape (len(batch), dimensions), float32.

        Raises:
            EmbeddingError: The run failed.
        """
        mask = mask_of(batch)
        answer = self._graph.run(self._output, feeds(self._graph, batch, mask, self._tokenizer.padding_id))
        vectors = self._pool(answer.astype(np.float32, copy=False), mask)
        return _unit_length(vectors) if self._normalize else vectors

    def _pool(self, answer: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        rank = _SENTENCE_RANK if self._pooling == "model" else _TOKEN_RANK
        if answer.ndim != rank:
            raise EmbeddingError(f"the model's output '{self._output}' has shape {answer.shape}, not {rank} axes")
        if self._pooling == "model":
            return answer
        if self._pooling == "cls":
            return answer[:, 0, :]
        return _mean_pool(answer, mask)


def _mean_pool(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """Average the vectors of the attended tokens; a text without any has the zero vector.

    Args:
        states: Shape (batch, tokens, dimensions).
        mask: Shape (batch, tokens): 1 for a token, 0 for padding.

    Returns:
        Shape (batch, dimensions).
    """
    weights = mask.astype(np.float32)
    sums: NDArray[np.float32] = np.matmul(weights[:, np.newaxis, :], states)[:, 0, :]
    sums /= np.maximum(weights.sum(axis=1, keepdims=True), np.float32(1.0))
    return sums


def _unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[norms == 0.0] = 1.0
    unit: NDArray[np.float32] = np.divide(vectors, norms, dtype=np.float32)
    return unit


def _choose_output(graph: OnnxGraph, pooling: Pooling) -> str:
    known, rank = (_SENTENCE_OUTPUTS, _SENTENCE_RANK) if pooling == "model" else (_TOKEN_OUTPUTS, _TOKEN_RANK)
    for name in known:
        if name in graph.outputs:
            return name
    fitting = [name for name, shape in graph.outputs.items() if len(shape) == rank]
    if len(fitting) == 1:
        return fitting[0]
    found = ", ".join(f"{name} {_shape(shape)}" for name, shape in graph.outputs.items())
    hint = "pooling='mean' or 'cls'" if pooling == "model" else "pooling='model' for a graph that pools by itself"
    raise ConfigurationError(
        f"pooling={pooling!r} needs one output of {rank} axes; this graph gives {found}: try {hint}"
    )


def _shape(shape: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(axis) for axis in shape)}]"

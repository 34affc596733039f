"""A cross-encoder: pairs of texts in, one score a pair out. Plain computation, called in a worker thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ragstone.encoders._batches import feeds, mask_of, require_token_inputs
from ragstone.encoders._onnx import OnnxGraph
from ragstone.encoders._tokenizer import ModelTokenizer, Tokens
from ragstone.errors import ConfigurationError, RerankError

__all__ = ["CrossEncoder"]

_OUTPUT: Final = "logits"
_CLASSES: Final = 2
_ROWS_AND_COLUMNS: Final = 2


class CrossEncoder:
    """A graph with its tokenizer.

    Args:
        graph: Takes `input_ids` and, where it asks for them, `attention_mask` and `token_type_ids`, each of shape
            (pairs, tokens). Gives one score a pair, shape (pairs, 1) or (pairs,), or the logits of two classes, shape
            (pairs, 2), of which the second is "relevant".
        tokenizer: Makes the ids.
        max_length: Where a pair is cut, for the error when it leaves no room.

    Raises:
        ConfigurationError: The graph asks for another input or gives another output, or `max_length` is too small.
    """

    __slots__ = ("_graph", "_output", "_tokenizer")

    def __init__(self, graph: OnnxGraph, tokenizer: ModelTokenizer, *, max_length: int) -> None:
        require_token_inputs(graph, "a cross-encoder")
        if max_length <= tokenizer.pair_overhead:
            raise ConfigurationError(
                f"max_length must be above {tokenizer.pair_overhead}, the special tokens of a pair, not {max_length}"
            )
        self._graph = graph
        self._tokenizer = tokenizer
        self._output = _choose_output(graph)

    def encode(self, query: str, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise the query with each text."""
        return self._tokenizer.encode_pairs(query, texts)

    def infer(self, batch: Sequence[Tokens]) -> NDArray[np.float64]:
        """Run one batch, padded to its longest pair.

        Returns:
            Shape (len(batch),): the score, or of two classes the second's logit less the first's.

        Raises:
            EmbeddingError: The run failed.
            RerankError: The output has another shape than a cross-encoder's.
        """
        mask = mask_of(batch)
        answer = self._graph.run(self._output, feeds(self._graph, batch, mask, self._tokenizer.padding_id))
        scores = answer.astype(np.float64, copy=False)
        if scores.shape == (len(batch),):
            return scores
        if scores.shape == (len(batch), 1):
            return scores[:, 0]
        if scores.shape == (len(batch), _CLASSES):
            with np.errstate(invalid="ignore"):
                return np.asarray(scores[:, 1] - scores[:, 0])
        raise RerankError(f"the model's output '{self._output}' has shape {answer.shape} for {len(batch)} pairs")

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return which share of the texts' tokens is unknown to the model."""
        return self._tokenizer.unknown_share(texts)


def _choose_output(graph: OnnxGraph) -> str:
    outputs = {_OUTPUT: graph.outputs[_OUTPUT]} if _OUTPUT in graph.outputs else graph.outputs
    fitting = [name for name, shape in outputs.items() if _holds_scores(shape)]
    if len(fitting) == 1:
        return fitting[0]
    found = ", ".join(f"{name} [{', '.join(map(str, shape))}]" for name, shape in graph.outputs.items())
    raise ConfigurationError(
        f"this graph gives {found}: a cross-encoder gives one score a pair, [batch, 1] or [batch], "
        "or the logits of two classes, [batch, 2]"
    )


def _holds_scores(shape: tuple[int | str | None, ...]) -> bool:
    if len(shape) == 1:
        return True
    return len(shape) == _ROWS_AND_COLUMNS and (not isinstance(shape[1], int) or shape[1] in (1, _CLASSES))

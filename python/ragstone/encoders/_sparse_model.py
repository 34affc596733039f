"""A SPLADE model: tokens in, weighted terms of its vocabulary out. Plain computation, called in a worker thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ragstone.encoders._batches import feeds, mask_of, require_token_inputs
from ragstone.encoders._onnx import OnnxGraph
from ragstone.encoders._tokenizer import ModelTokenizer, Tokens
from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.sparse_vector import SparseVector

__all__ = ["SparseModel", "pooled", "strongest"]

_RANK: Final = 3


class SparseModel:
    """A graph with its tokenizer, its output and the number of terms that a text keeps.

    Args:
        graph: Takes `input_ids` and, where it asks for them, `attention_mask` and `token_type_ids`, each of shape
            (batch, tokens); gives the logits of a masked language model, shape (batch, tokens, vocabulary).
        tokenizer: Makes the ids.
        output: Which of the graph's outputs the logits are.
        top_terms: How many terms a text keeps at most.

    Raises:
        ConfigurationError: The graph asks for another input, has no such output or one of another shape, or the
            vocabulary of the tokenizer is larger than the model's.
        EmbeddingError: The size of its vocabulary is not fixed in the graph, and a trial run failed.
    """

    __slots__ = ("_graph", "_output", "_tokenizer", "_top_terms", "vocabulary")

    def __init__(self, graph: OnnxGraph, tokenizer: ModelTokenizer, *, output: str, top_terms: int) -> None:
        require_token_inputs(graph, "a SPLADE model")
        self._graph = graph
        self._tokenizer = tokenizer
        self._output = output
        self._top_terms = top_terms
        self.vocabulary = _vocabulary(graph, output) or self._logits(self.encode([""])).shape[-1]
        """How many terms the model knows."""
        if self.vocabulary < tokenizer.vocabulary:
            raise ConfigurationError(
                f"output '{output}' has {self.vocabulary} values a token and the tokenizer {tokenizer.vocabulary} "
                "entries: the logits of a masked language model have one an entry, so model and tokenizer do not "
                "belong together, or it is another output"
            )

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise."""
        return self._tokenizer.encode(texts)

    def infer(self, batch: Sequence[Tokens]) -> list[SparseVector | None]:
        """Run one batch, padded to its longest text; `None` stands for a text whose logits hold NaN or infinity.

        Raises:
            EmbeddingError: The run failed, or gave an output of another shape.
        """
        logits = self._logits(batch)
        attended = (rows[: len(tokens.ids)] for rows, tokens in zip(logits, batch, strict=True))
        return [
            strongest(weights, self._top_terms) if np.isfinite(weights).all() else None
            for weights in map(pooled, attended)
        ]

    def _logits(self, batch: Sequence[Tokens]) -> NDArray[np.float32]:
        mask = mask_of(batch)
        answer = self._graph.run(self._output, feeds(self._graph, batch, mask, self._tokenizer.padding_id))
        if answer.ndim != _RANK or answer.shape[:2] != mask.shape:
            raise EmbeddingError(
                f"the model's output '{self._output}' has shape {answer.shape} for {mask.shape[0]} texts of "
                f"{mask.shape[1]} tokens: logits have the shape (texts, tokens, vocabulary)"
            )
        return answer.astype(np.float32, copy=False)


def pooled(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weigh each term of the vocabulary: the largest log(1 + max(0, logit)) over the tokens.

    As in SPLADE v2 (Formal et al., 2021). The logarithm rises with the logit, so it is taken once, of the largest.

    Args:
        logits: Shape (tokens, vocabulary), of the attended tokens.

    Returns:
        Shape (vocabulary,), float32, at least 0; NaN and infinity where a token's logits hold them.
    """
    weights: NDArray[np.float32] = np.log1p(logits.max(axis=0, initial=0.0), dtype=np.float32)
    return weights


def strongest(weights: NDArray[np.float32], count: int) -> SparseVector:
    """Keep the positive weights, at most `count` of them, the largest; of equal ones the lower terms."""
    terms = np.flatnonzero(weights > 0)
    if len(terms) > count:
        kept = weights[terms]
        floor = np.partition(kept, len(kept) - count)[len(kept) - count]
        above, equal = terms[kept > floor], terms[kept == floor]
        terms = np.sort(np.concatenate([above, equal[: count - len(above)]]))
    return SparseVector(terms, weights[terms])


def _vocabulary(graph: OnnxGraph, output: str) -> int | None:
    """The size of the vocabulary, if the graph says it."""
    if output not in graph.outputs:
        raise ConfigurationError(
            f"output_name={output!r}: the graph has no such output, it gives {_listed(graph.outputs)}"
        )
    shape = graph.outputs[output]
    if shape and len(shape) != _RANK:
        raise ConfigurationError(
            f"output_name={output!r} has {len(shape)} axes, and logits have three, (texts, tokens, vocabulary): "
            f"export the model with its masked language model head; this graph gives {_listed(graph.outputs)}"
        )
    last = shape[-1] if shape else None
    return last if isinstance(last, int) else None


def _listed(outputs: dict[str, tuple[Any, ...]]) -> str:
    return ", ".join(f"{name} [{', '.join(str(axis) for axis in shape)}]" for name, shape in outputs.items())

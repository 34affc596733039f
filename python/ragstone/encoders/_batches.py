"""Tokenised texts as the arrays that a graph takes, in batches of texts of like length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ragstone.encoders._onnx import OnnxGraph
from ragstone.encoders._tokenizer import Tokens
from ragstone.errors import ConfigurationError

__all__ = ["batches", "feeds", "mask_of", "require_token_inputs"]

_FED: Final = ("input_ids", "attention_mask", "token_type_ids")


def batches(tokens: Sequence[Tokens], *, texts: int, padded_tokens: int) -> Iterator[list[int]]:
    """Cut into batches of texts of like length; yields the places of each batch's texts, longest first.

    Args:
        tokens: The texts.
        texts: How many of them a batch holds at most.
        padded_tokens: How many tokens it holds at most, padding included; a longer text is a batch of its own.
    """
    order = sorted(range(len(tokens)), key=lambda row: -len(tokens[row].ids))
    start = 0
    while start < len(order):
        longest = max(1, len(tokens[order[start]].ids))
        stop = start + max(1, min(texts, padded_tokens // longest))
        yield order[start:stop]
        start = stop


def mask_of(batch: Sequence[Tokens]) -> NDArray[np.int64]:
    """Tell tokens from padding: shape (len(batch), length of the longest), 1 for a token."""
    mask = np.zeros((len(batch), max(1, *(len(tokens.ids) for tokens in batch))), dtype=np.int64)
    for row, tokens in enumerate(batch):
        mask[row, : len(tokens.ids)] = 1
    return mask


def feeds(
    graph: OnnxGraph, batch: Sequence[Tokens], mask: NDArray[np.int64], padding_id: int
) -> Mapping[str, NDArray[Any]]:
    """Return the inputs that the graph asks for, each of the mask's shape and of the type that it wants."""
    ids = np.full(mask.shape, padding_id, dtype=np.int64)
    type_ids = np.zeros(mask.shape, dtype=np.int64)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens.ids)] = tokens.ids
        type_ids[row, : len(tokens.ids)] = tokens.type_ids
    arrays: dict[str, NDArray[np.int64]] = dict(zip(_FED, (ids, mask, type_ids), strict=True))
    return {name: arrays[name].astype(kind, copy=False) for name, kind in graph.inputs.items()}


def require_token_inputs(graph: OnnxGraph, kind: str) -> None:
    """Check that a graph takes what a tokenizer gives; `kind` says what it should be, such as "a SPLADE model".

    Raises:
        ConfigurationError: It lacks `input_ids`, or asks for more.
    """
    names = list(graph.inputs)
    if "input_ids" not in names or set(names) - set(_FED):
        raise ConfigurationError(
            f"this graph takes {', '.join(names) or 'nothing'}: {kind} takes input_ids and, "
            "where it needs them, attention_mask and token_type_ids"
        )

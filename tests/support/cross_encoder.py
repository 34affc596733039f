"""A small cross-encoder in ONNX that ranks by shared words: its scores can be told by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from support.onnx_files import FLOAT, INT64, Axis, node, write_graph, write_vocabulary

WORDS = ("paid", "leave", "parents", "tower", "tall", "lunch", "noon", "for", "is", "the", "at")
WEIGHTS = {"paid": 1.0, "leave": 2.0, "parents": 4.0, "tower": 8.0, "tall": 16.0}


def write_cross_encoder(
    folder: Path,
    *,
    weights: Mapping[str, float] = WEIGHTS,
    columns: Sequence[float] | None = (1.0,),
    open_width: bool = False,
    output: str = "logits",
) -> tuple[Path, Path]:
    """Write a model and its vocabulary; return both paths.

    A pair's score is the sum of the weights of those of the query's tokens that occur in the passage. What stands in
    no position of either, such as padding, and the special tokens count nothing.

    Args:
        folder: Where to.
        weights: Of each word; every other has none.
        columns: What the score is multiplied by for each column of the output; `None` gives it no columns.
        open_width: Whether the graph does not tell how many columns there are.
        output: The output's name.
    """
    vocabulary = write_vocabulary(folder / "vocab.txt", WORDS)
    table = np.zeros(len(vocabulary), dtype=np.float32)
    for word, weight in weights.items():
        table[vocabulary[word]] = weight
    total = output if columns is None else "total"
    nodes = [
        node("Cast", ["attention_mask"], "attended", to=FLOAT),
        node("Cast", ["token_type_ids"], "second", to=FLOAT),
        node("Sub", ["one", "second"], "first"),
        node("Mul", ["attended", "second"], "in_passage"),
        node("Mul", ["attended", "first"], "in_query"),
        node("Unsqueeze", ["input_ids", "last"], "as_column"),
        node("Unsqueeze", ["input_ids", "axis"], "as_row"),
        node("Equal", ["as_column", "as_row"], "same"),
        node("Cast", ["same"], "equal", to=FLOAT),
        node("Unsqueeze", ["in_passage", "axis"], "passage_row"),
        node("Mul", ["equal", "passage_row"], "matches"),
        node("ReduceMax", ["matches"], "found", axes=[2], keepdims=0),
        node("Gather", ["table", "input_ids"], "weight", axis=0),
        node("Mul", ["weight", "in_query"], "asked"),
        node("Mul", ["found", "asked"], "scored"),
        node("ReduceSum", ["scored", "axis"], total, keepdims=0 if columns is None else 1),
    ]
    constants = {
        "table": table,
        "one": np.ones(1, dtype=np.float32),
        "axis": np.array([1], dtype=np.int64),
        "last": np.array([2], dtype=np.int64),
    }
    shape: list[Axis] = ["batch"]
    if columns is not None:
        constants["columns"] = np.array([columns], dtype=np.float32)
        if open_width:
            # The columns that are not zero: how many only a run can tell.
            nodes.append(node("NonZero", ["columns"], "places"))
            nodes.append(node("Gather", ["places", "axis"], "kept", axis=0))
            nodes.append(node("Squeeze", ["kept", "rows"], "chosen"))
            nodes.append(node("Gather", ["columns", "chosen"], "row", axis=1))
            constants["rows"] = np.array([0], dtype=np.int64)
        nodes.append(node("MatMul", ["total", "row" if open_width else "columns"], output))
        shape.append("labels" if open_width else len(columns))
    inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), INT64)
    model = write_graph(folder / "cross-encoder.onnx", nodes, constants, inputs=inputs, output=output, shape=shape)
    return model, folder / "vocab.txt"

"""Small ONNX graphs, written without the package `onnx`: a model looks token vectors up, so results are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

FLOAT, INT32, INT64 = 1, 6, 7
Axis = int | str


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def node(operator: str, inputs: Sequence[str], output: str, **attributes: Sequence[int] | float) -> bytes:
    """An operator with its inputs, its output and its attributes."""
    encoded = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, operator)
    for name, value in attributes.items():
        if isinstance(value, float):
            attribute = _field(1, name) + _varint(2 << 3 | 5) + np.float32(value).tobytes() + _field(20, 1)
        elif isinstance(value, int):
            attribute = _field(1, name) + _field(3, value & 2**64 - 1) + _field(20, 2)
        else:
            attribute = _field(1, name) + b"".join(_field(8, each) for each in value) + _field(20, 7)
        encoded += _field(5, attribute)
    return encoded


def _tensor(name: str, array: np.ndarray) -> bytes:
    kind = {"float32": FLOAT, "int64": INT64}[array.dtype.name]
    dims = b"".join(_field(1, size) for size in array.shape)
    return dims + _field(2, kind) + _field(8, name) + _field(9, array.tobytes())


def _value(name: str, kind: int, shape: Sequence[Axis]) -> bytes:
    axes = b"".join(_field(1, _field(1, axis) if isinstance(axis, int) else _field(2, axis)) for axis in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, axes)))


def write_graph(
    path: Path,
    nodes: Sequence[bytes],
    constants: Mapping[str, np.ndarray],
    *,
    inputs: Mapping[str, int],
    output: str,
    shape: Sequence[Axis],
    opset: int = 13,
) -> Path:
    """Write a graph of these nodes; its inputs, name to type, have the shape (batch, sequence), its output is float."""
    graph = b"".join(_field(1, each) for each in nodes) + _field(2, "graph")
    graph += b"".join(_field(5, _tensor(name, array)) for name, array in constants.items())
    graph += b"".join(_field(11, _value(name, kind, ["batch", "sequence"])) for name, kind in inputs.items())
    graph += _field(12, _value(output, FLOAT, shape))
    path.write_bytes(_field(1, 8) + _field(7, graph) + _field(8, _field(2, opset)))
    return path


def write_lookup(
    path: Path,
    table: np.ndarray,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    input_kind: int = INT64,
    mask_kind: int | None = None,
    output: str = "last_hidden_state",
    pooled: bool = False,
    last_axis: Axis | None = None,
) -> Path:
    """Write a model that answers each token id with its row of `table`, or if `pooled` with the mean of the rows.

    Args:
        path: The file to write.
        table: Shape (vocabulary, dimensions), float32.
        inputs: The inputs that the graph declares; only the first is used.
        input_kind: Their type.
        mask_kind: The type of all but the first, where it differs.
        output: The output's name.
        pooled: Whether the output is one vector a text.
        last_axis: What the graph says of the output's last axis; its length when left out.
    """
    looked_up = "looked_up" if pooled else output
    nodes = [node("Gather", ["table", inputs[0]], looked_up, axis=0)]
    if pooled:
        nodes.append(node("ReduceMean", [looked_up], output, axes=[1], keepdims=0))
    last = table.shape[1] if last_axis is None else last_axis
    kinds = [input_kind, *[mask_kind or input_kind] * (len(inputs) - 1)]
    return write_graph(
        path,
        nodes,
        {"table": table.astype(np.float32)},
        inputs=dict(zip(inputs, kinds, strict=True)),
        output=output,
        shape=["batch", last] if pooled else ["batch", "sequence", last],
    )


def write_vocabulary(path: Path, words: Sequence[str]) -> Mapping[str, int]:
    """Write a WordPiece vocabulary of BERT's kind; return each entry's id."""
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    path.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf-8")
    return {entry: number for number, entry in enumerate(entries)}

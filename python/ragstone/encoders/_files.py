"""The files that a model consists of: that they are there, and digests that tell one model from another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Final

from ragstone.errors import ConfigurationError

__all__ = ["digest", "existing", "model_digest"]

_EXTERNAL_WEIGHTS: Final = ("_data", ".data")


def existing(field: str, value: str | PathLike[str]) -> Path:
    """Return the path of a file that is there.

    Raises:
        ConfigurationError: It is not; names `field` and the path.
    """
    path = Path(value)
    if not path.is_file():
        raise ConfigurationError(f"{field}: there is no file {path}")
    return path


def model_digest(path: Path) -> str:
    """Digest an ONNX model, the weights that may lie beside it included."""
    beside = (path.with_name(path.name + suffix) for suffix in _EXTERNAL_WEIGHTS)
    return digest([path, *(file for file in beside if file.is_file())])


def digest(paths: Sequence[Path]) -> str:
    """The first 16 hexadecimal digits of each file's SHA-256."""
    digests: list[str] = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest()[:16])
    return "+".join(digests)

"""Optional packages: imported where they are used, with the command that installs a missing one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ragstone.errors import MissingDependencyError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["require"]


def require(package: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say how to install it.

    Args:
        package: The import name, dots allowed (`"docx"`, `"onnxruntime"`).
        extra: The extra of `ragstone` that brings the package.
        purpose: What it is needed for, as the subject of a sentence: `"Reading PDF files"`.

    Returns:
        The imported module.

    Raises:
        MissingDependencyError: The package is not installed. A package that is there but fails to import something of
            its own raises its own `ImportError`, which says more.

    Example:
        >>> require("json", extra="none", purpose="Reading JSON").loads("[1]")
        [1]
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise MissingDependencyError(top, extra, purpose) from error

"""The version, kept in Cargo.toml and carried by the compiled core."""

from __future__ import annotations

from ragstone._core import __version__

__all__ = ["__version__"]

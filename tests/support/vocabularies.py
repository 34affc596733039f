"""Python's tiktoken without a network: litellm carries the files under the names by which tiktoken caches them."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from unittest import mock

import tiktoken


@cache
def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    """The encoding, from the files inside litellm; the package itself is not imported."""
    with mock.patch.dict(os.environ, {"TIKTOKEN_CACHE_DIR": str(cache_directory())}):
        return tiktoken.get_encoding(name)


def cache_directory() -> Path:
    litellm = importlib.util.find_spec("litellm")
    assert litellm is not None, "the test group needs litellm, for the vocabulary files in it"
    assert litellm.origin is not None
    return Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers"

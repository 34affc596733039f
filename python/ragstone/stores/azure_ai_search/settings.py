"""Checks of the store's options, each error naming the field, the value and the limit."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from ragstone.errors import ConfigurationError
from ragstone.validation import require_at_least, require_int

__all__ = ["RANKED", "check_dimensions", "check_endpoint", "check_name", "check_neighbors"]

RANKED: Final = 50
"""How many hits the semantic ranker takes in, and ranks."""

_NAME: Final = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{0,126}[a-z0-9]")
_FEWEST_DIMENSIONS: Final = 2
_MOST_DIMENSIONS: Final = 4096


def check_name(name: object) -> str:
    """The name of an index, if it is one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"index_name must be 2 to 128 lower-case letters, digits and single dashes between them, not {name!r}"
        )
    return name


def check_endpoint(endpoint: str) -> str:
    """The URL of a service, without its last slash."""
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError("endpoint must be a URL such as 'https://my-service.search.windows.net'")
    return endpoint.rstrip("/")


def check_dimensions(dimensions: object) -> int:
    """A length of vectors that the service holds."""
    number = require_int("dimensions", dimensions)
    if not _FEWEST_DIMENSIONS <= number <= _MOST_DIMENSIONS:
        raise ConfigurationError(
            f"dimensions must be between {_FEWEST_DIMENSIONS} and {_MOST_DIMENSIONS}, which Azure AI Search holds, "
            f"not {number}"
        )
    return number


def check_neighbors(count: int | None, *, semantic: bool) -> int | None:
    """A number of neighbours that leaves the semantic ranker enough, where that is on."""
    if count is None:
        return None
    number = require_at_least("k_nearest_neighbors_count", count, 1)
    if semantic and number < RANKED:
        raise ConfigurationError(
            f"k_nearest_neighbors_count must be None or at least {RANKED} with semantic_ranking=True, not {number}: "
            f"the ranker takes {RANKED} hits in"
        )
    return number

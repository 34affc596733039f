"""Guards of retrieval: what may be returned to whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias, cast

from ragstone.errors import ConfigurationError, GuardError
from ragstone.models import SearchResult, WebEvidence
from ragstone.validation import require_bool

__all__ = ["RequiredRolesGuard", "Roles"]

Roles: TypeAlias = Collection[str] | Callable[[], Collection[str]]
"""The caller's roles, or a function that returns those of whoever is asking now."""


class RequiredRolesGuard:
    """Lets a chunk pass only if the caller has one of the roles that its metadata names.

    A chunk names them under `key` in one string, separated by commas: `"hr, finance"` is for callers with either role.
    Roles are compared exactly, case included; white space around them does not count. What is no string, or names no
    role, is for nobody. What was found on the web is public and passes.

    Args:
        roles: The caller's roles. A function is asked anew in each call, so that it can read a context variable.
        key: The metadata key.
        open_without_key: Whether a chunk without the key is for everybody; otherwise it is for nobody.

    Raises:
        ConfigurationError: The roles are one string, or hold something other than strings; or the key is empty.

    Example:
        >>> guard = RequiredRolesGuard(["hr"])
        >>> guard.identity
        'required-roles(roles)'
    """

    def __init__(self, roles: Roles, *, key: str = "roles", open_without_key: bool = False) -> None:
        if not key:
            raise ConfigurationError("key must be a metadata key, not ''")
        self._roles: Roles = roles if callable(roles) else _checked(roles, ConfigurationError)
        self._key = key
        self._open_without_key = require_bool("open_without_key", open_without_key)

    @property
    def identity(self) -> str:
        """Names the guard and the metadata key."""
        return f"required-roles({self._key})"

    @property
    def cache_key(self) -> str:
        """The key, whether chunks without it pass, and the caller's roles."""
        return json.dumps([self.identity, self._open_without_key, sorted(self._present())])

    async def check(self, query: str, results: Sequence[SearchResult]) -> list[str | None]:  # noqa: ARG002  the port's
        """Return for each result why the caller may not see it, or `None`.

        Raises:
            GuardError: The function that tells the roles returned something else.
        """
        roles = self._present()
        return [self._verdict(result, roles) for result in results]

    def _present(self) -> frozenset[str]:
        return _checked(self._roles(), GuardError) if callable(self._roles) else frozenset(self._roles)

    def _verdict(self, result: SearchResult, roles: frozenset[str]) -> str | None:
        if any(isinstance(item, WebEvidence) for item in result.evidence):
            return None
        needed = result.chunk.metadata.get(self._key)
        if needed is None:
            return None if self._open_without_key else f"metadata has no '{self._key}'"
        if not isinstance(needed, str):
            return f"metadata '{self._key}' is no string of roles"
        if roles.isdisjoint(role.strip() for role in needed.split(",") if role.strip()):
            return f"none of the caller's roles is in metadata '{self._key}'"
        return None


def _checked(roles: object, error: type[ConfigurationError | GuardError]) -> frozenset[str]:
    if isinstance(roles, str) or not isinstance(roles, Collection):
        raise error(f"roles must be a collection of strings, not a {type(roles).__name__}")
    names = list(cast("Collection[object]", roles))
    strings = [name for name in names if isinstance(name, str)]
    if len(strings) != len(names):
        raise error("roles must be a collection of strings; one of them is none")
    return frozenset(strings)

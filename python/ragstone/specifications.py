"""Specifications: predicates over search results, composed with `&`, `|` and `~`, applied in process.

A specification is anything callable with a `SearchResult` that answers true or false; the ones here can also describe
themselves, so that they can be part of a cache key and of an explanation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ragstone.metadata import MetadataValue, check_filter, matches
from ragstone.models import SearchResult
from ragstone.validation import require_finite

__all__ = ["DocumentIdSpec", "HasTagSpec", "MinScoreSpec", "Spec", "Specification"]

Specification: TypeAlias = Callable[[SearchResult], bool]


class Spec:
    """The base of the specifications that compose: implement `__call__` and `__str__`."""

    __slots__ = ()

    def __call__(self, result: SearchResult, /) -> bool:
        """Whether the result is to be kept."""
        raise NotImplementedError

    def __and__(self, other: Specification) -> Spec:
        return _All(self, other)

    def __or__(self, other: Specification) -> Spec:
        return _Any(self, other)

    def __invert__(self) -> Spec:
        return _Not(self)


@dataclass(frozen=True, slots=True)
class MinScoreSpec(Spec):
    """Keep results with `score >= threshold`, on whatever scale the page carries."""

    threshold: float

    def __post_init__(self) -> None:
        require_finite("threshold", self.threshold)

    def __call__(self, result: SearchResult, /) -> bool:
        """Whether the score reaches the threshold."""
        return result.score >= self.threshold

    def __str__(self) -> str:
        return f"score >= {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class HasTagSpec(Spec):
    """Keep results whose chunk's metadata has `key` equal to `value`, in kind and in value."""

    key: str
    value: MetadataValue

    def __post_init__(self) -> None:
        check_filter({self.key: self.value})

    def __call__(self, result: SearchResult, /) -> bool:
        """Whether the chunk has the tag."""
        return matches(result.chunk.metadata, {self.key: self.value})

    def __str__(self) -> str:
        return f"{self.key} = {self.value!r}"


@dataclass(frozen=True, slots=True)
class DocumentIdSpec(Spec):
    """Keep results of one document."""

    document_id: str

    def __call__(self, result: SearchResult, /) -> bool:
        """Whether the chunk is of the document."""
        return result.chunk.document_id == self.document_id

    def __str__(self) -> str:
        return f"document_id = {self.document_id!r}"


@dataclass(frozen=True, slots=True)
class _All(Spec):
    left: Specification
    right: Specification

    def __call__(self, result: SearchResult, /) -> bool:
        return self.left(result) and self.right(result)

    def __str__(self) -> str:
        return f"({self.left} and {self.right})"


@dataclass(frozen=True, slots=True)
class _Any(Spec):
    left: Specification
    right: Specification

    def __call__(self, result: SearchResult, /) -> bool:
        return self.left(result) or self.right(result)

    def __str__(self) -> str:
        return f"({self.left} or {self.right})"


@dataclass(frozen=True, slots=True)
class _Not(Spec):
    inner: Specification

    def __call__(self, result: SearchResult, /) -> bool:
        return not self.inner(result)

    def __str__(self) -> str:
        return f"not {self.inner}"

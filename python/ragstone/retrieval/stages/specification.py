"""The caller's own specification, applied in process to the fused candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.filling import first_depth, search_until_filled
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.specifications import Spec, Specification

__all__ = ["SpecificationFilter"]


@dataclass(frozen=True, slots=True)
class SpecificationFilter:
    """Drop what the specification does not hold for, and search deeper for what is missing."""

    specification: Specification

    refills: ClassVar[bool] = True

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return candidates that satisfy the specification."""
        return await search_until_filled(query, search, self._apply)

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the first, deeper search."""
        return inner(first_depth(depth))

    async def _apply(self, found: Candidates) -> Candidates:
        kept: list[Candidate] = []
        dropped: list[Candidate] = []
        for candidate in found.kept:
            if self.specification(candidate.result()):
                kept.append(candidate)
            else:
                dropped.append(candidate.dropped("filter", self._reason))
        return found.keeping(kept, dropped)

    @property
    def _reason(self) -> str:
        described = str(self.specification) if isinstance(self.specification, Spec) else "the caller's specification"
        return f"does not satisfy {described}"

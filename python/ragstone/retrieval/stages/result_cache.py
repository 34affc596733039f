"""The result cache: whole pages, remembered under everything that can change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from ragstone.caching.generation import IndexGeneration
from ragstone.caching.keys import Undescribable, key_of
from ragstone.caching.levels import TwoLevelCache
from ragstone.options import RetrievalOptions
from ragstone.ports import RetrievalGuard
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.lazy import LazySequence

__all__ = ["PageMemory", "ResultCache"]

_IRRELEVANT: Final = frozenset({"use_cache_embedding", "use_cache_result"})
"""Options that cannot change a page; every other one is part of the key, those to come included."""


@dataclass(frozen=True, slots=True)
class PageMemory:
    """Pages that were found, and what names where they were found.

    Attributes:
        cache: Holds them.
        generation: Names what the indexes hold.
        pipeline: Names the parts of the pipeline.
    """

    cache: TwoLevelCache[Candidates]
    generation: IndexGeneration
    pipeline: str


@dataclass(frozen=True, slots=True)
class ResultCache:
    """Answer from memory where the same was asked of the same indexes before.

    A page with a warning is not remembered, nor is one during which the indexes changed. A guard judges by what its
    `cache_key` tells; one without keeps the call out of the cache. Pages that a chat model reads (`asking`) are others
    than those of `retrieve`, since stages inside may make them so.
    """

    memory: PageMemory
    guards: Sequence[RetrievalGuard] = ()
    asking: bool = False

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the remembered candidates, or those found, and note which."""
        memory = self.memory
        generation = memory.generation.current if memory.generation.settled else None
        key = self._key(query, memory.generation.current)
        if key is None:
            return (await search(query)).noting(cache="bypassed")
        held = await memory.cache.get(key)
        if held is not None:
            return _handed_out(held).noting(cache="hit")
        found = await search(query)
        unchanged = memory.generation.settled and memory.generation.current == generation
        if unchanged and not found.warnings:
            await memory.cache.set(key, _kept(found))
        return found.noting(cache="miss")

    def _key(self, query: Query, generation: str) -> str | None:
        """The key of the page; `None` where not all that it depends on can be told."""
        guards = [(guard.identity, guard.cache_key) for guard in self.guards]
        if query.embedding is not None or any(key is None for _, key in guards):
            return None
        options = {
            field.name: getattr(query.options, field.name)
            for field in fields(RetrievalOptions)
            if field.name not in _IRRELEVANT
        }
        try:
            return key_of(
                "result", self.memory.pipeline, generation, query.text, query.depth, options, guards, self.asking
            )
        except Undescribable:
            return None


def _kept(found: Candidates) -> Candidates:
    """The candidates with a copy of what the caller gets to change; the dropped ones stay as lazy as they came."""
    return replace(found, kept=tuple(map(_copy, found.kept)), notes=dict(found.notes))


def _handed_out(held: Candidates) -> Candidates:
    """A copy of what is remembered; of what was dropped, as far as somebody looks."""
    dropped = LazySequence(lambda place: _copy(held.dropped[place]), range(len(held.dropped)))
    return replace(held, kept=tuple(map(_copy, held.kept)), dropped=dropped)


def _copy(candidate: Candidate) -> Candidate:
    vector = candidate.vector
    if vector is not None and vector.flags.writeable:
        vector = np.array(vector)
        vector.flags.writeable = False
    child = candidate.best_child
    return replace(
        candidate,
        chunk=replace(candidate.chunk),
        best_child=None if child is None else replace(child),
        vector=vector,
    )

"""How long each stage of a call takes, and its span."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ragstone.retrieval.candidate import Candidates, Query, Search, Stage
from ragstone.retrieval.telemetry import traced, traced_search

__all__ = ["StageTimer"]


class _Stopwatch:
    """A search, and how long a stage waited for it: several calls at the same time count once."""

    __slots__ = ("_running", "_search", "_started", "seconds")

    def __init__(self, search: Search) -> None:
        self._search = search
        self._running = 0
        self._started = 0.0
        self.seconds = 0.0

    async def __call__(self, query: Query) -> Candidates:
        if not self._running:
            self._started = time.perf_counter()
        self._running += 1
        try:
            return await self._search(query)
        finally:
            self._running -= 1
            if not self._running:
                self.seconds += time.perf_counter() - self._started


@dataclass(slots=True)
class StageTimer:
    """Time spent in each stage itself, without what it called; with `traced`, a span each as well."""

    seconds: dict[str, float]
    traced: bool

    def around(self, name: str, stage: Stage, search: Search) -> Search:
        """Make `stage` around `search` the next search."""
        self.seconds[name] = 0.0
        if self.traced:
            stage = traced(name, stage)

        async def timed(query: Query) -> Candidates:
            inner = _Stopwatch(search)
            started = time.perf_counter()
            try:
                return await stage(query, inner)
            finally:
                self.seconds[name] += time.perf_counter() - started - inner.seconds

        return timed

    def innermost(self, search: Search) -> Search:
        """Time the search at the heart of the chain."""
        self.seconds["search"] = 0.0
        if self.traced:
            search = traced_search(search)

        async def timed(query: Query) -> Candidates:
            started = time.perf_counter()
            try:
                return await search(query)
            finally:
                self.seconds["search"] += time.perf_counter() - started

        return timed

"""The retriever: composes the stages that a call switches on around the search, runs them, and hands out the page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.errors import InvalidInputError
from ragstone.observability.tracing import span
from ragstone.options import RetrievalOptions
from ragstone.retrieval.candidate import Candidates, Query, Search, Stage
from ragstone.retrieval.dispatch import Dispatcher
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.stages.budget import TokenBudget
from ragstone.retrieval.stages.compression import Compression
from ragstone.retrieval.stages.corrective import CorrectiveRetrieval
from ragstone.retrieval.stages.cut import cut
from ragstone.retrieval.stages.guards import Guarding
from ragstone.retrieval.stages.mmr import MaximalMarginalRelevance
from ragstone.retrieval.stages.redundancy import RedundancyFilter
from ragstone.retrieval.stages.reorder import reorder
from ragstone.retrieval.stages.rerank import Reranking
from ragstone.retrieval.stages.specification import SpecificationFilter
from ragstone.retrieval.vectors import CallVectors

__all__ = ["Retriever"]


@dataclass(slots=True)
class _Timer:
    """Time spent in each stage itself, without what it called."""

    seconds: dict[str, float]

    def around(self, name: str, stage: Stage, search: Search) -> Search:
        """Make `stage` around `search` the next search."""
        self.seconds[name] = 0.0

        async def timed_inner(query: Query) -> Candidates:
            started = time.perf_counter()
            try:
                return await search(query)
            finally:
                self.seconds[name] -= time.perf_counter() - started

        async def timed(query: Query) -> Candidates:
            started = time.perf_counter()
            try:
                return await stage(query, timed_inner)
            finally:
                self.seconds[name] += time.perf_counter() - started

        return timed

    def innermost(self, search: Search) -> Search:
        """Time the search at the heart of the chain."""
        self.seconds["search"] = 0.0

        async def timed(query: Query) -> Candidates:
            started = time.perf_counter()
            try:
                return await search(query)
            finally:
                self.seconds["search"] += time.perf_counter() - started

        return timed


class Retriever:
    """Answers queries from the parts that it is given."""

    def __init__(self, parts: RetrievalParts) -> None:
        self._parts = parts
        self._dispatcher = Dispatcher(parts.store, parts.keyword_index, parts.embedder)
        self._looked_inside = False

    async def retrieve(self, text: str, options: RetrievalOptions, *, asking: bool = False) -> SearchPage:
        """Answer one query.

        Args:
            text: The query.
            options: What to switch on.
            asking: Whether a model will read the page, so that configured compression takes part.

        Raises:
            InvalidInputError: The query is empty.
            CapabilityError: The parts cannot do what the options ask for.
            RagError: No arm could serve.
        """
        if not text.strip():
            raise InvalidInputError("the query is empty: give it at least one word")
        with span("ragstone.retrieve") as current:
            vectors = CallVectors(self._parts.embedder, self._parts.store)
            arms = self._dispatcher.arms(options, vectors)
            if options.use_hybrid_search:
                current.set_attribute("retrieval.hybrid.path", arms.path)
                self._look_inside()
            timer = _Timer({})
            search = timer.innermost(arms)
            for name, stage in reversed(list(self._stages(options, vectors, asking=asking))):
                search = timer.around(name, stage, search)
            found = await search(Query(text, options, options.top_k))
            return _page(text, found, dict(reversed(timer.seconds.items())))

    def _stages(self, options: RetrievalOptions, vectors: CallVectors, *, asking: bool) -> Iterator[tuple[str, Stage]]:
        """The stages that these options switch on, outermost first. This is the order of retrieval."""
        if options.use_lost_in_the_middle_reordering:
            yield "reorder", reorder
        if options.max_context_tokens is not None:
            yield "budget", TokenBudget(options.max_context_tokens, self._parts.token_counter)
        compression = Compression.of(options, self._parts, vectors, asking=asking)
        if compression is not None:
            yield "compression", compression
        yield "cut", cut
        if options.use_mmr:
            yield "mmr", MaximalMarginalRelevance(options.mmr_lambda, options.mmr_pool, vectors)
        if options.use_redundancy_filter:
            yield "redundancy", RedundancyFilter(options.redundancy_threshold, vectors)
        if self._parts.reranker is not None and options.use_reranking:
            yield "rerank", Reranking(self._parts.reranker, options.rerank_pool)
        if self._parts.guards:
            yield "guards", Guarding(self._parts.guards)
        if options.use_crag:
            yield "crag", CorrectiveRetrieval.of(options, self._parts)
        if options.filter is not None:
            yield "filter", SpecificationFilter(options.filter)

    def _look_inside(self) -> None:
        if not self._looked_inside:
            self._looked_inside = True
            self._dispatcher.warn_if_hidden()


def _page(text: str, found: Candidates, timings: dict[str, float]) -> SearchPage:
    return SearchPage(
        query=text,
        results=tuple(candidate.result() for candidate in found.kept),
        candidates_dropped=found.dropped,
        arms=found.arms,
        path=found.path,
        exhausted=found.exhausted,
        warnings=found.warnings,
        notes=found.notes,
        timings=timings,
    )

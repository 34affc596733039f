"""The retriever: composes the stages that a call switches on around the search, runs them, and hands out the page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.errors import InvalidInputError
from ragstone.observability.tracing import span
from ragstone.options import RetrievalOptions
from ragstone.ports import Embedder
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
from ragstone.retrieval.stages.parents import ParentSwap
from ragstone.retrieval.stages.redundancy import RedundancyFilter
from ragstone.retrieval.stages.reorder import reorder
from ragstone.retrieval.stages.rerank import Reranking
from ragstone.retrieval.stages.result_cache import ResultCache
from ragstone.retrieval.stages.specification import SpecificationFilter
from ragstone.retrieval.tags import TagRetrieval
from ragstone.retrieval.telemetry import note_page, traced, traced_search
from ragstone.retrieval.time_weighting import TimeWeighting
from ragstone.retrieval.vectors import CallVectors

__all__ = ["Retriever"]


@dataclass(slots=True)
class _Timer:
    """Time spent in each stage itself, without what it called; with `traced`, a span each as well."""

    seconds: dict[str, float]
    traced: bool

    def around(self, name: str, stage: Stage, search: Search) -> Search:
        """Make `stage` around `search` the next search."""
        self.seconds[name] = 0.0
        if self.traced:
            stage = traced(name, stage)

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
        if self.traced:
            search = traced_search(search)

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
        self._dispatcher = Dispatcher(parts.store, parts.keyword_index, parts.embedder, parts.sparse_encoder)
        self._looked_inside = False

    async def retrieve(self, text: str, options: RetrievalOptions, *, asking: bool = False) -> SearchPage:
        """Answer one query.

        Args:
            text: The query.
            options: What to switch on.
            asking: Whether a chat model reads the page, so that configured compression takes part.

        Raises:
            InvalidInputError: The query is empty.
            CapabilityError: The parts cannot do what the options ask for.
            RagError: No arm could serve.
        """
        if not text.strip():
            raise InvalidInputError("the query is empty: give it at least one word")
        with span("ragstone.retrieve") as current:
            vectors = CallVectors(self._embedder(options), self._parts.store, self._parts.sparse_encoder)
            arms = self._dispatcher.arms(options, vectors)
            if options.use_hybrid_search:
                current.set_attribute("retrieval.hybrid.path", arms.path)
                self._look_inside()
            timer = _Timer({}, traced=current.recording)
            search = timer.innermost(arms)
            for name, stage in reversed(list(self._stages(options, vectors, asking=asking))):
                search = timer.around(name, stage, search)
            found = await search(Query(text, options, options.top_k))
            page = _page(text, found, dict(reversed(timer.seconds.items())))
            note_page(current, options, page)
            return page

    def _stages(self, options: RetrievalOptions, vectors: CallVectors, *, asking: bool) -> Iterator[tuple[str, Stage]]:
        """The stages that these options switch on, outermost first. This is the order of retrieval."""
        yield from self._around(options, vectors, asking=asking)
        yield from self._finishing(options, vectors, asking=asking)
        yield from self._choosing(options, vectors)
        yield from self._finding(options)

    def _around(self, options: RetrievalOptions, vectors: CallVectors, *, asking: bool) -> Iterator[tuple[str, Stage]]:
        """What surrounds the chain."""
        parts = self._parts
        if parts.tag_retrieval is not None and parts.tags is not None and options.use_tag_retrieval:
            yield "tags", TagRetrieval(parts.tag_retrieval, parts.tags, vectors)
        if parts.time_weighting is not None and options.use_time_weighting:
            yield "time_weighting", TimeWeighting(parts.time_weighting, parts.clock)
        if parts.pages is not None and options.use_cache_result:
            yield "cache", ResultCache(parts.pages, parts.guards, asking=asking)

    def _finishing(
        self, options: RetrievalOptions, vectors: CallVectors, *, asking: bool
    ) -> Iterator[tuple[str, Stage]]:
        """What arranges the page for its reader and keeps it short."""
        if options.use_lost_in_the_middle_reordering:
            yield "reorder", reorder
        if options.max_context_tokens is not None:
            yield "budget", TokenBudget(options.max_context_tokens, self._parts.token_counter)
        compression = self._compression(options, vectors, asking=asking)
        if compression is not None:
            yield "compression", compression

    def _choosing(self, options: RetrievalOptions, vectors: CallVectors) -> Iterator[tuple[str, Stage]]:
        """What makes a page of the candidates."""
        parts = self._parts
        yield "cut", cut
        if options.use_mmr:
            yield "mmr", MaximalMarginalRelevance(options.mmr_lambda, options.mmr_pool, vectors)
        if options.use_redundancy_filter:
            yield "redundancy", RedundancyFilter(options.redundancy_threshold, vectors)
        if parts.parents is not None and options.use_parent_document:
            yield "parents", ParentSwap(parts.parents)
        if parts.reranker is not None and options.use_reranking:
            yield "rerank", Reranking(parts.reranker, options.rerank_pool)

    def _finding(self, options: RetrievalOptions) -> Iterator[tuple[str, Stage]]:
        """What says which candidates there are."""
        parts = self._parts
        if parts.guards:
            yield "guards", Guarding(parts.guards)
        if options.use_crag:
            yield "crag", CorrectiveRetrieval.of(options, parts.web_search, parts.chat)
        if options.filter is not None:
            yield "filter", SpecificationFilter(options.filter)

    def _compression(self, options: RetrievalOptions, vectors: CallVectors, *, asking: bool) -> Compression | None:
        """The vectors of the call embed, so that the query is embedded once in it."""
        parts = self._parts
        return Compression.of(
            options, parts.compression, parts.compressor, embedder=vectors, chat=parts.chat, asking=asking
        )

    def _embedder(self, options: RetrievalOptions) -> Embedder | None:
        caching = self._parts.caching_embedder if options.use_cache_embedding else None
        return self._parts.embedder if caching is None else caching

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

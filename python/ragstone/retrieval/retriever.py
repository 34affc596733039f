"""The retriever: composes the stages that a call switches on around the search, runs them, and hands out the page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.errors import InvalidInputError
from ragstone.observability.tracing import span
from ragstone.options import RetrievalOptions
from ragstone.retrieval.adaptive import adapt, adapted
from ragstone.retrieval.arms import Arms
from ragstone.retrieval.candidate import Candidates, Query, Search, Stage
from ragstone.retrieval.deep_research import DeepResearch
from ragstone.retrieval.dispatch import Dispatcher
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.planning import PlannedStage, RetrievalPlan, plan_stages, refill_remarks
from ragstone.retrieval.stages.budget import TokenBudget
from ragstone.retrieval.stages.cut import cut
from ragstone.retrieval.stages.hyde import HypotheticalDocuments
from ragstone.retrieval.stages.mmr import MaximalMarginalRelevance
from ragstone.retrieval.stages.multi_query import MultiQuery
from ragstone.retrieval.stages.parents import ParentSwap
from ragstone.retrieval.stages.redundancy import RedundancyFilter
from ragstone.retrieval.stages.reorder import reorder
from ragstone.retrieval.stages.result_cache import ResultCache
from ragstone.retrieval.stages.specification import SpecificationFilter
from ragstone.retrieval.tags import TagRetrieval
from ragstone.retrieval.telemetry import note_page, traced, traced_search
from ragstone.retrieval.time_weighting import TimeWeighting
from ragstone.retrieval.vectors import CallVectors

__all__ = ["Retriever"]


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
class _Timer:
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
            asking: Whether a chat model reads the page.

        Raises:
            InvalidInputError: The query is empty.
            CapabilityError: The parts cannot do what the options ask for.
            RagError: No arm could serve.
        """
        if not text.strip():
            raise InvalidInputError("the query is empty: give it at least one word")
        with span("ragstone.retrieve") as current:
            started = time.perf_counter()
            vectors = self._vectors(options)
            arms = self._dispatcher.arms(options, vectors)
            if options.use_hybrid_search:
                current.set_attribute("retrieval.hybrid.path", arms.path)
                self._look_inside()
            timer = _Timer({}, traced=current.recording)
            run = self._run_adapted if options.use_adaptive_retrieval else self._run
            found = await run(text, options, vectors, arms, timer, asking=asking)
            page = _page(text, found, dict(reversed(timer.seconds.items())), time.perf_counter() - started)
            note_page(current, options, page)
            return page

    def plan(self, options: RetrievalOptions, *, asking: bool = False) -> RetrievalPlan:
        """Say which stages a call with these options has, and what they cost at most.

        Raises:
            CapabilityError: The parts cannot do what the options ask for.
        """
        if options.use_adaptive_retrieval:
            options = adapted(options, "multi_hop")
        vectors = self._vectors(options)
        arms = self._dispatcher.arms(options, vectors)
        stages = list(self._stages(options, vectors, arms, asking=asking))
        plan = RetrievalPlan(
            stages=plan_stages(stages, options.top_k, embeds_query=arms.embeds_query(options)),
            arms=tuple(arm.name for arm, _ in arms.weighted(options)),
            path=arms.path,
            remarks=refill_remarks(stages),
        )
        if not options.use_adaptive_retrieval:
            return plan
        return plan.surrounded(
            PlannedStage(name="adaptive", llm_calls=0 if self._parts.chat is None else 1),
            "adaptive: shown is a multi_hop query, which costs the most.",
        )

    async def _run(
        self, text: str, options: RetrievalOptions, vectors: CallVectors, arms: Arms, timer: _Timer, *, asking: bool
    ) -> Candidates:
        search = timer.innermost(arms)
        for name, stage in reversed(list(self._stages(options, vectors, arms, asking=asking))):
            search = timer.around(name, stage, search)
        return await search(Query(text, options, options.top_k))

    async def _run_adapted(
        self, text: str, options: RetrievalOptions, vectors: CallVectors, arms: Arms, timer: _Timer, *, asking: bool
    ) -> Candidates:
        started = time.perf_counter()
        adaptation = await adapt(text, options, self._parts.chat)
        seconds = time.perf_counter() - started
        found = await self._run(text, adaptation.options, vectors, arms, timer, asking=asking)
        timer.seconds["adaptive"] = seconds
        return found.noting(adaptive_complexity=adaptation.complexity).warning(*adaptation.warnings)

    def _stages(
        self, options: RetrievalOptions, vectors: CallVectors, arms: Arms, *, asking: bool
    ) -> Iterator[tuple[str, Stage]]:
        """The stages that these options switch on, outermost first. This is the order of retrieval."""
        parts = self._parts
        if parts.tag_retrieval is not None and parts.tags is not None and options.use_tag_retrieval:
            yield "tags", TagRetrieval(parts.tag_retrieval, parts.tags, vectors)
        if parts.time_weighting is not None and options.use_time_weighting:
            yield "time_weighting", TimeWeighting(parts.time_weighting, parts.clock)
        researching = parts.deep_research is not None and parts.chat is not None and options.use_deep_research
        if researching:
            yield from self._finishing(options)
        if parts.deep_research is not None and parts.chat is not None and researching:
            yield "deep_research", DeepResearch(parts.deep_research, parts.chat)
        if parts.pages is not None and options.use_cache_result:
            yield "cache", ResultCache(parts.pages, parts.guards, asking=asking)
        if not researching:
            yield from self._finishing(options)
        yield from self._ranking(options, vectors, arms)

    def _ranking(self, options: RetrievalOptions, vectors: CallVectors, arms: Arms) -> Iterator[tuple[str, Stage]]:
        """What chooses and ranks, around the search itself."""
        parts = self._parts
        yield "cut", cut
        if options.use_mmr:
            yield "mmr", MaximalMarginalRelevance(options.mmr_lambda, options.mmr_pool, vectors)
        if options.use_redundancy_filter:
            yield "redundancy", RedundancyFilter(options.redundancy_threshold, vectors)
        if parts.parents is not None and options.use_parent_document:
            yield "parents", ParentSwap(parts.parents)
        if parts.multi_query is not None and parts.chat is not None and options.use_multi_query:
            yield "multi_query", MultiQuery(parts.multi_query, parts.chat)
        if (
            (parts.hyde is not None and parts.chat is not None and parts.embedder is not None)
            and options.use_hyde
            and arms.embeds_query(options)
        ):
            yield "hyde", HypotheticalDocuments(parts.hyde, parts.chat, parts.embedder)
        if options.filter is not None:
            yield "filter", SpecificationFilter(options.filter)

    def _finishing(self, options: RetrievalOptions) -> Iterator[tuple[str, Stage]]:
        """What arranges the page and keeps it short; it stands around deep research, which ranks the page anew."""
        if options.use_lost_in_the_middle_reordering:
            yield "reorder", reorder
        if options.max_context_tokens is not None:
            yield "budget", TokenBudget(options.max_context_tokens, self._parts.token_counter)

    def _vectors(self, options: RetrievalOptions) -> CallVectors:
        caching = self._parts.caching_embedder if options.use_cache_embedding else None
        embedder = self._parts.embedder if caching is None else caching
        return CallVectors(embedder, self._parts.store, self._parts.sparse_encoder)

    def _look_inside(self) -> None:
        if not self._looked_inside:
            self._looked_inside = True
            self._dispatcher.warn_if_hidden()


def _page(text: str, found: Candidates, timings: dict[str, float], seconds: float) -> SearchPage:
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
        seconds=seconds,
    )

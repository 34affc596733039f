"""The retriever: composes the stages that a call switches on around the search, runs them, and hands out the page."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ragstone.errors import InvalidInputError
from ragstone.observability.tracing import span
from ragstone.options import RetrievalOptions
from ragstone.retrieval.adaptive import adapt, adapted
from ragstone.retrieval.arms import Arms
from ragstone.retrieval.candidate import Candidates, Query
from ragstone.retrieval.dispatch import Dispatcher
from ragstone.retrieval.order import StageOrder
from ragstone.retrieval.page import SearchPage
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.planning import PlannedStage, RetrievalPlan, plan_stages, refill_remarks
from ragstone.retrieval.telemetry import note_page
from ragstone.retrieval.timing import StageTimer
from ragstone.retrieval.vectors import CallVectors

__all__ = ["Retriever"]


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of `retrieve`: what lives as long as it does."""

    text: str
    vectors: CallVectors
    arms: Arms
    timer: StageTimer
    asking: bool


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
            timer = StageTimer({}, traced=current.recording)
            call = _Call(text, vectors, arms, timer, asking)
            found = await (self._run_adapted if options.use_adaptive_retrieval else self._run)(call, options)
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
        stages = list(StageOrder(self._parts, options, vectors, arms, asking))
        plan = RetrievalPlan(
            stages=plan_stages(
                stages,
                options.top_k,
                embeds_query=arms.embeds_query(options),
                finds_unembedded=not vectors.readable,
            ),
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

    async def _run(self, call: _Call, options: RetrievalOptions) -> Candidates:
        search = call.timer.innermost(call.arms)
        stages = StageOrder(self._parts, options, call.vectors, call.arms, call.asking)
        for name, stage in reversed(list(stages)):
            search = call.timer.around(name, stage, search)
        return await search(Query(call.text, options, options.top_k))

    async def _run_adapted(self, call: _Call, options: RetrievalOptions) -> Candidates:
        started = time.perf_counter()
        adaptation = await adapt(call.text, options, self._parts.chat)
        seconds = time.perf_counter() - started
        found = await self._run(call, adaptation.options)
        call.timer.seconds["adaptive"] = seconds
        return found.noting(adaptive_complexity=adaptation.complexity).warning(*adaptation.warnings)

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

"""The innermost search: the arms, run at the same time, and their fusion."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from ragstone.concurrency import AdaptiveOffload
from ragstone.errors import CapabilityError, RagError, StoreError
from ragstone.faults import SETUP_FAULTS, described
from ragstone.models import SearchOptions, SearchResult
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.ports import HybridSearchable, KeywordIndex, SparseSearchable, VectorStore
from ragstone.retrieval.candidate import ArmReport, Candidates, Query, SearchPath
from ragstone.retrieval.fusion import ArmHits, fuse, single
from ragstone.retrieval.vectors import CallVectors

__all__ = ["Arm", "ArmSearch", "Arms", "dense_arm", "keyword_arm", "native_arm", "sparse_arm"]

_log = logging.getLogger(__name__)


ArmSearch: TypeAlias = Callable[[Query, SearchOptions], Awaitable[list[SearchResult]]]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of finding chunks: its name on the record, and its search."""

    name: str
    search: ArmSearch


def dense_arm(store: VectorStore, vectors: CallVectors) -> Arm:
    """The nearest chunks to the query's embedding."""

    async def search(query: Query, options: SearchOptions) -> list[SearchResult]:
        embedding = query.embedding if query.embedding is not None else await vectors.of_query(query.text)
        return await store.search(embedding, options)

    return Arm("dense", search)


def keyword_arm(index: KeywordIndex, run: AdaptiveOffload) -> Arm:
    """The chunks that share the query's terms; `run` knows how long searches of this index take."""

    async def search(query: Query, options: SearchOptions) -> list[SearchResult]:
        return await run(index.search, query.text, options.top_k, options.metadata_filter)

    return Arm("bm25", search)


def sparse_arm(store: SparseSearchable, vectors: CallVectors) -> Arm:
    """The chunks of the largest dot product with the text's learned sparse vector, whatever the dense arm embeds."""

    async def search(query: Query, options: SearchOptions) -> list[SearchResult]:
        return await store.sparse_search(await vectors.sparse_of_query(query.text), options)

    return Arm("sparse", search)


def native_arm(store: HybridSearchable, vectors: CallVectors) -> Arm:
    """The store's own fusion, under the store's name."""
    name = type(store).__name__

    async def search(query: Query, options: SearchOptions) -> list[SearchResult]:
        _log.debug("ensemble_native_hybrid: %s", name)
        embedding = query.embedding if query.embedding is not None else await vectors.of_query(query.text)
        return await store.hybrid_search(query.text, embedding, options)

    return Arm(name, search)


@dataclass(frozen=True, slots=True)
class _Outcome:
    report: ArmReport
    hits: list[SearchResult]
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Arms:
    """The search of one call: an arm alone, or several fused."""

    path: SearchPath
    arms: tuple[Arm, ...]

    def weighted(self, options: RetrievalOptions) -> list[tuple[Arm, float]]:
        """The arms that take part, and the weight of each in the fusion.

        Raises:
            CapabilityError: Weights of 0 leave none.
        """
        if self.path != "client":
            return [(arm, 1.0) for arm in self.arms]
        ensemble = options.ensemble_options or EnsembleOptions()
        weights = {
            "dense": ensemble.dense_weight,
            "bm25": ensemble.bm25_weight,
            "sparse": ensemble.sparse_weight,
        }
        weighted = [(arm, weights[arm.name]) for arm in self.arms if weights[arm.name] > 0]
        if not weighted:
            raise CapabilityError(
                "every arm that this pipeline has is switched off by a weight of 0 in ensemble_options"
            )
        return weighted

    def embeds_query(self, options: RetrievalOptions) -> bool:
        """Whether an arm that takes part searches with an embedding of the query."""
        return self.path == "native" or any(arm.name == "dense" for arm, _ in self.weighted(options))

    async def __call__(self, query: Query) -> Candidates:
        """Return at least `query.depth` candidates where that many are eligible and no window forbids it.

        Raises:
            RagError: The only arm failed, or all did.
        """
        if self.path == "client":
            return await self._fused(query)
        (arm,) = self.arms
        outcome = await self._run(arm, query, query.depth)
        if outcome.error is not None:
            raise outcome.error
        return Candidates(
            kept=single(ArmHits.of(arm.name, 1.0, outcome.hits)),
            arms=(outcome.report,),
            path=self.path,
            exhausted=len(outcome.hits) < query.depth,
        )

    async def _fused(self, query: Query) -> Candidates:
        options = query.options.ensemble_options or EnsembleOptions()
        depth = options.depth(query.depth)
        weighted = self.weighted(query.options)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(arm, query, depth)) for arm, _ in weighted]
        outcomes = [task.result() for task in tasks]
        self._raise_if_none_serves(outcomes)
        found = [
            ArmHits.of(arm.name, weight, outcome.hits)
            for (arm, weight), outcome in zip(weighted, outcomes, strict=True)
            if outcome.error is None
        ]
        spent = all(len(outcome.hits) < depth for outcome in outcomes if outcome.error is None)
        return Candidates(
            kept=fuse(found, options),
            arms=tuple(outcome.report for outcome in outcomes),
            path="client",
            exhausted=spent and len(found) == len(outcomes),
            bounded=spent or options.window is not None,
            warnings=tuple(
                f"the {o.report.arm} arm failed and the others served: {o.report.error}"
                for o in outcomes
                if o.error is not None
            ),
        )

    async def _run(self, arm: Arm, query: Query, depth: int) -> _Outcome:
        options = SearchOptions(
            top_k=depth, min_score=query.options.min_score, metadata_filter=query.options.metadata_filter
        )
        started = time.perf_counter()
        error: Exception | None = None
        hits: list[SearchResult] = []
        try:
            hits = await arm.search(query, options)
        except Exception as failure:  # noqa: BLE001  an arm may fail in any way; cancellation is no Exception
            error = failure if isinstance(failure, RagError) else self._wrapped(arm.name, failure)
        seconds = time.perf_counter() - started
        line = None if error is None else described(error)
        return _Outcome(
            ArmReport(arm=arm.name, depth=depth, hits=len(hits), seconds=seconds, error=line),
            hits,
            error,
        )

    @staticmethod
    def _wrapped(arm: str, failure: Exception) -> StoreError:
        error = StoreError(f"the {arm} search failed: {described(failure)}")
        error.__cause__ = failure
        return error

    @staticmethod
    def _raise_if_none_serves(outcomes: list[_Outcome]) -> None:
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        fatal = next((error for error in errors if isinstance(error, SETUP_FAULTS)), None)
        if fatal is not None:
            raise fatal
        if errors and len(errors) == len(outcomes):
            lines = "; ".join(f"{outcome.report.arm}: {outcome.report.error}" for outcome in outcomes)
            raise StoreError(f"every arm of the hybrid search failed: {lines}") from errors[0]
        for outcome in outcomes:
            if outcome.error is not None:
                _log.warning("the %s arm failed: %s", outcome.report.arm, outcome.report.error)

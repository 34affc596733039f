"""The order of retrieval, in one place: the stages that a call switches on, outermost first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.options import RetrievalOptions
from ragstone.retrieval.arms import Arms
from ragstone.retrieval.candidate import Stage
from ragstone.retrieval.deep_research import DeepResearch
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.stages.budget import TokenBudget
from ragstone.retrieval.stages.compression import Compression
from ragstone.retrieval.stages.corrective import CorrectiveRetrieval
from ragstone.retrieval.stages.cut import cut
from ragstone.retrieval.stages.guards import Guarding
from ragstone.retrieval.stages.hyde import HypotheticalDocuments
from ragstone.retrieval.stages.mmr import MaximalMarginalRelevance
from ragstone.retrieval.stages.multi_query import MultiQuery
from ragstone.retrieval.stages.parents import ParentSwap
from ragstone.retrieval.stages.redundancy import RedundancyFilter
from ragstone.retrieval.stages.reorder import reorder
from ragstone.retrieval.stages.rerank import Reranking
from ragstone.retrieval.stages.result_cache import ResultCache
from ragstone.retrieval.stages.specification import SpecificationFilter
from ragstone.retrieval.tags import TagRetrieval
from ragstone.retrieval.time_weighting import TimeWeighting
from ragstone.retrieval.vectors import CallVectors

__all__ = ["StageOrder"]


@dataclass(frozen=True, slots=True)
class StageOrder:
    """What a call switches on.

    Attributes:
        parts: What the pipeline has.
        options: What the call wants.
        vectors: The embeddings of the call.
        arms: The search itself.
        asking: Whether a chat model reads the page.
    """

    parts: RetrievalParts
    options: RetrievalOptions
    vectors: CallVectors
    arms: Arms
    asking: bool

    def __iter__(self) -> Iterator[tuple[str, Stage]]:
        """Yield each stage with its name. A stage that is off does not exist."""
        yield from self._around()
        yield from self._choosing()
        yield from self._finding()

    def _around(self) -> Iterator[tuple[str, Stage]]:
        """What surrounds the chain, and what finishes its page.

        Deep research ranks the page anew, so that what arranges it and keeps it short stands around it.
        """
        parts, options = self.parts, self.options
        if parts.tag_retrieval is not None and parts.tags is not None and options.use_tag_retrieval:
            yield "tags", TagRetrieval(parts.tag_retrieval, parts.tags, self.vectors)
        if parts.time_weighting is not None and options.use_time_weighting:
            yield "time_weighting", TimeWeighting(parts.time_weighting, parts.clock)
        research = None
        if parts.deep_research is not None and parts.chat is not None and options.use_deep_research:
            research = DeepResearch(parts.deep_research, parts.chat)
            yield from self._finishing()
            yield "deep_research", research
        if parts.pages is not None and options.use_cache_result:
            yield "cache", ResultCache(parts.pages, parts.guards, asking=self.asking)
        if research is None:
            yield from self._finishing()

    def _finishing(self) -> Iterator[tuple[str, Stage]]:
        """What arranges the page for its reader and keeps it short."""
        parts, options = self.parts, self.options
        if options.use_lost_in_the_middle_reordering:
            yield "reorder", reorder
        if options.max_context_tokens is not None:
            yield "budget", TokenBudget(options.max_context_tokens, parts.token_counter)
        compression = Compression.of(
            options, parts.compression, parts.compressor, embedder=self.vectors, chat=parts.chat, asking=self.asking
        )
        if compression is not None:
            yield "compression", compression

    def _choosing(self) -> Iterator[tuple[str, Stage]]:
        """What makes a page of the candidates."""
        parts, options = self.parts, self.options
        yield "cut", cut
        if options.use_mmr:
            yield "mmr", MaximalMarginalRelevance(options.mmr_lambda, options.mmr_pool, self.vectors)
        if options.use_redundancy_filter:
            yield "redundancy", RedundancyFilter(options.redundancy_threshold, self.vectors)
        if parts.parents is not None and options.use_parent_document:
            yield "parents", ParentSwap(parts.parents)
        if parts.reranker is not None and options.use_reranking:
            yield "rerank", Reranking(parts.reranker, options.rerank_pool)

    def _finding(self) -> Iterator[tuple[str, Stage]]:
        """What says which candidates there are."""
        parts, options = self.parts, self.options
        if parts.guards:
            yield "guards", Guarding(parts.guards)
        if options.use_crag:
            yield "crag", CorrectiveRetrieval.of(options, parts.web_search, parts.chat)
        if parts.multi_query is not None and parts.chat is not None and options.use_multi_query:
            yield "multi_query", MultiQuery(parts.multi_query, parts.chat)
        if (
            (parts.hyde is not None and parts.chat is not None and parts.embedder is not None)
            and options.use_hyde
            and self.arms.embeds_query(options)
        ):
            yield "hyde", HypotheticalDocuments(parts.hyde, parts.chat, parts.embedder)
        if options.filter is not None:
            yield "filter", SpecificationFilter(options.filter)

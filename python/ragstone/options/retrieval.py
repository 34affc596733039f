"""What one call of `retrieve` wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, cast

from ragstone.errors import ConfigurationError, MetadataError
from ragstone.metadata import MetadataValue, check_filter
from ragstone.options.ensemble import EnsembleOptions
from ragstone.specifications import Specification
from ragstone.validation import require_at_least, require_bool, require_finite, require_in_range

__all__ = [
    "RetrievalOptions",
]

_OVERFETCH: Final = 3
_THREE_WAY: Final = ("use_sparse_search", "use_compression")
"""Switches whose `None` follows something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """What one call of `retrieve` wants. With no options: five chunks by dense similarity, no floor.

    Attributes:
        top_k: How many chunks come back at most, at least 1.
        max_context_tokens: A budget in cl100k_base tokens; whole chunks are dropped, lowest-ranked first, until the
            rest fits. `None` is no budget.
        min_score: 0.0 is no threshold; any other value filters the dense arm by cosine (and the sparse arm by dot
            product) before fusion, never BM25 hits or fused scores.
        metadata_filter: Typed equalities that all must hold, in every arm, before the cut.
        filter: Any specification, applied in process to the fused candidates.
        use_hybrid_search: Fuse dense and keyword search.
        use_sparse_search: `None` follows `use_hybrid_search`, where the pipeline has a sparse encoder; False leaves the
            sparse arm out; True insists on it. Without `use_hybrid_search` it has no effect.
        ensemble_options: Weights, depth and kind of the fusion.
        use_lost_in_the_middle_reordering: Put the best chunks at both ends of the page.
        use_redundancy_filter: Drop a chunk whose cosine to a better-ranked kept one reaches `redundancy_threshold`.
        redundancy_threshold: In [-1, 1].
        use_mmr: Order by maximal marginal relevance.
        mmr_lambda: In [0, 1]; 1 is pure relevance.
        mmr_candidate_count: How many candidates MMR chooses from; `None` is 3 × top_k.
        use_hyde: Lets configured hypothetical documents take part.
        use_multi_query: Lets configured query variants take part.
        use_parent_document: Lets configured parent documents replace their children.
        use_reranking: Lets a configured reranker take part.
        use_deep_research: Lets a configured deep research take part.
        use_tag_retrieval: Lets a configured tag retrieval take part.
        use_time_weighting: Lets a configured time weighting take part.
        use_cache_embedding: Lets a configured embedding cache take part.
        use_cache_result: Lets a configured result cache take part.
        candidate_count: How many candidates the reranker sees, and more only where a later stage needs more to fill the
            page; `None` is 3 × top_k. Without a reranker it means nothing.
        use_adaptive_retrieval: Tell a simple, a complex and a multi-hop query apart, and set `top_k`, `use_multi_query`
            and `use_hyde` for it: 3, off, off; 8, on, off; 10, on, on. What the call switches off stays off.
        use_crag: Judge the results, and search the web where too few of them are relevant; needs a web search.
        crag_score_threshold: In [0, 1]; a share of relevant results below it starts the web search.
        crag_fallback_mode: `"replace"` gives the web's results alone; `"append"` puts them after the relevant results
            and before the others.
        use_compression: Compress the page's chunks to what bears on the query. `None` does so where compression is
            configured: when asking, and when retrieving if its `in_retrieval` is set.

    Raises:
        ConfigurationError: A value is out of its range; names field, value, limit.
        MetadataError: The filter holds a value that cannot be compared.
    """

    top_k: int = 5
    max_context_tokens: int | None = None
    min_score: float = 0.0
    metadata_filter: Mapping[str, MetadataValue] | None = None
    filter: Specification | None = None
    use_hybrid_search: bool = False
    use_sparse_search: bool | None = None
    ensemble_options: EnsembleOptions | None = None
    use_lost_in_the_middle_reordering: bool = False
    use_redundancy_filter: bool = False
    redundancy_threshold: float = 0.95
    use_mmr: bool = False
    mmr_lambda: float = 0.5
    mmr_candidate_count: int | None = None
    use_hyde: bool = True
    use_multi_query: bool = True
    use_parent_document: bool = True
    use_reranking: bool = True
    use_deep_research: bool = True
    use_tag_retrieval: bool = True
    use_time_weighting: bool = True
    use_cache_embedding: bool = True
    use_cache_result: bool = True
    candidate_count: int | None = None
    use_adaptive_retrieval: bool = False
    use_crag: bool = False
    crag_score_threshold: float = 0.5
    crag_fallback_mode: Literal["replace", "append"] = "replace"
    use_compression: bool | None = None

    def __post_init__(self) -> None:
        require_at_least("top_k", self.top_k, 1)
        for name in ("max_context_tokens", "mmr_candidate_count", "candidate_count"):
            if getattr(self, name) is not None:
                require_at_least(name, getattr(self, name), 1)
        require_finite("min_score", self.min_score)
        require_in_range("redundancy_threshold", self.redundancy_threshold, -1.0, 1.0)
        require_in_range("mmr_lambda", self.mmr_lambda, 0.0, 1.0)
        require_in_range("crag_score_threshold", self.crag_score_threshold, 0.0, 1.0)
        if self.crag_fallback_mode not in ("replace", "append"):
            raise ConfigurationError(
                f"crag_fallback_mode must be 'replace' or 'append', not {self.crag_fallback_mode!r}"
            )
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name.startswith("use_") and not (value is None and option.name in _THREE_WAY):
                require_bool(option.name, value)
        if self.filter is not None and not callable(self.filter):
            raise ConfigurationError(f"filter must be a specification (a callable), not {self.filter!r}")
        if self.metadata_filter is not None and not isinstance(self.metadata_filter, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MetadataError(f"metadata_filter must be a mapping of key to value, not {self.metadata_filter!r}")
        object.__setattr__(self, "metadata_filter", check_filter(cast("Mapping[str, object]", self.metadata_filter)))

    @property
    def rerank_pool(self) -> int:
        """How many candidates a reranker sees."""
        return max(self.top_k, self.candidate_count or _OVERFETCH * self.top_k)

    @property
    def mmr_pool(self) -> int:
        """How many candidates MMR chooses from."""
        return max(self.top_k, self.mmr_candidate_count or _OVERFETCH * self.top_k)

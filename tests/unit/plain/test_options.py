"""Options: the original defaults, checks where they are written down, refusals of what is not there yet."""

from __future__ import annotations

import dataclasses

import pytest

from ragstone.errors import ConfigurationError
from ragstone.options import EnsembleOptions, IngestionOptions, RagOptions, RetrievalOptions

DEFAULTS = {
    "top_k": 5,
    "max_context_tokens": None,
    "min_score": 0.0,
    "metadata_filter": None,
    "filter": None,
    "use_hybrid_search": False,
    "use_sparse_search": None,
    "ensemble_options": None,
    "use_lost_in_the_middle_reordering": False,
    "use_redundancy_filter": False,
    "redundancy_threshold": 0.95,
    "use_mmr": False,
    "mmr_lambda": 0.5,
    "mmr_candidate_count": None,
    "use_hyde": True,
    "use_multi_query": True,
    "use_parent_document": True,
    "use_reranking": True,
    "use_deep_research": True,
    "use_tag_retrieval": True,
    "use_time_weighting": True,
    "use_cache_embedding": True,
    "use_cache_result": True,
    "candidate_count": None,
    "use_adaptive_retrieval": False,
    "use_crag": False,
    "crag_score_threshold": 0.5,
    "crag_fallback_mode": "replace",
    "use_compression": None,
}


def test_the_defaults_are_those_of_the_original_system():
    assert dataclasses.asdict(RetrievalOptions()) == DEFAULTS
    asking = {
        "system_prompt": None,
        "temperature": None,
        "conversation_history": (),
        "send_sources_as_tool_result": False,
    }
    assert dataclasses.asdict(RagOptions()) == DEFAULTS | asking


@pytest.mark.row("C2")
def test_ensemble_defaults_give_the_plain_sum_of_reciprocal_ranks():
    assert dataclasses.asdict(EnsembleOptions()) == {
        "dense_weight": 1.0,
        "bm25_weight": 1.0,
        "sparse_weight": 1.0,
        "k": 60,
        "window": None,
        "fusion": "rrf",
    }
    assert EnsembleOptions().depth(5) == 50
    assert EnsembleOptions().depth(40) == 120
    assert EnsembleOptions(window=7).depth(40) == 7


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (RetrievalOptions, "top_k", 0),
        (RetrievalOptions, "top_k", "5"),
        (RetrievalOptions, "max_context_tokens", 0),
        (RetrievalOptions, "min_score", float("nan")),
        (RetrievalOptions, "min_score", None),
        (RetrievalOptions, "mmr_lambda", 1.01),
        (RetrievalOptions, "mmr_lambda", True),
        (RetrievalOptions, "mmr_candidate_count", 0),
        (RetrievalOptions, "crag_score_threshold", 2),
        (RetrievalOptions, "crag_fallback_mode", "merge"),
        (RetrievalOptions, "use_hybrid_search", 1),
        (RetrievalOptions, "use_reranking", None),
        (RetrievalOptions, "use_crag", None),
        (RetrievalOptions, "use_compression", "yes"),
        (RetrievalOptions, "use_sparse_search", "no"),
        (RetrievalOptions, "metadata_filter", [("a", 1)]),
        (EnsembleOptions, "dense_weight", -0.1),
        (EnsembleOptions, "bm25_weight", float("inf")),
        (EnsembleOptions, "k", 0),
        (EnsembleOptions, "window", 0),
        (EnsembleOptions, "fusion", "sum"),
        (IngestionOptions, "concurrency", 0),
        (IngestionOptions, "overwrite", None),
    ],
)
def test_a_bad_value_is_an_error_where_it_is_written_that_names_the_field(kind, field, value):
    with pytest.raises(ValueError, match=field):
        kind(**{field: value})


@pytest.mark.row("C2")
def test_weights_of_zero_throughout_are_refused():
    with pytest.raises(ConfigurationError, match="at least one"):
        EnsembleOptions(dense_weight=0, bm25_weight=0, sparse_weight=0)


def test_options_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RetrievalOptions().top_k = 3  # type: ignore[misc]

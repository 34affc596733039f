"""Which way a call searches: one arm, arms fused here, or the store's own hybrid search; and what to refuse.

A store's own hybrid search knows no weights, no sparse arm and no threshold, so it serves a call only if none of these
is asked for; a store whose declared capability lives in that search alone refuses every call that would pass it by.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from ragstone.concurrency import AdaptiveOffload
from ragstone.errors import CapabilityError
from ragstone.models import ScoreScale
from ragstone.options import RetrievalOptions
from ragstone.ports import (
    Embedder,
    HybridSearchable,
    KeywordIndex,
    NativeOnly,
    ScoreScaleAware,
    SparseEmbedder,
    SparseSearchable,
    StoreDecorator,
    VectorStore,
)
from ragstone.retrieval.arms import Arms, dense_arm, keyword_arm, native_arm, sparse_arm
from ragstone.retrieval.vectors import CallVectors

__all__ = ["Dispatcher"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Chooses the search path of each call for one set of parts."""

    store: VectorStore | None
    keyword_index: KeywordIndex | None
    embedder: Embedder | None
    sparse_encoder: SparseEmbedder | None = None
    _keyword_run: AdaptiveOffload = field(default_factory=AdaptiveOffload, init=False)
    _native_only: NativeOnly | None = field(init=False)
    _hybrid: HybridSearchable | None = field(init=False)
    _sparse: SparseSearchable | None = field(init=False)

    def __post_init__(self) -> None:
        # Asking a protocol takes longer than all else here, so it is done once.
        store: object = self.store
        object.__setattr__(self, "_native_only", store if isinstance(store, NativeOnly) else None)
        object.__setattr__(self, "_hybrid", store if isinstance(store, HybridSearchable) else None)
        sparse = self.sparse_encoder is not None and isinstance(store, SparseSearchable)
        object.__setattr__(self, "_sparse", store if sparse else None)

    def arms(self, options: RetrievalOptions, vectors: CallVectors) -> Arms:
        """Return the search of this call.

        Raises:
            CapabilityError: The parts cannot do what the options ask for; names each setting that stands in the way.
        """
        store, index = self.store, self.keyword_index
        if self.embedder is None or store is None:
            return Arms("keyword", (keyword_arm(self._only_index(options), self._keyword_run),))
        sparse = self._sparse_store(options)
        blocking = self._blocking(options, sparse=sparse is not None)
        native_only = self._native_only
        if blocking and native_only is not None and native_only.native_only_capability is not None:
            raise CapabilityError(
                f"{type(store).__name__} has {native_only.native_only_capability} enabled, which works only through "
                f"its own hybrid search, and this call would pass it by: {'; '.join(blocking)}"
            )
        if not options.use_hybrid_search:
            self._check_threshold(options)
            return Arms("dense", (dense_arm(store, vectors),))
        if self._hybrid is not None and not blocking:
            return Arms("native", (native_arm(self._hybrid, vectors),))
        if index is None:
            raise CapabilityError("use_hybrid_search=True needs a keyword index: give the pipeline one")
        arms = (dense_arm(store, vectors), keyword_arm(index, self._keyword_run))
        return Arms("client", arms if sparse is None else (*arms, sparse_arm(sparse, vectors)))

    def warn_if_hidden(self) -> None:
        """Log a warning where a decorator hides the hybrid search of the store inside it."""
        store: object = self.store
        if isinstance(store, HybridSearchable):
            return
        while isinstance(store, StoreDecorator):
            store = store.inner
            if isinstance(store, HybridSearchable):
                _log.warning(
                    "native_hybrid_hidden_by_decorator: %s hides the hybrid search of %s: forward hybrid_search",
                    type(self.store).__name__, type(store).__name__,
                )  # fmt: skip
                return

    def _sparse_store(self, options: RetrievalOptions) -> SparseSearchable | None:
        """The store that the sparse arm of this call searches, if the arm takes part."""
        if not options.use_hybrid_search or options.use_sparse_search is False:
            return None
        if self._sparse is None and options.use_sparse_search:
            lacking = (
                "an encoder: give the pipeline sparse_encoder=…"
                if self.sparse_encoder is None
                else f"a store that searches sparse vectors, and {type(self.store).__name__} does not"
            )
            raise CapabilityError(f"use_sparse_search=True needs {lacking}")
        return self._sparse

    def _only_index(self, options: RetrievalOptions) -> KeywordIndex:
        if options.use_hybrid_search:
            raise CapabilityError(
                "use_hybrid_search=True needs an embedder and a vector store: this pipeline has keywords only"
            )
        if self.keyword_index is None:
            raise CapabilityError("nothing to search: give an embedder and a vector store, or a keyword index")
        if options.min_score != 0.0:
            raise CapabilityError(
                f"min_score={options.min_score!r} is a threshold on cosine similarity, and this pipeline searches "
                "keywords only: leave it at 0.0, or use filter=MinScoreSpec(…) on the BM25 scale"
            )
        return self.keyword_index

    def _check_threshold(self, options: RetrievalOptions) -> None:
        store: object = self.store
        if options.min_score == 0.0 or not isinstance(store, ScoreScaleAware):
            return
        scale = store.score_scale
        if scale not in (ScoreScale.SIMILARITY, ScoreScale.DOT):
            raise CapabilityError(
                f"min_score={options.min_score!r} needs similarities, and {type(store).__name__} answers on the "
                f"scale '{scale}', which bears no threshold: leave it at 0.0"
            )

    @staticmethod
    def _blocking(options: RetrievalOptions, *, sparse: bool) -> list[str]:
        blocking: list[str] = []
        if not options.use_hybrid_search:
            blocking.append("use_hybrid_search is not set")
        if options.ensemble_options is not None:
            blocking.append("ensemble_options are given")
        if options.min_score != 0.0:
            blocking.append(f"min_score is {options.min_score!r}")
        if sparse:
            blocking.append("a sparse arm would run, which use_sparse_search=False leaves out")
        return blocking

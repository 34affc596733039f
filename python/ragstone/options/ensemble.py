"""How the arms of a hybrid search are weighed and fused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ragstone.errors import ConfigurationError
from ragstone.validation import require_at_least, require_finite

__all__ = [
    "EnsembleOptions",
    "Fusion",
]

Fusion: TypeAlias = Literal["rrf", "relative"]

_OVERFETCH: Final = 3
_SMALLEST_WINDOW: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleOptions:
    """How the arms of a hybrid search are weighed and fused.

    Setting these at all, default values included, keeps a hybrid search on the client's side.

    Attributes:
        dense_weight: Weight of the dense arm; 0 leaves the arm out.
        bm25_weight: Weight of the BM25 arm; 0 leaves the arm out.
        sparse_weight: Weight of the learned sparse arm; 0 leaves the arm out.
        k: The constant of reciprocal rank fusion, Σ weight / (k + rank).
        window: How many candidates each arm fetches; `None` is max(50, 3 × top_k). `window=top_k` gives the depth of
            systems that fuse pages.
        fusion: `"rrf"`, or `"relative"`: each arm's scores min-max scaled within its window, weighted and summed, the
            weights divided by their sum.

    Raises:
        ConfigurationError: A weight is negative, not finite, or all are 0; `k` or `window` is below 1.
    """

    dense_weight: float = 1.0
    bm25_weight: float = 1.0
    sparse_weight: float = 1.0
    k: int = 60
    window: int | None = None
    fusion: Fusion = "rrf"

    def __post_init__(self) -> None:
        for name in ("dense_weight", "bm25_weight", "sparse_weight"):
            if require_finite(name, getattr(self, name)) < 0:
                raise ConfigurationError(f"{name} must be at least 0, not {getattr(self, name)!r}")
        if not (self.dense_weight or self.bm25_weight or self.sparse_weight):
            raise ConfigurationError("at least one of dense_weight, bm25_weight and sparse_weight must be above 0")
        require_at_least("k", self.k, 1)
        if self.window is not None:
            require_at_least("window", self.window, 1)
        if self.fusion not in ("rrf", "relative"):
            raise ConfigurationError(f"fusion must be 'rrf' or 'relative', not {self.fusion!r}")

    def depth(self, wanted: int) -> int:
        """How many candidates each arm fetches so that `wanted` fused ones can be had."""
        return self.window if self.window is not None else max(_SMALLEST_WINDOW, _OVERFETCH * wanted)

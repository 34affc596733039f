"""Searching: what is asked of a store, and hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragstone.metadata import MetadataValue
from ragstone.models.chunks import TextChunk
from ragstone.models.evidence import Evidence
from ragstone.models.primitives import ScoreScale, Vector

__all__ = [
    "SearchOptions",
    "SearchResult",
    "WebResult",
]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A hit: a chunk, its score, the scale of that score and what led to it.

    Attributes:
        embedding: The chunk's vector where the store returned it, shape (dimensions,).
        evidence: What the arms and stages found out about the chunk, in order.
        compressed_text: What bears on the query, where the chunk was compressed; `chunk.text` stays complete.
    """

    chunk: TextChunk
    score: float
    score_scale: ScoreScale = ScoreScale.SIMILARITY
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    evidence: tuple[Evidence, ...] = ()
    compressed_text: str | None = None

    @property
    def text(self) -> str:
        """What a reader gets: the compressed text where there is one, else the chunk's."""
        return self.chunk.text if self.compressed_text is None else self.compressed_text


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What a retriever asks of a store or an index.

    Attributes:
        top_k: At most this many hits.
        min_score: 0.0 is no threshold; any other value, negative ones too, filters on the store's similarity scale.
        metadata_filter: Applied before the cut to `top_k`; validated.
    """

    top_k: int
    min_score: float = 0.0
    metadata_filter: Mapping[str, MetadataValue] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """A page that a web search found: its address, its title, and the passage that bears on the query."""

    url: str
    title: str
    text: str

"""What arms and stages find out about a chunk on its way through a retrieval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragstone.models.primitives import ChunkKey, ScoreScale

__all__ = [
    "ArmEvidence",
    "CompressionEvidence",
    "DecayEvidence",
    "Evidence",
    "GradeEvidence",
    "MmrEvidence",
    "ParentEvidence",
    "RankingEvidence",
    "RerankEvidence",
    "TokenEvidence",
    "TwinEvidence",
    "WebEvidence",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmEvidence:
    """An arm found the chunk.

    Attributes:
        arm: `dense`, `bm25`, `sparse`, or the store's name for a native hybrid search.
        rank: From 1, within the arm.
        score: The arm's own score, on `scale`.
        weight: The arm's weight in the fusion; 1 where the arm was alone.
        contribution: What the arm adds to the fused score; contributions add up to it exactly.
    """

    arm: str
    rank: int
    score: float
    scale: ScoreScale
    weight: float = 1.0
    contribution: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinEvidence:
    """The redundancy filter found a better-ranked chunk that says the same."""

    twin: ChunkKey
    similarity: float
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MmrEvidence:
    """Maximal marginal relevance weighed the chunk.

    Attributes:
        relevance: Cosine of query and chunk.
        redundancy: The largest cosine to a chunk picked before; 0 for the first.
        value: `lambda * relevance - (1 - lambda) * redundancy`.
        position: From 1, the order in which it was picked; `None` if it was not.
    """

    relevance: float
    redundancy: float
    value: float
    position: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEvidence:
    """The token budget counted the chunk: its `tokens`, the `total` before the decision, and the `budget`."""

    tokens: int
    total: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingEvidence:
    """One of several rankings that were merged held the chunk.

    Attributes:
        kind: What the ranking answers: a `variant` of the query, a `sub_query`, or a `store` of several.
        name: The variant, the sub-query or the store; the query itself is a variant and a sub-query too.
        rank: From 1, within that ranking.
        score: The chunk's score there, on `scale`.
        contribution: What the ranking adds to the merged score; contributions add up to it exactly.
    """

    kind: Literal["variant", "sub_query", "store"]
    name: str
    rank: int
    score: float
    scale: ScoreScale
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankEvidence:
    """A reranker scored the chunk.

    Attributes:
        reranker: Its identity.
        score: Its score, on its own scale, which is now the chunk's.
        rank_before: From 1, where the chunk stood before.
        score_before: The score it had before, on `scale_before`.
    """

    reranker: str
    score: float
    rank_before: int
    score_before: float
    scale_before: ScoreScale


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentEvidence:
    """The chunk is a parent: it stands where its best child stood.

    Attributes:
        child: The best child, whose rank and score the parent has.
        children: How many of its children were among the candidates.
    """

    child: ChunkKey
    children: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeEvidence:
    """Corrective retrieval judged the chunk.

    Attributes:
        grade: `relevant`, `ambiguous` or `irrelevant` by a model; by words, `relevant` or `irrelevant`.
        overlap: The share of the query's terms that occur in the chunk, in [0, 1]; `None` where a model judged.
    """

    grade: Literal["relevant", "ambiguous", "irrelevant"]
    overlap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebEvidence:
    """A web search found the text.

    Attributes:
        engine: The search engine's identity.
        url: The page.
        rank: From 1, within the engine's answer.
    """

    engine: str
    url: str
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayEvidence:
    """Time weighting lowered the score: `score_before * factor`.

    Attributes:
        factor: e^(-decay_rate * age_hours), in (0, 1]; 1 where the chunk has no timestamp.
        age_hours: Hours between the timestamp and now, at least 0; `None` without a timestamp.
        key: The metadata key that gave the timestamp; `None` without one.
        score_before: The score before, on `scale_before`.
    """

    factor: float
    age_hours: float | None
    key: str | None
    score_before: float
    scale_before: ScoreScale


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionEvidence:
    """The chunk's text was compressed for the reader.

    Attributes:
        compressor: Its identity.
        characters_before: Length of the chunk's text.
        characters_after: Length of what stands for it.
    """

    compressor: str
    characters_before: int
    characters_after: int


Evidence: TypeAlias = (
    ArmEvidence
    | RankingEvidence
    | GradeEvidence
    | WebEvidence
    | RerankEvidence
    | ParentEvidence
    | TwinEvidence
    | MmrEvidence
    | CompressionEvidence
    | TokenEvidence
    | DecayEvidence
)

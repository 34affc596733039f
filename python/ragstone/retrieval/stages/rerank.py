"""Reranking: a model that reads query and chunk together scores the best candidates anew."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ragstone.concurrency import offload
from ragstone.errors import RerankError
from ragstone.faults import described, tried
from ragstone.models import ChunkKey, RerankEvidence, ScoreScale
from ragstone.ports import Reranker, VocabularyAware
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.planning import Cost, InnerCost

__all__ = ["Reranking"]

_log = logging.getLogger(__name__)

_MOSTLY: Final = 0.5
_MODEL_WITHOUT_A_CLUE: Final = "rerank_unknown_words: %.0f%% of the tokens are unknown to %s: its scores mean little"


@dataclass(slots=True)
class _Asked:
    """What the reranker said of one query so far."""

    scores: dict[ChunkKey, float | None] = field(default_factory=dict[ChunkKey, "float | None"])
    unknown: float | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Reranking:
    """Score the `pool` best candidates with a reranker and order them by its scores.

    Only those that were scored compete; the others are dropped. Equal scores keep the incoming order. A candidate is
    scored once a query, however often the stages outside ask.
    """

    reranker: Reranker
    pool: int
    _asked: dict[str, _Asked] = field(default_factory=dict[str, _Asked], init=False)

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the candidates in the reranker's order; where it fails, as they came, with a warning."""
        pool = max(self.pool, query.depth)
        found = await search(query.deeper(pool))
        asked = self._asked.setdefault(query.text, _Asked())
        candidates = tuple(found.kept[:pool])
        if asked.failure is None:
            error = await tried(self._score(query.text, candidates, asked))
            if error is not None:
                asked.failure = described(error)
                _log.warning("rerank_failed: %s: %s", self.reranker.identity, asked.failure)
        if asked.failure is not None:
            return found.warning(f"the reranker failed and the order stays as it was: {asked.failure}")
        beyond = [c.dropped("rerank", f"not among the {pool} that were reranked") for c in found.kept[pool:]]
        return found.choosing(self._ordered(candidates, asked), beyond, warnings=self._warnings(candidates, asked))

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """One request to the reranker, and the rest of the chain at its own depth."""
        return Cost(rerank_calls=1) + inner(max(self.pool, depth))

    async def _score(self, query: str, candidates: Sequence[Candidate], asked: _Asked) -> None:
        new = [candidate for candidate in candidates if candidate.key not in asked.scores]
        if not new:
            return
        texts = [candidate.chunk.text for candidate in new]
        scores = _verified(await self.reranker.rerank(query, texts), len(texts))
        asked.scores.update(zip((candidate.key for candidate in new), scores, strict=True))
        reranker: object = self.reranker
        if asked.unknown is None and isinstance(reranker, VocabularyAware):
            asked.unknown = await offload(reranker.unknown_share, [query, *texts])
            if asked.unknown > _MOSTLY:
                _log.warning(_MODEL_WITHOUT_A_CLUE, 100 * asked.unknown, self.reranker.identity)

    def _ordered(self, candidates: Sequence[Candidate], asked: _Asked) -> list[Candidate]:
        scored: list[Candidate] = []
        unscored: list[Candidate] = []
        for rank, candidate in enumerate(candidates, start=1):
            score = asked.scores[candidate.key]
            if score is None:
                unscored.append(candidate)
                continue
            evidence = RerankEvidence(
                reranker=self.reranker.identity,
                score=score,
                rank_before=rank,
                score_before=candidate.score,
                scale_before=candidate.scale,
            )
            scored.append(candidate.scored(score, ScoreScale.RERANK, evidence))
        scored.sort(key=lambda candidate: -candidate.score)
        return [*scored, *unscored]

    def _warnings(self, candidates: Sequence[Candidate], asked: _Asked) -> list[str]:
        scores = [asked.scores[candidate.key] for candidate in candidates]
        warnings: list[str] = []
        unscored = scores.count(None)
        if unscored:
            warnings.append(f"the reranker left {unscored} of {len(scores)} candidates without a score: they come last")
        if len(scores) > 1 and len(set(scores)) == 1:
            warnings.append(f"the reranker gave all {len(scores)} candidates the same score, so it changes nothing")
        if asked.unknown is not None and asked.unknown > _MOSTLY:
            warnings.append(
                f"{asked.unknown:.0%} of the tokens are unknown to the reranker, so its scores mean little: "
                "check that model and tokenizer belong together and know the language"
            )
        return warnings


def _verified(answer: Sequence[float | None], count: int) -> list[float | None]:
    """Return a reranker's scores as floats.

    Raises:
        RerankError: They are not one a text, not finite, or none at all.
    """
    scores = [None if score is None else float(score) for score in answer]
    if len(scores) != count:
        raise RerankError(f"{count} texts went in and {len(scores)} scores came back")
    if any(score is not None and not math.isfinite(score) for score in scores):
        raise RerankError("a score is NaN or infinite")
    if all(score is None for score in scores):
        raise RerankError("no text was given a score")
    return scores

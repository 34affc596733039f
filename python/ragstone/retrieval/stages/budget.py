"""The token budget: whole chunks go, lowest-ranked first, until the rest fits."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ragstone.concurrency import offload
from ragstone.engine.tokens import fit_budget
from ragstone.models import TokenEvidence
from ragstone.ports import TokenCounter
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search

__all__ = ["TokenBudget"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Drop the lowest-ranked chunks until the page's tokens fit `max_tokens`; never cut one short."""

    max_tokens: int
    counter: TokenCounter | None = None

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the longest prefix of the page that fits."""
        found = await search(query)
        texts = [candidate.text for candidate in found.kept]
        budget = await offload(fit_budget, texts, self.max_tokens, counter=self.counter)
        running = 0
        noted: list[Candidate] = []
        for candidate, tokens in zip(found.kept, budget.counts, strict=True):
            running += tokens
            noted.append(candidate.noting(TokenEvidence(tokens=tokens, total=running, budget=self.max_tokens)))
        dropped = [
            candidate.dropped("budget", f"{tokens} tokens do not fit max_context_tokens {self.max_tokens}")
            for candidate, tokens in zip(noted[budget.kept :], budget.counts[budget.kept :], strict=True)
        ]
        return found.choosing(noted[: budget.kept], dropped, warnings=self._warnings(budget.kept, budget.counts))

    def _warnings(self, kept: int, counts: list[int]) -> list[str]:
        if kept == len(counts):
            return []
        total = sum(counts)
        _log.info(
            "token budget %d: dropped %d of %d chunks (%d of %d tokens)",
            self.max_tokens, len(counts) - kept, len(counts), sum(counts[kept:]), total,
        )  # fmt: skip
        if kept:
            return []
        warning = (
            f"the best chunk alone has {counts[0]} tokens, over max_context_tokens {self.max_tokens}: the page is empty"
        )
        _log.warning("token budget: %s", warning)
        return [warning]

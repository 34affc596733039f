"""Guards: they see the candidates with their full texts before they are reranked, and may drop any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from ragstone.errors import GuardError
from ragstone.models import ChunkKey, SearchResult, TextChunk
from ragstone.ports import RetrievalGuard
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.filling import first_depth, search_until_filled
from ragstone.retrieval.planning import Cost, InnerCost

__all__ = ["Guarding"]


@dataclass(frozen=True, slots=True)
class Guarding:
    """Drop what a guard holds back, and search deeper for what is missing.

    A guard that fails ends the call. Of what it dropped, and of what stages inside dropped before a guard could see it,
    the record keeps identity, score and reason, but neither text nor metadata. Guards see a candidate once a query.
    """

    refills: ClassVar[bool] = True

    guards: Sequence[RetrievalGuard]
    _verdicts: dict[tuple[str, ChunkKey], str | None] = field(
        default_factory=dict[tuple[str, ChunkKey], "str | None"], init=False
    )

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the candidates that every guard lets pass.

        Raises:
            GuardError: A guard did not give one verdict a result.
            Exception: Whatever a guard raised.
        """

        async def apply(found: Candidates) -> Candidates:
            await self._judge(query.text, found.kept)
            kept: list[Candidate] = []
            dropped: list[Candidate] = []
            for candidate in found.kept:
                reason = self._verdicts[query.text, candidate.key]
                if reason is None:
                    kept.append(candidate)
                else:
                    dropped.append(_withheld(candidate).dropped("guards", reason))
            unseen = [_withheld(candidate) for candidate in found.dropped]
            return replace(found, dropped=unseen).keeping(kept, dropped)

        return await search_until_filled(query, search, apply)

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the first, deeper search; what guards do is theirs."""
        return inner(first_depth(depth))

    async def _judge(self, query: str, candidates: Sequence[Candidate]) -> None:
        waiting = [candidate for candidate in candidates if (query, candidate.key) not in self._verdicts]
        verdicts: dict[tuple[str, ChunkKey], str | None] = {(query, candidate.key): None for candidate in waiting}
        for guard in self.guards:
            if not waiting:
                break
            reasons = await _asked(guard, query, [candidate.result() for candidate in waiting])
            for candidate, reason in zip(waiting, reasons, strict=True):
                if reason is not None:
                    verdicts[query, candidate.key] = f"guard {guard.identity}: {reason}"
            waiting = [candidate for candidate, reason in zip(waiting, reasons, strict=True) if reason is None]
        self._verdicts.update(verdicts)


async def _asked(guard: RetrievalGuard, query: str, results: Sequence[SearchResult]) -> Sequence[str | None]:
    reasons = cast("Sequence[object]", await guard.check(query, results))
    if len(reasons) != len(results):
        raise GuardError(
            f"guard {guard.identity}: {len(results)} results went in and {len(reasons)} verdicts came back"
        )
    texts = [reason for reason in reasons if reason is None or isinstance(reason, str)]
    if len(texts) != len(reasons):
        raise GuardError(f"guard {guard.identity}: a verdict must be None or the reason to drop the result, a string")
    return texts


def _withheld(candidate: Candidate) -> Candidate:
    chunk = candidate.chunk
    return replace(
        candidate, chunk=TextChunk("", chunk.document_id, chunk.chunk_index, chunk.start, chunk.end), vector=None
    )

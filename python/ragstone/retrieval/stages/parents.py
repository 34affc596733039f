"""Parents: what was found by small chunks comes back as the larger ones that they lie in."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

from ragstone.concurrency import offload
from ragstone.faults import described, tried
from ragstone.models import ChunkKey, ParentEvidence, TextChunk, WebEvidence
from ragstone.ports import ParentChunkStore
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.filling import first_depth, search_until_filled
from ragstone.retrieval.planning import Cost, InnerCost

__all__ = ["ParentSwap"]

_log = logging.getLogger(__name__)


class _Parents:
    """A document's parents, in order of their start."""

    __slots__ = ("_parents", "_reach", "_starts")

    def __init__(self, parents: Sequence[TextChunk]) -> None:
        self._parents = parents
        self._starts = [parent.start for parent in parents]
        self._reach = list(accumulate((parent.end for parent in parents), max))

    def of(self, child: TextChunk) -> TextChunk | None:
        """The first parent that the chunk lies in, else the one that shares most of it; `None` where none does."""
        if not child.text or child.end - child.start != len(child.text):
            return None
        near = self._parents[bisect_right(self._reach, child.start) : bisect_left(self._starts, child.end)]
        best = max(near, key=lambda parent: _shared(parent, child), default=None)
        return best if best is not None and _agree(best, child) else None


@dataclass(frozen=True, slots=True)
class ParentSwap:
    """Put each candidate's parent in its place, each parent once: where its best child stood, with its score.

    Where a single candidate has no parent all stay as they are, with a warning, since a page of both would weigh a
    document by what happens to be stored of it. Pages found on the web have none and are passed over.
    """

    store: ParentChunkStore
    _known: dict[str, _Parents] = field(default_factory=dict[str, _Parents], init=False)

    refills: ClassVar[bool] = True

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return parents, and search deeper until there are enough of them."""
        return await search_until_filled(query, search, self._apply)

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the first, deeper search."""
        return inner(first_depth(depth))

    async def _apply(self, found: Candidates) -> Candidates:
        candidates = tuple(found.kept)
        error = await tried(self._look_up({c.chunk.document_id for c in candidates if _is_child(c)}))
        if error is not None:
            return self._unchanged(found, f"the parents could not be read: {described(error)}")
        parents = [self._known[c.chunk.document_id].of(c.chunk) if _is_child(c) else c.chunk for c in candidates]
        missing = parents.count(None)
        if missing:
            return self._unchanged(found, f"{missing} of {len(candidates)} chunks have no parent: ingest them again")
        return _swapped(found, zip(candidates, (parent for parent in parents if parent is not None), strict=True))

    async def _look_up(self, document_ids: set[str]) -> None:
        wanted = sorted(document_ids - self._known.keys())
        if wanted:
            self._known.update(await offload(_read, self.store, wanted))

    @staticmethod
    def _unchanged(found: Candidates, reason: str) -> Candidates:
        _log.warning("parents_missing: %s", reason)
        return found.warning(f"chunks were not replaced by their parents: {reason}")


def _read(store: ParentChunkStore, document_ids: Iterable[str]) -> dict[str, _Parents]:
    return {document_id: _Parents(store.parents(document_id)) for document_id in document_ids}


def _swapped(found: Candidates, pairs: Iterable[tuple[Candidate, TextChunk]]) -> Candidates:
    families: dict[tuple[bool, ChunkKey], list[tuple[Candidate, TextChunk]]] = {}
    for candidate, parent in pairs:
        families.setdefault((_is_child(candidate), parent.key), []).append((candidate, parent))
    kept: list[Candidate] = []
    dropped: list[Candidate] = []
    for (is_child, key), family in families.items():
        best, parent = family[0]
        if not is_child:
            kept.append(best)
            continue
        kept.append(best.replaced_by(parent, ParentEvidence(child=best.key, children=len(family))))
        reason = f"lies in the parent {key.document_id}#{key.chunk_index}, which came for a better-ranked chunk"
        dropped.extend(candidate.dropped("parents", reason) for candidate, _ in family[1:])
    return found.keeping(kept, dropped)


def _is_child(candidate: Candidate) -> bool:
    """Whether the candidate comes from the index, and not from the web."""
    return not any(isinstance(item, WebEvidence) for item in candidate.evidence)


def _shared(parent: TextChunk, child: TextChunk) -> int:
    """How many characters of the child lie in the parent."""
    return min(parent.end, child.end) - max(parent.start, child.start)


def _agree(parent: TextChunk, child: TextChunk) -> bool:
    """Whether both are of one version of the document: where they overlap they have the same text."""
    start, end = max(parent.start, child.start), min(parent.end, child.end)
    return (
        start < end
        and parent.text[start - parent.start : end - parent.start]
        == child.text[start - child.start : end - child.start]
    )

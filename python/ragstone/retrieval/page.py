"""What a call of `retrieve` answers: the page and the record of how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ragstone.models import ChunkKey, Evidence, SearchResult
from ragstone.retrieval.candidate import ArmReport, Candidate, Drop, SearchPath

if TYPE_CHECKING:
    from ragstone.retrieval.explanation import Explanation

__all__ = ["DroppedResult", "SearchPage"]


@dataclass(frozen=True, slots=True)
class DroppedResult:
    """A candidate that did not make the page, and the verdict on it."""

    result: SearchResult
    drop: Drop


@dataclass(frozen=True, kw_only=True)
class SearchPage(Sequence[SearchResult]):
    """A sequence of `SearchResult`, best first unless reordered, with the record of the call.

    Attributes:
        query: The text that was asked.
        results: What the sequence holds.
        arms: Status, depth and time of each arm.
        path: `dense`, `keyword`, `client` (fused here) or `native` (fused by the store).
        exhausted: True where the page holds every eligible chunk, so that a short page is all there is.
        warnings: What did not go as asked, one line each; empty when all went well.
        notes: What stages decided about the call, such as `adaptive_complexity`, as short texts.
        timings: Seconds spent in each stage itself, outermost first, `search` for the arms and their fusion.
    """

    query: str
    results: tuple[SearchResult, ...]
    arms: tuple[ArmReport, ...] = ()
    path: SearchPath = "dense"
    exhausted: bool = False
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    candidates_dropped: Sequence[Candidate] = field(default=(), repr=False)

    @cached_property
    def dropped(self) -> tuple[DroppedResult, ...]:
        """The candidates that did not make it, each with stage and reason."""
        return tuple(DroppedResult(c.result(), c.drop) for c in self.candidates_dropped if c.drop is not None)

    @overload
    def __getitem__(self, index: int) -> SearchResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SearchResult, ...]: ...
    def __getitem__(self, index: int | slice) -> SearchResult | tuple[SearchResult, ...]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SearchResult]:
        return iter(self.results)

    def explain(self) -> Explanation:
        """Return the record as a table: print it, or take its `to_dict()`."""
        from ragstone.retrieval.explanation import Explanation

        return Explanation(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "query": self.query,
            "path": self.path,
            "exhausted": self.exhausted,
            "warnings": list(self.warnings),
            "notes": dict(self.notes),
            "results": [_result(result) for result in self.results],
            "dropped": [
                {**_result(item.result), "dropped_by": item.drop.stage, "reason": item.drop.reason}
                for item in self.dropped
            ],
            "arms": [{**asdict(arm), "status": arm.status} for arm in self.arms],
            "timings": dict(self.timings),
        }


def _result(result: SearchResult) -> dict[str, Any]:
    chunk = result.chunk
    return {
        "document_id": chunk.document_id,
        "chunk_index": chunk.chunk_index,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
        "compressed_text": result.compressed_text,
        "metadata": {
            k: v if isinstance(v, (str, int, float, bool)) else v.isoformat() for k, v in chunk.metadata.items()
        },
        "score": result.score,
        "score_scale": str(result.score_scale),
        "evidence": [_evidence(item) for item in result.evidence],
    }


def _evidence(item: Evidence) -> dict[str, Any]:
    fields = {name: list(value) if isinstance(value, ChunkKey) else value for name, value in asdict(item).items()}
    return {"kind": type(item).__name__.removesuffix("Evidence").lower(), **fields}

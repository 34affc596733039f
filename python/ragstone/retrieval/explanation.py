"""The record of one query as a table that reads well in 80 columns."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ragstone.models import (
    ArmEvidence,
    ChunkKey,
    CompressionEvidence,
    DecayEvidence,
    Evidence,
    GradeEvidence,
    MmrEvidence,
    ParentEvidence,
    RankingEvidence,
    RerankEvidence,
    SearchResult,
    TokenEvidence,
    TwinEvidence,
    WebEvidence,
)
from ragstone.retrieval.candidate import ArmReport
from ragstone.retrieval.page import DroppedResult, SearchPage

__all__ = ["Explanation"]

_WIDTH: Final = 80
_INDENT: Final = " " * 6
_SHOWN_DROPS: Final = 8


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why each chunk came back, why each of the others did not, and what it cost. `str()` gives the table.

    Attributes:
        page: The page that is explained.
    """

    page: SearchPage

    def __str__(self) -> str:
        parts = [self._header(), self._results(), self._dropped(), self._arms(), self._warnings()]
        return "\n\n".join(part for part in parts if part)

    def of(self, document_id: str, chunk_index: int) -> str:
        """Say in one line what became of a chunk in this call; one that no arm found is told so."""
        key = ChunkKey(document_id, chunk_index)
        for place, result in enumerate(self.page, start=1):
            if result.chunk.key == key:
                return f"{_name(key)} came back at place {place}: {_evidence_line(result.evidence)}"
        for place, result in enumerate(self.page, start=1):
            if any(isinstance(item, ParentEvidence) and item.child == key for item in result.evidence):
                return f"{_name(key)} came back at place {place} as its parent {_name(result.chunk.key)}"
        for item in self.page.dropped:
            if item.result.chunk.key == key:
                return f"{_name(key)} was dropped by {item.drop.stage}: {item.drop.reason}"
        depths = ", ".join(dict.fromkeys(f"{arm.arm} looked {arm.depth} deep" for arm in self.page.arms))
        return f"{_name(key)} was found by no arm ({depths}): it is not indexed, not eligible, or ranks lower"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole record as plain data, ready for JSON."""
        return self.page.to_dict()

    def _header(self) -> str:
        page = self.page
        how = {
            "dense": "dense search",
            "keyword": "keyword search",
            "client": "hybrid search, fused here",
            "native": "hybrid search by the store",
        }[page.path]
        total = len(page) + len(page.dropped)
        end = ", nothing more was eligible" if page.exhausted else ""
        line = f"{how}: {len(page)} of {total} candidates{end}, {page.seconds * 1e3:.1f} ms"
        return "\n".join((textwrap.shorten(f'"{page.query}"', _WIDTH, placeholder='…"'), line))

    def _results(self) -> str:
        if not self.page.results:
            return "No results."
        return "\n".join(
            line for place, result in enumerate(self.page, start=1) for line in _result_lines(place, result)
        )

    def _dropped(self) -> str:
        if not self.page.dropped:
            return ""
        counts = Counter(item.drop.stage for item in self.page.dropped)
        summary = ", ".join(f"{count} by {stage}" for stage, count in counts.items())
        lines = [f"Dropped: {summary}"]
        for item in self.page.dropped[:_SHOWN_DROPS]:
            lines.extend(_drop_lines(item))
        if len(self.page.dropped) > _SHOWN_DROPS:
            lines.append(f"  … and {len(self.page.dropped) - _SHOWN_DROPS} more (to_dict() has all)")
        return "\n".join(lines)

    def _arms(self) -> str:
        reports: dict[str, list[ArmReport]] = {}
        for report in self.page.arms:
            reports.setdefault(report.arm, []).append(report)
        lines = [_arm_line(arm, of_arm) for arm, of_arm in reports.items()]
        stages = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.page.timings.items())
        return "\n".join(line for text in (*lines, f"Time: {stages}") for line in textwrap.wrap(text, _WIDTH))

    def _warnings(self) -> str:
        notes = (f"Note: {name} = {value}" for name, value in self.page.notes.items())
        warnings = (f"Warning: {text}" for text in self.page.warnings)
        return "\n".join(line for text in (*notes, *warnings) for line in textwrap.wrap(text, _WIDTH))


def _name(key: ChunkKey) -> str:
    return f"{key.document_id}#{key.chunk_index}"


def _result_lines(place: int, result: SearchResult) -> Iterator[str]:
    yield f"{place:>3}.  {_score(result.score)} {result.score_scale:<10} {_name(result.chunk.key)}"
    yield from textwrap.wrap(
        _evidence_line(result.evidence), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT + "  "
    )
    snippet = textwrap.shorten(result.chunk.text, _WIDTH - len(_INDENT) - 2, placeholder=" …")
    yield f"{_INDENT}| {snippet}"


def _arm_line(arm: str, reports: list[ArmReport]) -> str:
    hits, milliseconds = sum(report.hits for report in reports), sum(report.seconds for report in reports) * 1e3
    depth = max(report.depth for report in reports)
    errors = [report.error for report in reports if report.error is not None]
    if len(reports) == 1:
        failed = f", failed: {errors[0]}" if errors else ""
        return f"Arm {arm}: {hits} hits of {depth} asked for, {milliseconds:.1f} ms{failed}"
    failed = f", {len(errors)} failed: {errors[0]}" if errors else ""
    return f"Arm {arm}: {hits} hits of {depth} asked for in {len(reports)} searches, {milliseconds:.1f} ms{failed}"


def _drop_lines(item: DroppedResult) -> Iterator[str]:
    head = f"  {_score(item.result.score)} {_name(item.result.chunk.key)}: {item.drop.stage}, {item.drop.reason}"
    yield from textwrap.wrap(head, _WIDTH, subsequent_indent=_INDENT)


def _score(score: float) -> str:
    return f"{score:>9.5f}" if abs(score) < 100 else f"{score:>9.2f}"  # noqa: PLR2004  the width of the column


def _evidence_line(evidence: tuple[Evidence, ...]) -> str:
    return "; ".join(_evidence(item) for item in evidence)


def _evidence(item: Evidence) -> str:
    match item:
        case ArmEvidence() | RankingEvidence():
            return _rank(item)
        case MmrEvidence():
            return f"mmr pick {item.position}: relevance {item.relevance:.3f}, redundancy {item.redundancy:.3f}"
        case TwinEvidence():
            return f"twin of {_name(item.twin)} (cosine {item.similarity:.3f})"
        case TokenEvidence():
            return f"{item.tokens} tokens, {item.total} of {item.budget} so far"
        case RerankEvidence() | DecayEvidence() | ParentEvidence():
            return _change(item)
        case GradeEvidence() | WebEvidence() | CompressionEvidence():
            return _judgement(item)


def _rank(item: ArmEvidence | RankingEvidence) -> str:
    match item:
        case ArmEvidence():
            return f"{item.arm} rank {item.rank} ({item.score:.4g} {item.scale}) gives {item.contribution:.5f}"
        case RankingEvidence():
            name = textwrap.shorten(item.name, _WIDTH // 2, placeholder=" …")
            return f'{item.kind.replace("_", "-")} "{name}" rank {item.rank} gives {item.contribution:.5f}'


def _change(item: RerankEvidence | DecayEvidence | ParentEvidence) -> str:
    match item:
        case RerankEvidence():
            return (
                f"reranked {item.score:.4g}, was rank {item.rank_before} ({item.score_before:.4g} {item.scale_before})"
            )
        case DecayEvidence(key=None):
            return "no timestamp, not decayed"
        case DecayEvidence():
            return f"decayed by {item.factor:.3f}: {item.age_hours:.0f} h since {item.key}"
        case ParentEvidence():
            return f"parent of {_name(item.child)} ({item.children} of its chunks found)"


def _judgement(item: GradeEvidence | WebEvidence | CompressionEvidence) -> str:
    match item:
        case GradeEvidence(overlap=None):
            return f"graded {item.grade} by the model"
        case GradeEvidence():
            return f"graded {item.grade} ({item.overlap:.0%} of the query's terms)"
        case WebEvidence():
            return f"found on the web at rank {item.rank}: {item.url}"
        case CompressionEvidence():
            return f"compressed from {item.characters_before} to {item.characters_after} characters ({item.compressor})"

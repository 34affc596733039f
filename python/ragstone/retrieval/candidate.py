"""The record of one retrieval: each chunk travels as a `Candidate` that gathers evidence and ends with a verdict.

Arms and stages add to the record and nobody logs apart from it; explanations, traces and telemetry read it. A stage
never changes a candidate: it hands on new ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from ragstone.models import ChunkKey, Evidence, ScoreScale, SearchResult, TextChunk, Vector
from ragstone.options import RetrievalOptions

__all__ = ["ArmReport", "Candidate", "Candidates", "Drop", "Query", "Search", "SearchPath", "Stage"]

SearchPath: TypeAlias = Literal["dense", "keyword", "client", "native"]
"""How the candidates were found: one arm alone, arms fused here, or the store's own fusion."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The verdict on a candidate that does not come back: which stage dropped it, and why."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk on its way through the chain.

    Attributes:
        score: The score it is ordered by at this point, on `scale`.
        evidence: What arms and stages found out, in order.
        vector: Its embedding, once somebody needed it.
        drop: Set where a stage dropped it.
    """

    chunk: TextChunk
    score: float
    scale: ScoreScale
    evidence: tuple[Evidence, ...] = ()
    vector: Vector | None = None
    drop: Drop | None = None

    @property
    def key(self) -> ChunkKey:
        """The chunk's identity."""
        return self.chunk.key

    def noting(self, evidence: Evidence) -> Candidate:
        """The same candidate with one more piece of evidence."""
        return Candidate(self.chunk, self.score, self.scale, (*self.evidence, evidence), self.vector, self.drop)

    def holding(self, vector: Vector) -> Candidate:
        """The same candidate with its embedding."""
        return Candidate(self.chunk, self.score, self.scale, self.evidence, vector, self.drop)

    def dropped(self, stage: str, reason: str) -> Candidate:
        """The same candidate with the verdict that `stage` dropped it."""
        return Candidate(self.chunk, self.score, self.scale, self.evidence, self.vector, Drop(stage, reason))

    def result(self) -> SearchResult:
        """What the caller sees of it."""
        return SearchResult(self.chunk, self.score, self.scale, self.vector, self.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """What an arm did in one call.

    Attributes:
        arm: `dense`, `bm25`, `sparse`, or the name of the store that searched natively.
        depth: How many candidates it was asked for.
        hits: How many it found.
        seconds: Wall time, embedding the query included.
        error: Why it failed, one line.
    """

    arm: str
    depth: int
    hits: int
    seconds: float
    error: str | None = None

    @property
    def status(self) -> Literal["ok", "failed"]:
        """Whether the arm served; where it failed, the others did."""
        return "ok" if self.error is None else "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The state of a retrieval between two stages.

    Attributes:
        kept: Still in, best first.
        dropped: Out, with their verdicts.
        arms: What each arm did.
        path: How the candidates were found.
        exhausted: Every eligible chunk is among `kept`: asking deeper brings nothing new.
        bounded: Asking deeper brings nothing new, because a window that the caller set is used up.
        warnings: What did not go as asked, one line each.
    """

    kept: Sequence[Candidate]
    dropped: Sequence[Candidate] = ()
    arms: tuple[ArmReport, ...] = ()
    path: SearchPath = "dense"
    exhausted: bool = False
    bounded: bool = False
    warnings: tuple[str, ...] = ()

    def keeping(
        self, kept: Sequence[Candidate], dropped: Sequence[Candidate] = (), *, warnings: Sequence[str] = ()
    ) -> Candidates:
        """The next state: these are in, those are newly out because they are not eligible."""
        return replace(
            self,
            kept=kept,
            dropped=(*self.dropped, *dropped) if self.dropped else dropped,
            warnings=(*self.warnings, *warnings),
        )

    def choosing(
        self, kept: Sequence[Candidate], dropped: Sequence[Candidate], *, warnings: Sequence[str] = ()
    ) -> Candidates:
        """As `keeping`, but what is out was eligible: so the page, if it is short, is not all there is."""
        state = self.keeping(kept, dropped, warnings=warnings)
        return replace(state, exhausted=False) if state.exhausted and dropped else state


@dataclass(frozen=True, slots=True)
class Query:
    """What a stage is asked for: the text, the call's options, and how many candidates are wanted."""

    text: str
    options: RetrievalOptions
    depth: int

    def deeper(self, depth: int) -> Query:
        """The same query for `depth` candidates."""
        return Query(self.text, self.options, depth)


Search: TypeAlias = Callable[[Query], Awaitable[Candidates]]
"""The rest of the chain, as a stage sees it."""


class Stage(Protocol):
    """A step around the rest of the chain: it may ask for more than it returns, ask several times, or not at all."""

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Answer `query` with the help of `search`."""
        ...

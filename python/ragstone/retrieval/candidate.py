"""The record of one retrieval: each chunk travels as a `Candidate` that gathers evidence and ends with a verdict.

Arms and stages add to the record and nobody logs apart from it; explanations, traces and telemetry read it. A stage
never changes a candidate: it hands on new ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from ragstone.metadata import MetadataValue
from ragstone.models import ChunkKey, Evidence, ParentEvidence, ScoreScale, SearchResult, TextChunk, Vector
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
        compressed_text: What of the chunk's text bears on the query, once it was compressed.
        best_child: The chunk in whose place this one stands, where it is a parent; the vector is that chunk's.
    """

    chunk: TextChunk
    score: float
    scale: ScoreScale
    evidence: tuple[Evidence, ...] = ()
    vector: Vector | None = None
    drop: Drop | None = None
    compressed_text: str | None = None
    best_child: TextChunk | None = None

    @property
    def key(self) -> ChunkKey:
        """The chunk's identity."""
        return self.chunk.key

    @property
    def text(self) -> str:
        """What a reader gets: the compressed text where there is one, else the chunk's."""
        return self.chunk.text if self.compressed_text is None else self.compressed_text

    @property
    def embedded_chunk(self) -> TextChunk:
        """The chunk whose embedding `vector` is: for a parent, which is not embedded, its best child."""
        return self.chunk if self.best_child is None else self.best_child

    def noting(self, evidence: Evidence) -> Candidate:
        """The same candidate with one more piece of evidence."""
        return replace(self, evidence=(*self.evidence, evidence))

    def scored(self, score: float, scale: ScoreScale, evidence: Evidence) -> Candidate:
        """The same candidate with another score, on another scale, and the evidence for it."""
        return replace(self, score=score, scale=scale, evidence=(*self.evidence, evidence))

    def holding(self, vector: Vector) -> Candidate:
        """The same candidate with its embedding."""
        return replace(self, vector=vector)

    def replaced_by(self, parent: TextChunk, evidence: ParentEvidence) -> Candidate:
        """The parent in this candidate's place, with its score, its evidence and its vector."""
        return replace(self, chunk=parent, best_child=self.chunk, evidence=(*self.evidence, evidence))

    def dropped(self, stage: str, reason: str) -> Candidate:
        """The same candidate with the verdict that `stage` dropped it."""
        return replace(self, drop=Drop(stage, reason))

    def result(self) -> SearchResult:
        """What the caller sees of it."""
        return SearchResult(self.chunk, self.score, self.scale, self.vector, self.evidence, self.compressed_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """What an arm did in one call.

    Attributes:
        arm: `dense`, `bm25`, `sparse`, or the name of the store that searched natively.
        depth: How many candidates it was asked for.
        hits: How many it found.
        seconds: Wall time, embedding the query included.
        error: Why it failed, one line.
        query: The variant or sub-query that it searched for; `None` for the call's own query.
    """

    arm: str
    depth: int
    hits: int
    seconds: float
    error: str | None = None
    query: str | None = None

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
        notes: What stages decided about the call, such as `crag_triggered`, as short texts.
    """

    kept: Sequence[Candidate]
    dropped: Sequence[Candidate] = ()
    arms: tuple[ArmReport, ...] = ()
    path: SearchPath = "dense"
    exhausted: bool = False
    bounded: bool = False
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict[str, str])

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

    def warning(self, *warnings: str) -> Candidates:
        """The same state with further warnings."""
        return replace(self, warnings=(*self.warnings, *warnings)) if warnings else self

    def noting(self, **notes: str) -> Candidates:
        """The same state with further notes."""
        return replace(self, notes={**self.notes, **notes})

    def choosing(
        self, kept: Sequence[Candidate], dropped: Sequence[Candidate], *, warnings: Sequence[str] = ()
    ) -> Candidates:
        """As `keeping`, but what is out was eligible: a short page is not all there is, and asking deeper brings it."""
        state = self.keeping(kept, dropped, warnings=warnings)
        return replace(state, exhausted=False, bounded=False) if dropped else state


@dataclass(frozen=True, slots=True)
class Query:
    """What a stage is asked for.

    Attributes:
        text: The query as it was typed, or the variant or sub-query that stands for it here.
        options: The call's options.
        depth: How many candidates are wanted.
        embedding: What the dense arm searches with in place of the text's own embedding, shape (dimensions,).
    """

    text: str
    options: RetrievalOptions
    depth: int
    embedding: Vector | None = None

    def deeper(self, depth: int) -> Query:
        """The same query for `depth` candidates."""
        return replace(self, depth=depth)

    def worded(self, text: str) -> Query:
        """The same question in other words, so without the embedding."""
        return replace(self, text=text, embedding=None)

    def embedded(self, embedding: Vector) -> Query:
        """The same query, its dense arm searching with this embedding."""
        return replace(self, embedding=embedding)

    def filtered(self, metadata_filter: Mapping[str, MetadataValue] | None) -> Query:
        """The same query with another metadata filter."""
        return replace(self, options=replace(self.options, metadata_filter=metadata_filter))


Search: TypeAlias = Callable[[Query], Awaitable[Candidates]]
"""The rest of the chain, as a stage sees it."""


class Stage(Protocol):
    """A step around the rest of the chain: it may ask for more than it returns, ask several times, or not at all."""

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Answer `query` with the help of `search`."""
        ...

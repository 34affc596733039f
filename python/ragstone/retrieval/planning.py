"""What a call will cost, told before it runs: its stages in order, and the calls of models and services in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from ragstone.retrieval.candidate import SearchPath

__all__ = ["Cost", "Costed", "InnerCost", "PlannedStage", "RetrievalPlan", "plan_stages", "refill_remarks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How many calls of models and services something makes at most.

    Attributes:
        llm_calls: Requests to the chat model.
        embedding_calls: Requests to the embedder, each a batch of any size.
        rerank_calls: Requests to the reranker, each a batch.
        web_searches: Requests to the web search.
        embeds_query: The query's own embedding is needed; a call makes it once for each text.
        compares_candidates: The candidates' embeddings are needed; a call makes each once, those of a text in a batch.
        finds_unembedded: It finds candidates of whom nobody has an embedding yet.
    """

    llm_calls: int = 0
    embedding_calls: int = 0
    rerank_calls: int = 0
    web_searches: int = 0
    embeds_query: bool = False
    compares_candidates: bool = False
    finds_unembedded: bool = False

    def __add__(self, other: Cost) -> Cost:
        """Both, one after the other."""
        return Cost(
            llm_calls=self.llm_calls + other.llm_calls,
            embedding_calls=self.embedding_calls + other.embedding_calls,
            rerank_calls=self.rerank_calls + other.rerank_calls,
            web_searches=self.web_searches + other.web_searches,
            embeds_query=self.embeds_query or other.embeds_query,
            compares_candidates=self.compares_candidates or other.compares_candidates,
            finds_unembedded=self.finds_unembedded or other.finds_unembedded,
        )

    def times(self, count: int) -> Cost:
        """The same for `count` different texts."""
        return replace(
            self,
            llm_calls=self.llm_calls * count,
            embedding_calls=self.embedding_calls * count,
            rerank_calls=self.rerank_calls * count,
            web_searches=self.web_searches * count,
        )

    def embedded(self) -> Cost:
        """The same where the embedding to search with is given, so that the query's own is not needed."""
        return replace(self, embeds_query=False)


InnerCost: TypeAlias = Callable[[int], Cost]
"""What the rest of the chain costs when it is asked for that many candidates."""


@runtime_checkable
class Costed(Protocol):
    """A stage that calls models or services, or the rest of the chain otherwise than once at its own depth."""

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return what it costs at most to be asked for `depth` candidates, the rest of the chain included."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    """A stage of a call to come, and what it costs in the whole call, without what it asks of the stages inside it.

    Attributes:
        name: As in `SearchPage.timings`.
        queries: How many different texts it is asked for: the query, its variants, sub-queries.
        llm_calls: Requests to the chat model at most.
        embedding_calls: Requests to the embedder at most, each a batch of any size.
        rerank_calls: Requests to the reranker at most, each a batch.
        web_searches: Requests to the web search at most.
    """

    name: str
    queries: int = 1
    llm_calls: int = 0
    embedding_calls: int = 0
    rerank_calls: int = 0
    web_searches: int = 0


_COLUMNS: Final = {
    "queries": "queries",
    "llm_calls": "LLM",
    "embedding_calls": "embedding",
    "rerank_calls": "rerank",
    "web_searches": "web",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPlan:
    """What a call will do and cost at most, if nothing fails and nothing is cached; `str()` gives a table.

    Attributes:
        stages: Outermost first; the last is the search itself.
        arms: The arms that take part in each search; the store's name where it searches natively.
        path: How they search: `dense`, `keyword`, `client` (fused here) or `native` (fused by the store).
        remarks: What the numbers take for granted, one line each.
    """

    stages: tuple[PlannedStage, ...]
    arms: tuple[str, ...]
    path: SearchPath
    remarks: tuple[str, ...] = ()

    @property
    def llm_calls(self) -> int:
        """Requests to the chat model at most."""
        return sum(stage.llm_calls for stage in self.stages)

    @property
    def embedding_calls(self) -> int:
        """Requests to the embedder at most, each a batch of any size."""
        return sum(stage.embedding_calls for stage in self.stages)

    @property
    def rerank_calls(self) -> int:
        """Requests to the reranker at most, each a batch."""
        return sum(stage.rerank_calls for stage in self.stages)

    @property
    def web_searches(self) -> int:
        """Requests to the web search at most."""
        return sum(stage.web_searches for stage in self.stages)

    def surrounded(self, stage: PlannedStage, *remarks: str) -> RetrievalPlan:
        """The same with a stage around it."""
        return replace(self, stages=(stage, *self.stages), remarks=(*self.remarks, *remarks))

    def __str__(self) -> str:
        width = max(len("stage"), *(len(stage.name) for stage in self.stages))
        head = f"{'stage':<{width}}" + "".join(f"{title:>11}" for title in _COLUMNS.values())
        lines = [self._row(stage.name, stage, width) for stage in self.stages]
        total = self._row("at most", self, width)
        how = f"searches: {self.path} ({', '.join(self.arms)})"
        return "\n".join((head, *lines, "-" * len(head), total, "", how, *self.remarks))

    @staticmethod
    def _row(name: str, numbers: object, width: int) -> str:
        cells = (str(getattr(numbers, field, 0) or "").rjust(11) for field in _COLUMNS)
        return f"{name:<{width}}{''.join(cells)}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        return {
            "path": self.path,
            "arms": list(self.arms),
            "stages": [asdict(stage) for stage in self.stages],
            "llm_calls": self.llm_calls,
            "embedding_calls": self.embedding_calls,
            "rerank_calls": self.rerank_calls,
            "web_searches": self.web_searches,
            "remarks": list(self.remarks),
        }


def plan_stages(
    stages: Iterable[tuple[str, object]], depth: int, *, embeds_query: bool, finds_unembedded: bool = False
) -> tuple[PlannedStage, ...]:
    """Return what the stages cost, outermost first, and the search at their heart.

    Args:
        stages: Names and stages, outermost first.
        depth: How many candidates the outermost is asked for.
        embeds_query: Whether an arm searches with an embedding.
        finds_unembedded: Whether the search hands out chunks without their embeddings.
    """
    levels: list[_Level] = []
    queries, given = 1, False
    for name, stage in stages:
        shape = _Shape.of(stage, depth)
        levels.append(_Level(name, queries, shape.own))
        queries, depth, given = queries * shape.searches, shape.depth, given or shape.gives_embedding
    search = Cost(embeds_query=embeds_query and not given, finds_unembedded=finds_unembedded)
    levels.append(_Level("search", queries, search))
    return tuple(_planned(levels))


def refill_remarks(stages: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Return a remark on those stages that ask again, deeper, where what they drop leaves the page short."""
    names = [name for name, stage in stages if getattr(stage, "refills", False)]
    if not names:
        return ()
    return (f"{', '.join(names)}: counted is one search; a page left short is searched for again, deeper.",)


@dataclass(frozen=True, slots=True)
class _Level:
    name: str
    queries: int
    own: Cost


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a stage costs by itself, how often and how deep it searches, and whether it gives an embedding along."""

    own: Cost
    searches: int = 1
    depth: int = 0
    gives_embedding: bool = False

    @classmethod
    def of(cls, stage: object, depth: int) -> _Shape:
        """Find out by letting the rest of the chain cost nothing, and then a single call of one kind."""
        if not isinstance(stage, Costed):
            return cls(Cost(), depth=depth)
        depths: list[int] = []

        def probe(deeper: int) -> Cost:
            depths.append(deeper)
            return Cost(web_searches=1, embeds_query=True)

        own = stage.cost(depth, lambda _: Cost())
        probed = stage.cost(depth, probe)
        searches = probed.web_searches - own.web_searches
        return cls(own, searches, max(depths, default=depth), not probed.embeds_query)


def _planned(levels: Sequence[_Level]) -> list[PlannedStage]:
    embeddings = [level.own.embedding_calls * level.queries for level in levels]
    # Each query is embedded for whoever needs it first; the search, where it does, needs that of every text.
    embedded = 0
    for place in (len(levels) - 1, *range(len(levels) - 1)):
        if levels[place].own.embeds_query:
            more = max(0, levels[place].queries - embedded)
            embeddings[place] += more
            embedded += more
    # The innermost stage that compares chunks embeds them for those around it.
    comparing = [place for place, level in enumerate(levels) if level.own.compares_candidates]
    if comparing and any(level.own.finds_unembedded for level in levels):
        embeddings[comparing[-1]] += levels[comparing[-1]].queries
    return [
        PlannedStage(
            name=level.name,
            queries=level.queries,
            llm_calls=level.own.llm_calls * level.queries,
            embedding_calls=calls,
            rerank_calls=level.own.rerank_calls * level.queries,
            web_searches=level.own.web_searches * level.queries,
        )
        for level, calls in zip(levels, embeddings, strict=True)
    ]

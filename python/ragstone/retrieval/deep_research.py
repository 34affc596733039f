"""Deep research: a model says whether the page suffices, and what else to search for, until it does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from ragstone.concurrency import together
from ragstone.faults import described
from ragstone.llm_json import first_object
from ragstone.options import DeepResearchOptions
from ragstone.ports import ChatClient
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.memo import Memo
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.prompting import ask
from ragstone.retrieval.rankings import NamedRanking, merge, ranking_or_warning
from ragstone.retrieval.variants import distinct
from ragstone.templates import fill

__all__ = ["DeepResearch"]

_log = logging.getLogger(__name__)

_PROMPT: Final = (
    "Judge whether the sources below suffice to answer the question in full. Answer with JSON alone: "
    '{"sufficient": true, "subQueries": []} if they do; if they do not, {"sufficient": false, "subQueries": ["…"]} '
    "with at most {count} search queries for what is missing.\n\nQuestion: {query}\n\nSources:\n{sources}"
)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the model said; `sub_queries` may be empty, `warning` says why it could not be understood."""

    sufficient: bool
    sub_queries: tuple[str, ...] = ()
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class DeepResearch:
    """Search, ask the model whether that suffices, search for the sub-queries that it names, and ask again.

    The rankings of the query and of every sub-query are merged by reciprocal ranks. A page that nothing was added to is
    the inner search's own. Lives as long as the call, in which no round asks the same twice.
    """

    options: DeepResearchOptions
    chat: ChatClient
    _known: Memo[tuple[int, str], _Verdict] = field(default_factory=Memo[tuple[int, str], _Verdict], init=False)

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return at most `query.depth` candidates.

        Raises:
            RagError: The search for the query itself failed; the model was not asked.
        """
        page = await search(query)
        rankings = [NamedRanking(query.text, page)]
        asked = [query.text]
        warnings: list[str] = []
        for number in range(self.options.max_depth):
            verdict = await self._judge(number, query.text, page.kept)
            if verdict.warning is not None:
                warnings.append(verdict.warning)
            fresh = distinct(verdict.sub_queries, besides=asked)[: self.options.sub_query_count]
            if verdict.sufficient or not fresh:
                break
            asked.extend(fresh)
            outcomes = await together(ranking_or_warning("sub_query", query.worded(text), search) for text in fresh)
            rankings.extend(outcome for outcome in outcomes if isinstance(outcome, NamedRanking))
            warnings.extend(outcome for outcome in outcomes if isinstance(outcome, str))
            page = _page(rankings, query.depth, complete=len(rankings) == len(asked))
        page = page.warning(*dict.fromkeys(warnings))
        return page if len(asked) == 1 else page.noting(deep_research=_note(len(asked) - 1))

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of every round: a verdict, and a search for each sub-query."""
        rounds = self.options.max_depth
        return Cost(llm_calls=rounds) + inner(depth).times(1 + rounds * self.options.sub_query_count)

    async def _judge(self, number: int, question: str, sources: Sequence[Candidate]) -> _Verdict:
        prompt = fill(
            self.options.sufficiency_prompt or _PROMPT,
            query=question,
            sources=_numbered(sources),
            count=self.options.sub_query_count,
        )
        return await self._known.get((number, prompt), partial(self._verdict, prompt))

    async def _verdict(self, prompt: str) -> _Verdict:
        answer = await ask(self.chat, prompt)
        verdict = None if isinstance(answer, Exception) else _read(first_object(answer))
        if verdict is not None:
            return verdict
        reason = described(answer) if isinstance(answer, Exception) else "its answer is not the JSON that was asked for"
        _log.warning("deep_research_verdict_failed: %s", reason)
        return _Verdict(
            sufficient=True,
            warning=f"deep research took the page to suffice, since the model gave no verdict: {reason}",
        )


def _page(rankings: Sequence[NamedRanking], depth: int, *, complete: bool) -> Candidates:
    merged = merge("sub_query", rankings, complete=complete)
    beyond = [
        candidate.dropped("deep_research", f"rank {place} is beyond top_k {depth}")
        for place, candidate in enumerate(merged.kept[depth:], start=depth + 1)
    ]
    return merged.choosing(merged.kept[:depth], beyond) if beyond else merged


def _numbered(sources: Sequence[Candidate]) -> str:
    texts = (candidate.result().text for candidate in sources)
    return "\n\n".join(f"[Source {number}]\n{text}" for number, text in enumerate(texts, start=1)) or "(none)"


def _read(answer: dict[str, Any] | None) -> _Verdict | None:
    """Check the answer's types strictly; `None` is malformed."""
    sufficient = None if answer is None else answer.get("sufficient")
    if answer is None or not isinstance(sufficient, bool):
        return None
    if sufficient:
        return _Verdict(sufficient=True)
    queries = answer.get("subQueries")
    if not isinstance(queries, list):
        return None
    texts = (item for item in cast("list[object]", queries) if isinstance(item, str))
    return _Verdict(sufficient=False, sub_queries=tuple(distinct(texts)))


def _note(count: int) -> str:
    return f"searched for {count} sub-quer{'y' if count == 1 else 'ies'}"

"""Multi-query retrieval: other phrasings of the query are searched beside it, and all rankings merged."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from ragstone.concurrency import together
from ragstone.faults import described
from ragstone.options import MultiQueryOptions
from ragstone.ports import ChatClient
from ragstone.retrieval.candidate import Candidates, Query, Search
from ragstone.retrieval.memo import Memo
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.prompting import ask, turns
from ragstone.retrieval.rankings import NamedRanking, merge, ranking_or_warning
from ragstone.retrieval.variants import read_variants
from ragstone.templates import fill

__all__ = ["MultiQuery"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Expansion:
    variants: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MultiQuery:
    """Search for the query and its variants at the same time, and merge the rankings by reciprocal ranks.

    The query itself always takes part. Lives as long as the call, in which each text is expanded once, at most four
    requests at a time.
    """

    options: MultiQueryOptions
    chat: ChatClient
    _turns: asyncio.Semaphore = field(default_factory=turns, init=False)
    _known: Memo[str, _Expansion] = field(default_factory=Memo[str, _Expansion], init=False)

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the merged ranking; without variants, that of the query alone.

        Raises:
            RagError: The search for the query itself failed.
        """
        expansion = await self._known.get(query.text, partial(self._expand, query.text))
        own, *others = await together(
            [
                _own(query, search),
                *(ranking_or_warning("variant", query.worded(text), search) for text in expansion.variants),
            ]
        )
        rankings = [ranking for ranking in (own, *others) if isinstance(ranking, NamedRanking)]
        failed = [warning for warning in others if isinstance(warning, str)]
        return merge("variant", rankings, complete=not failed).warning(*expansion.warnings, *dict.fromkeys(failed))

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the expansion and of a search for each variant beside the query's."""
        return Cost(llm_calls=1) + inner(depth).times(self.options.variant_count + 1)

    async def _expand(self, text: str) -> _Expansion:
        count = self.options.variant_count
        async with self._turns:
            answer = await ask(self.chat, fill(self.options.prompt_template, count=count, query=text))
        variants = [] if isinstance(answer, Exception) else read_variants(answer, count=count, query=text)
        if variants:
            return _Expansion(tuple(variants))
        reason = described(answer) if isinstance(answer, Exception) else "the model's answer holds no variant"
        _log.warning("multi_query_failed: %s", reason)
        return _Expansion((), (f"the query was searched for alone, since it could not be expanded: {reason}",))


async def _own(query: Query, search: Search) -> NamedRanking:
    return NamedRanking(query.text, await search(query))

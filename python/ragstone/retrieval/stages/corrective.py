"""Corrective retrieval (Yan et al., 2024): where too few results bear on the query, the web is searched."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Self

from ragstone.errors import CapabilityError
from ragstone.faults import described, tried
from ragstone.models import ChunkKey, GradeEvidence, ScoreScale, TextChunk, WebEvidence, WebResult
from ragstone.options import RetrievalOptions
from ragstone.ports import ChatClient, WebSearch
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.grading import ChatGrader, Grader, WordGrader
from ragstone.retrieval.planning import Cost, InnerCost

__all__ = ["CorrectiveRetrieval"]

_log = logging.getLogger(__name__)

_NOTE: Final = "crag_triggered"


@dataclass(slots=True)
class _Known:
    """What was found out about one query so far."""

    grades: dict[ChunkKey, GradeEvidence] = field(default_factory=dict[ChunkKey, GradeEvidence])
    warnings: list[str] = field(default_factory=list[str])
    pages: list[Candidate] | None = None


@dataclass(frozen=True, slots=True)
class CorrectiveRetrieval:
    """Judge the best results; where the share of relevant ones is below `threshold`, search the web.

    Each result is judged, and the web searched, once a query, however often the stages outside ask.

    Attributes:
        threshold: In [0, 1]; the share itself does not start the search.
        mode: Whether the web's results take the place of the others, or join them after those judged relevant.
        judged: How many of the best results are judged, and how many the web is asked for.
        grader: Judges.
        web_search: Searches.
        llm_calls: How many calls of a chat model judging takes at most.
    """

    threshold: float
    mode: Literal["replace", "append"]
    judged: int
    grader: Grader
    web_search: WebSearch
    llm_calls: int
    _known: dict[str, _Known] = field(default_factory=dict[str, _Known], init=False)

    @classmethod
    def of(cls, options: RetrievalOptions, web_search: WebSearch | None, chat: ChatClient | None) -> Self:
        """Make the stage of a call.

        Raises:
            CapabilityError: There is no web search.
        """
        if web_search is None:
            raise CapabilityError("use_crag=True needs a web search: give the pipeline web_search=…")
        return cls(
            threshold=options.crag_score_threshold,
            mode=options.crag_fallback_mode,
            judged=options.top_k,
            grader=WordGrader() if chat is None else ChatGrader(chat),
            web_search=web_search,
            llm_calls=0 if chat is None else options.top_k,
        )

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the results with their grades, corrected where they need it; `crag_triggered` says whether."""
        found = await search(query)
        known = self._known.setdefault(query.text, _Known())
        best, rest = tuple(found.kept[: self.judged]), found.kept[self.judged :]
        await self._judge(query.text, best, known)
        graded = [(candidate, known.grades[candidate.key]) for candidate in best]
        found = found.keeping((*(candidate.noting(grade) for candidate, grade in graded), *rest))
        relevant = [grade.grade == "relevant" for _, grade in graded]
        if best and sum(relevant) / len(best) >= self.threshold:
            return found.warning(*known.warnings).noting(**{_NOTE: "false"})
        pages = await self._search(query.text, known)
        if pages:
            found = _replaced(found, pages) if self.mode == "replace" else _joined(found, pages, relevant)
        return found.warning(*known.warnings).noting(**{_NOTE: "true"})

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """A judgement of each of the best results, a web search whose pages have no embeddings, and the rest."""
        return Cost(llm_calls=self.llm_calls, web_searches=1, finds_unembedded=True) + inner(depth)

    async def _judge(self, query: str, candidates: Sequence[Candidate], known: _Known) -> None:
        new = [candidate for candidate in candidates if candidate.key not in known.grades]
        if not new:
            return
        answer = await self.grader.grade(query, [candidate.chunk.text for candidate in new])
        known.grades.update(zip((candidate.key for candidate in new), answer.grades, strict=True))
        if answer.failed:
            known.warnings.append(f"the model could not grade {answer.failed} of {len(new)} results: words decided")

    async def _search(self, query: str, known: _Known) -> Sequence[Candidate]:
        if known.pages is not None:
            return known.pages
        pages = await tried(self._pages(query))
        if isinstance(pages, Exception):
            reason = described(pages)
            _log.warning("crag_web_search_failed: %s: %s", self.web_search.identity, reason)
            known.warnings.append(f"the web search failed and the results stay as they were: {reason}")
            pages = []
        elif not pages:
            known.warnings.append("the web search found nothing and the results stay as they were")
        known.pages = pages
        return pages

    async def _pages(self, query: str) -> list[Candidate]:
        """Make candidates of what the web has; a page without a text, or a second time, is passed over."""
        results = await self.web_search.search(query, max_results=self.judged)
        pages: dict[str, Candidate] = {}
        for rank, result in enumerate(results[: self.judged], start=1):
            if result.url and result.text.strip() and result.url not in pages:
                pages[result.url] = _candidate(result, rank, self.web_search.identity)
        return list(pages.values())


def _replaced(found: Candidates, pages: Sequence[Candidate]) -> Candidates:
    """The web's pages alone; asking deeper brings no more of them."""
    state = found.keeping(pages, [candidate.dropped("crag", "replaced by a web search") for candidate in found.kept])
    return replace(state, bounded=True)


def _joined(found: Candidates, pages: Sequence[Candidate], relevant: Sequence[bool]) -> Candidates:
    """The relevant results, the web's pages, then the other results: so the cut leaves what is worth reading."""
    judged = tuple(zip(found.kept, relevant))  # noqa: B905  only the best were judged
    here = {candidate.key for candidate in found.kept}
    return found.keeping(
        (
            *(candidate for candidate, good in judged if good),
            *(page for page in pages if page.key not in here),
            *(candidate for candidate, good in judged if not good),
            *found.kept[len(judged) :],
        ),
        [page.dropped("crag", "is among the results already") for page in pages if page.key in here],
    )


def _candidate(page: WebResult, rank: int, engine: str) -> Candidate:
    """A page as a chunk of its own; its score is no more than its place."""
    metadata = {"title": page.title} if page.title else {}
    chunk = TextChunk(page.text, page.url, 0, 0, len(page.text), metadata)
    return Candidate(chunk, 1.0 / rank, ScoreScale.BACKEND, (WebEvidence(engine=engine, url=page.url, rank=rank),))

"""Judging whether a text bears on a query: by the words they share, or by a chat model."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from ragstone.concurrency import offload, together
from ragstone.engine.text import tokenize
from ragstone.faults import described, tried
from ragstone.models import GradeEvidence
from ragstone.ports import ChatClient
from ragstone.templates import fill

__all__ = ["ChatGrader", "Grader", "Grades", "WordGrader", "read_grade"]

_log = logging.getLogger(__name__)

_Grade: TypeAlias = Literal["relevant", "ambiguous", "irrelevant"]

_MATCHING_SHARE: Final = (3, 10)
_CALLS_AT_ONCE: Final = 4
_PROMPT: Final = (
    "Does the passage below help to answer the question? Answer with one word: relevant if it does, irrelevant if it "
    "does not, ambiguous if you cannot tell.\n\nQuestion: {query}\n\nPassage:\n{text}"
)
_VERDICT: Final = re.compile(
    r"(?P<negated>(?:\b(?:(?:can)?not|no|nothing|never)|n['’]t)(?:\s+\w+){0,2}\s+relevant\b|\birrelevant\b)"
    r"|\b(?P<plain>relevant|ambiguous)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Grades:
    """One grade a text, in order, and how many of them the model that was to give them could not give."""

    grades: Sequence[GradeEvidence]
    failed: int = 0


class Grader(Protocol):
    """Judges texts."""

    async def grade(self, query: str, texts: Sequence[str]) -> Grades:
        """Return one grade a text, in order."""
        ...


@dataclass(frozen=True, slots=True)
class WordGrader:
    """A text is relevant when at least 30 % of the query's distinct terms occur in it, else irrelevant."""

    async def grade(self, query: str, texts: Sequence[str]) -> Grades:
        """Return one grade a text, in order."""
        return Grades(await offload(_by_words, query, texts))


@dataclass(frozen=True, slots=True)
class ChatGrader:
    """A chat model judges each text in a call of its own, four at a time; where it fails, words decide."""

    chat: ChatClient

    async def grade(self, query: str, texts: Sequence[str]) -> Grades:
        """Return one grade a text, in order."""
        turns = asyncio.Semaphore(_CALLS_AT_ONCE)
        judged = await together(self._judge(query, text, turns) for text in texts)
        by_words = await offload(
            _by_words, query, [text for text, grade in zip(texts, judged, strict=True) if not grade]
        )
        words = iter(by_words)
        grades = [next(words) if grade is None else GradeEvidence(grade=grade) for grade in judged]
        return Grades(grades, failed=len(by_words))

    async def _judge(self, query: str, text: str, turns: asyncio.Semaphore) -> _Grade | None:
        prompt = fill(_PROMPT, query=query, text=text)
        async with turns:
            reply = await tried(self.chat.complete([{"role": "user", "content": prompt}], temperature=0.0))
        if isinstance(reply, Exception):
            _log.warning("crag_grade_failed: %s: %s", self.chat.identity, described(reply))
            return None
        return read_grade(reply.text)


def read_grade(answer: str) -> _Grade:
    """Read the first verdict in a model's answer, whole words only; an answer without one is ambiguous.

    Example:
        >>> read_grade("**Relevant**"), read_grade("It is not relevant."), read_grade("Irrelevant - off topic")
        ('relevant', 'irrelevant', 'irrelevant')
        >>> read_grade("I cannot say")
        'ambiguous'
    """
    found = _VERDICT.search(answer)
    if found is None:
        return "ambiguous"
    if found["negated"]:
        return "irrelevant"
    return "relevant" if found["plain"].lower() == "relevant" else "ambiguous"


def _by_words(query: str, texts: Sequence[str]) -> list[GradeEvidence]:
    wanted = set(tokenize(query))
    return [_grade_by_words(wanted, text) for text in texts]


def _grade_by_words(wanted: set[str], text: str) -> GradeEvidence:
    shared = len(wanted.intersection(tokenize(text)))
    share, whole = _MATCHING_SHARE
    matches = bool(wanted) and shared * whole >= share * len(wanted)
    return GradeEvidence(grade="relevant" if matches else "irrelevant", overlap=shared / len(wanted) if wanted else 0.0)

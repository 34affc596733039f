"""Adaptive retrieval: a simple, a complex and a multi-hop query each get settings of their own."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from ragstone.faults import described
from ragstone.options import RetrievalOptions
from ragstone.ports import ChatClient
from ragstone.retrieval.prompting import ask
from ragstone.templates import fill

__all__ = ["Adaptation", "Complexity", "adapt", "adapted", "classify"]

_log = logging.getLogger(__name__)

Complexity: TypeAlias = Literal["simple", "complex", "multi_hop"]
"""How much a query asks for: one fact, an explanation, or several facts that have to be brought together."""

_CONJUNCTIONS: Final = ("and", "also", "additionally", "furthermore", "as well as")
_SIGNALS: Final = ("how", "why", "compare", "difference", "explain")
_CONJUNCTIONS_OF_MULTI_HOP: Final = 2
_WORDS_OF_SIMPLE: Final = 6

_UNDELIMITED: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_UNDELIMITED}]{{1,2}}|[^\s{_UNDELIMITED}]+")
"""What lies between spaces; where Han and Kana stand without any, two characters, a word's mean length."""

_SEPARATORS: Final = re.compile(r"[\s_-]+")
_LABEL: Final = re.compile(r"\b(simple|complex|multi[\s_-]?hop)\b")

_PROMPT: Final = (
    "Classify the question below by what it takes to answer it. Answer with one word alone: simple for one that asks "
    "for a single fact, complex for one that asks for an explanation or a comparison, multi_hop for one that asks for "
    "several facts that have to be brought together.\n\nQuestion: {query}"
)


class _Setting(NamedTuple):
    top_k: int
    multi_query: bool
    hyde: bool


_SETTINGS: Final[dict[Complexity, _Setting]] = {
    "simple": _Setting(3, multi_query=False, hyde=False),
    "complex": _Setting(8, multi_query=True, hyde=False),
    "multi_hop": _Setting(10, multi_query=True, hyde=True),
}


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What was decided about a call.

    Attributes:
        complexity: Of the query.
        options: The call's options with `top_k`, `use_multi_query` and `use_hyde` set for it.
        warnings: Why the model's help could not be had.
    """

    complexity: Complexity
    options: RetrievalOptions
    warnings: tuple[str, ...] = ()


async def adapt(query: str, options: RetrievalOptions, chat: ChatClient | None) -> Adaptation:
    """Decide by the query's words, else by one question to the model; where neither can tell, it is complex."""
    complexity = classify(query)
    warnings: tuple[str, ...] = ()
    if complexity is None and chat is not None:
        complexity, reason = _read(await ask(chat, fill(_PROMPT, query=query)))
        if reason is not None:
            _log.warning("adaptive_failed: %s", reason)
            warnings = (f"the query was taken to be complex, since the model could not classify it: {reason}",)
    complexity = complexity or "complex"
    return Adaptation(complexity, adapted(options, complexity), warnings)


def adapted(options: RetrievalOptions, complexity: Complexity) -> RetrievalOptions:
    """Return the options with the settings of a complexity; what the call switched off stays off."""
    setting = _SETTINGS[complexity]
    return replace(
        options,
        top_k=setting.top_k,
        use_multi_query=setting.multi_query and options.use_multi_query,
        use_hyde=setting.hyde and options.use_hyde,
    )


def classify(query: str) -> Complexity | None:
    """Tell a query's complexity by its words alone; `None` where they do not say.

    Two different conjunctions make it multi-hop, else a signal word complex, else six words or fewer simple.

    Example:
        >>> classify("who wrote it and also when"), classify("why is it late"), classify("paid leave")
        ('multi_hop', 'complex', 'simple')
    """
    if _count(_CONJUNCTIONS, query) >= _CONJUNCTIONS_OF_MULTI_HOP:
        return "multi_hop"
    if _count(_SIGNALS, query):
        return "complex"
    return "simple" if len(_WORD.findall(query)) <= _WORDS_OF_SIMPLE else None


def _count(phrases: tuple[str, ...], query: str) -> int:
    """How many of the phrases the query holds as whole words."""
    words = " ".join(query.casefold().split())
    return sum(re.search(rf"\b{phrase}\b", words) is not None for phrase in phrases)


def _read(answer: str | Exception) -> tuple[Complexity | None, str | None]:
    """The class that the model named, or why there is none."""
    if isinstance(answer, Exception):
        return None, described(answer)
    labels = {_SEPARATORS.sub("", label) for label in _LABEL.findall(answer.casefold())}
    named: list[Complexity] = [complexity for complexity in _SETTINGS if _SEPARATORS.sub("", complexity) in labels]
    if len(named) == 1:
        return named[0], None
    return None, "its answer names several classes" if named else "its answer names no class"

"""Hypothetical document embeddings: imagined answers are embedded in place of the query.

Source: Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from ragstone.concurrency import together
from ragstone.encoders.checked import embed_checked
from ragstone.faults import described, tried
from ragstone.models import Vector, Vectors
from ragstone.options import HydeOptions
from ragstone.ports import ChatClient, Embedder
from ragstone.retrieval.candidate import Candidates, Query, Search
from ragstone.retrieval.memo import Memo
from ragstone.retrieval.planning import Cost, InnerCost
from ragstone.retrieval.prompting import ask, turns
from ragstone.templates import fill

__all__ = ["HypotheticalDocuments", "unit_mean"]

_log = logging.getLogger(__name__)

_NOTHING: Final = 1e-6
"""Hypotheses whose mean is shorter than this part of the longest of them point nowhere: what is left is rounding."""


@dataclass(frozen=True, slots=True)
class _Imagined:
    """What became of the hypotheses for one text: the embedding to search with, `None` for the text's own."""

    embedding: Vector | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HypotheticalDocuments:
    """Let the dense arm search with the unit-length mean of the embeddings of imagined answers.

    The other arms keep the query as it is. Lives as long as the call, whose texts are each imagined for once, at most
    four requests at a time.

    Attributes:
        embedder: Embeds the hypotheses; they are unlike each other by intention, so no cache is asked.
    """

    options: HydeOptions
    chat: ChatClient
    embedder: Embedder
    _turns: asyncio.Semaphore = field(default_factory=turns, init=False)
    _known: Memo[str, _Imagined] = field(default_factory=Memo[str, _Imagined], init=False)

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Search with the hypotheses, or with the query itself where there are none to be had."""
        imagined = await self._known.get(query.text, partial(self._imagine, query.text))
        if imagined.embedding is not None:
            query = query.embedded(imagined.embedding)
        return (await search(query)).warning(*imagined.warnings)

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the hypotheses and of one batch for all of them, in place of the query's embedding."""
        own = Cost(llm_calls=self.options.hypothesis_count, embedding_calls=1)
        return own + inner(depth).embedded()

    async def _imagine(self, text: str) -> _Imagined:
        count = self.options.hypothesis_count
        replies = await together(self._hypothesis(text) for _ in range(count))
        hypotheses = [reply for reply in replies if isinstance(reply, str)]
        failures = [reply for reply in replies if isinstance(reply, Exception)]
        if not hypotheses:
            return _gave_up(f"no hypothesis could be had: {described(failures[0])}")
        warnings = _partial(failures, count) if failures else ()
        vectors = await tried(embed_checked(self.embedder, hypotheses, input_type="document"))
        if isinstance(vectors, Exception):
            return _gave_up(f"the hypotheses could not be embedded: {described(vectors)}")
        mean = unit_mean(vectors)
        if mean is None:
            return _gave_up("the embeddings of the hypotheses cancel out")
        return _Imagined(mean, warnings)

    async def _hypothesis(self, text: str) -> str | Exception:
        prompt = fill(self.options.prompt_template, query=text)
        async with self._turns:
            return await ask(self.chat, prompt, temperature=self.options.hypothesis_temperature)


def unit_mean(vectors: Vectors) -> Vector | None:
    """Return the mean of the rows, scaled to unit length; `None` where they cancel out.

    Args:
        vectors: Shape (n, dimensions), n at least 1, finite.

    Example:
        >>> unit_mean(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)).round(4).tolist()
        [0.8944000005722046, 0.4472000002861023]
        >>> unit_mean(np.array([[1, 0], [-1, 0]], dtype=np.float32)) is None
        True
    """
    rows = vectors.astype(np.float64)
    mean = rows.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length <= _NOTHING * float(np.linalg.norm(rows, axis=1).max()):
        return None
    unit: Vector = (mean / length).astype(np.float32)
    return unit


def _gave_up(reason: str) -> _Imagined:
    _log.warning("hyde_failed: %s", reason)
    return _Imagined(None, (f"HyDE did not take part, the query's own embedding was searched with: {reason}",))


def _partial(failures: list[Exception], count: int) -> tuple[str, ...]:
    reason = f"{len(failures)} of {count} hypotheses failed: {described(failures[0])}"
    _log.warning("hyde_hypotheses_failed: %s", reason)
    return (f"HyDE went on with the others where {reason}",)

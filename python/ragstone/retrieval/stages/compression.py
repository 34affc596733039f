"""Contextual compression: each chunk of the page is reduced to what bears on the query, beside its whole text."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from ragstone.compressors import AbstractiveCompressor, ExtractiveCompressor
from ragstone.errors import CapabilityError, CompressionError
from ragstone.faults import described, tried
from ragstone.models import ChunkKey, CompressionEvidence
from ragstone.options import CompressionOptions, RetrievalOptions
from ragstone.ports import ChatClient, Compressor, Embedder
from ragstone.retrieval.candidate import Candidate, Candidates, Query, Search
from ragstone.retrieval.planning import Cost, InnerCost

__all__ = ["Compression"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compression:
    """Give the page's chunks a compressed text; what bears on the query in no way is dropped.

    Attributes:
        compressor: Compresses.
        strategy: What it is, where it is one of Ragstone's own: that says what it costs.
    """

    compressor: Compressor
    strategy: Literal["extractive", "abstractive"] | None = None
    _known: dict[tuple[str, ChunkKey], str | None] = field(
        default_factory=dict[tuple[str, ChunkKey], "str | None"], init=False
    )

    @classmethod
    def of(
        cls,
        options: RetrievalOptions,
        configured: CompressionOptions | None,
        own: Compressor | None,
        *,
        embedder: Embedder,
        chat: ChatClient | None,
        asking: bool,
    ) -> Self | None:
        """Make the stage of a call, `None` where it does without: unless told, a page is compressed for a model.

        Raises:
            CapabilityError: The call asks for it and there is no compressor.
        """
        wanted = options.use_compression
        if wanted is None:
            wanted = asking or (configured is not None and configured.in_retrieval)
        elif wanted and configured is None and own is None:
            raise CapabilityError(
                "use_compression=True needs a compressor: give the pipeline compression=… or compressor=…"
            )
        if not wanted:
            return None
        if own is not None:
            return cls(own)
        return None if configured is None else cls(_compressor(configured, embedder, chat), configured.strategy)

    async def __call__(self, query: Query, search: Search) -> Candidates:
        """Return the page compressed; a chunk that could not be stays whole, with a warning."""
        found = await search(query)
        error = await tried(self._compress(query.text, found.kept))
        if error is not None:
            reason = described(error)
            _log.warning("compression_failed: %s: %s", self.compressor.identity, reason)
            return found.warning(f"compression failed and every chunk stays whole: {reason}")
        kept: list[Candidate] = []
        dropped: list[Candidate] = []
        for candidate in found.kept:
            text = self._known[query.text, candidate.key]
            if text == "":
                dropped.append(candidate.dropped("compression", "nothing in it bears on the query"))
            else:
                kept.append(self._compressed(candidate, text))
        return found.choosing(kept, dropped, warnings=self._warnings(query.text, found.kept))

    def cost(self, depth: int, inner: InnerCost) -> Cost:
        """Return the cost of the search, and of one embedding batch or one request to the chat model a chunk."""
        if self.strategy == "extractive":
            return Cost(embedding_calls=1, embeds_query=True) + inner(depth)
        return Cost(llm_calls=depth if self.strategy == "abstractive" else 0) + inner(depth)

    async def _compress(self, query: str, candidates: Sequence[Candidate]) -> None:
        new = [candidate for candidate in candidates if (query, candidate.key) not in self._known]
        if not new:
            return
        answer = await self.compressor.compress(query, [candidate.chunk.text for candidate in new])
        if len(answer) != len(new):
            raise CompressionError(f"{len(new)} texts went in and {len(answer)} came back")
        self._known.update(
            ((query, candidate.key), None if text is None else text.strip())
            for candidate, text in zip(new, answer, strict=True)
        )

    def _compressed(self, candidate: Candidate, text: str | None) -> Candidate:
        whole = candidate.chunk.text
        if text is None or text == whole.strip():
            return candidate
        evidence = CompressionEvidence(
            compressor=self.compressor.identity, characters_before=len(whole), characters_after=len(text)
        )
        return replace(candidate.noting(evidence), compressed_text=text)

    def _warnings(self, query: str, candidates: Sequence[Candidate]) -> list[str]:
        whole = sum(self._known[query, candidate.key] is None for candidate in candidates)
        if not whole:
            return []
        _log.warning("compression_incomplete: %s: %d of %d", self.compressor.identity, whole, len(candidates))
        return [f"{whole} of {len(candidates)} chunks could not be compressed and stay whole"]


def _compressor(options: CompressionOptions, embedder: Embedder, chat: ChatClient | None) -> Compressor:
    sentences, tokens = options.keep_top_sentences, options.max_tokens_per_chunk
    if options.strategy == "extractive":
        return ExtractiveCompressor(embedder, keep_top_sentences=sentences, max_tokens_per_chunk=tokens)
    if chat is None:
        raise CapabilityError("abstractive compression needs a chat model: give the pipeline chat=…")
    return AbstractiveCompressor(
        chat,
        keep_top_sentences=sentences,
        max_tokens_per_chunk=tokens,
        prompt_template=options.prompt_template,
    )

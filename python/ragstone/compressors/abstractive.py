"""Abstractive compression: a chat model says what of a text bears on the query."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from ragstone.compressors.sentences import Limit, Sentences
from ragstone.concurrency import offload, together
from ragstone.faults import described, tried
from ragstone.options.techniques import COMPRESSION_PROMPT
from ragstone.ports import ChatClient
from ragstone.templates import fill, require_placeholders

__all__ = ["AbstractiveCompressor"]

_log = logging.getLogger(__name__)

_CALLS_AT_ONCE: Final = 4
_NOTHING: Final = re.compile(r"\W*none\W*", re.IGNORECASE)


class AbstractiveCompressor:
    """Has a chat model reduce each text, in a call of its own, four at a time.

    The model is told the limit, and whole sentences at the end of its answer are left out until it is kept; the first
    always stays. Its answer `NONE` means that nothing bears on the query. A text whose call fails, or whose answer is
    no shorter, stays whole.

    Args:
        chat: The model.
        keep_top_sentences: How many sentences an answer has at most.
        max_tokens_per_chunk: How many cl100k_base tokens; `keep_top_sentences` wins over it.
        prompt_template: Asks the model; `{query}` and `{text}` stand for the query and the text.

    Raises:
        ConfigurationError: Neither limit is set, one is below 1, or a placeholder is missing.
    """

    def __init__(
        self,
        chat: ChatClient,
        *,
        keep_top_sentences: int | None = None,
        max_tokens_per_chunk: int | None = None,
        prompt_template: str = COMPRESSION_PROMPT,
    ) -> None:
        self._chat = chat
        self._limit = Limit(sentences=keep_top_sentences, tokens=max_tokens_per_chunk)
        self._template = require_placeholders("prompt_template", prompt_template, ("query", "text"))

    @property
    def identity(self) -> str:
        """Names the strategy, the limit, the model, and the prompt where it is not Ragstone's own."""
        identity = f"abstractive/{self._limit}/{self._chat.identity}"
        if self._template == COMPRESSION_PROMPT:
            return identity
        return f"{identity}/prompt@{sha256(self._template.encode()).hexdigest()[:16]}"

    async def compress(self, query: str, texts: Sequence[str]) -> list[str | None]:
        """Return one compressed text a text, in order: `None` where it stays whole since its call failed."""
        turns = asyncio.Semaphore(_CALLS_AT_ONCE)
        return await together(self._told(query, text, turns) for text in texts)

    async def _told(self, query: str, text: str, turns: asyncio.Semaphore) -> str | None:
        prompt = f"{fill(self._template, query=query, text=text)}\n\nUse at most {self._limit}."
        async with turns:
            reply = await tried(self._chat.complete([{"role": "user", "content": prompt}], temperature=0.0))
        if isinstance(reply, Exception):
            _log.warning("abstract_failed: %s: %s", self._chat.identity, described(reply))
            return None
        # A model's JSON may hold halves of surrogate pairs, which are no text.
        answer = reply.text.encode("utf-8", "replace").decode("utf-8")
        return await offload(self._cut, answer.strip(), text)

    def _cut(self, answer: str, text: str) -> str | None:
        if not answer:
            return None
        if _NOTHING.fullmatch(answer):
            return ""
        sentences = Sentences(answer)
        if not sentences.fits(self._limit):
            answer = sentences.prefix(self._limit)
        return answer if len(answer) < len(text) else text

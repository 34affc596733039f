"""A conversation: a pipeline that is asked again and again, and what it remembers."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol

from ragstone.answering.history import ConversationMemory, fit_history
from ragstone.answering.memory import PersistentMemory, RememberedTurn
from ragstone.answering.response import RagResponse, RagStreamingUpdate
from ragstone.concurrency import AdaptiveOffload, together
from ragstone.faults import tried
from ragstone.models import ChatMessage
from ragstone.options import RagOptions

__all__ = ["Answers", "Conversation"]

_log: Final = logging.getLogger(__name__)


class Answers(Protocol):
    """What a conversation asks, such as a `RagPipeline`."""

    async def ask(self, query: str, options: RagOptions | None = None) -> RagResponse:
        """Answer in one piece."""
        ...

    def ask_streaming(self, query: str, options: RagOptions | None = None) -> AsyncGenerator[RagStreamingUpdate, None]:
        """Answer piece by piece."""
        ...


class Conversation:
    """One conversation with a pipeline; many can share the pipeline.

    Each question is asked with the turns before it, cut to the memory's budget, oldest out first. With a persistent
    memory the turns of earlier conversations that are about the question go before them. A turn is remembered once its
    answer is complete. A persistent memory that fails is passed over with a warning, in the log and in the response.

    Questions are asked one after the other: a second one that does not wait for the first answer does not know of it.

    Args:
        answers: The pipeline.
        memory: Holds this conversation's turns; a `ConversationMemory` of 2000 tokens when left out.
        persistent: Holds the turns of all conversations.

    Example:
        >>> import asyncio
        >>> import ragstone as rs
        >>> from ragstone.testing import ScriptedChat
        >>> async def main() -> None:
        ...     talk = rs.Conversation(rs.RagPipeline(chat=ScriptedChat(["16 weeks.", "Yes."])))
        ...     await talk.ask("How long is leave?")
        ...     response = await talk.ask("Is it paid?")
        ...     print([message["content"] for message in response.messages[1:3]])
        >>> asyncio.run(main())
        ['How long is leave?', '16 weeks.']
    """

    def __init__(
        self,
        answers: Answers,
        *,
        memory: ConversationMemory | None = None,
        persistent: PersistentMemory | None = None,
    ) -> None:
        self._answers = answers
        self.memory = ConversationMemory() if memory is None else memory
        self._persistent = persistent
        self._fit = AdaptiveOffload()

    async def ask(self, query: str, options: RagOptions | None = None) -> RagResponse:
        """As `RagPipeline.ask`, with what was said before; a history in the options goes before that.

        Raises:
            RagError: As `RagPipeline.ask`.
        """
        prepared, warnings = await self._prepare(query, options or RagOptions())
        response = await self._answers.ask(query, prepared)
        return await self._remember(query, response, warnings)

    async def ask_streaming(
        self, query: str, options: RagOptions | None = None
    ) -> AsyncGenerator[RagStreamingUpdate, None]:
        """As `RagPipeline.ask_streaming`, with what was said before; a stream that is closed early is no turn.

        Raises:
            RagError: As `RagPipeline.ask_streaming`.
        """
        prepared, warnings = await self._prepare(query, options or RagOptions())
        async with aclosing(self._answers.ask_streaming(query, prepared)) as updates:
            async for update in updates:
                if update.response is None:
                    yield update
                else:
                    yield replace(update, response=await self._remember(query, update.response, warnings))

    async def _prepare(self, query: str, options: RagOptions) -> tuple[RagOptions, tuple[str, ...]]:
        recalled, warnings = await self._recall(query)
        history = (*options.conversation_history, *_messages(recalled, self.memory.messages), *self.memory.messages)
        fitted = await self._fit(fit_history, history, self.memory.max_tokens, token_counter=self.memory.token_counter)
        return replace(options, conversation_history=fitted), warnings

    async def _recall(self, query: str) -> tuple[Sequence[RememberedTurn], tuple[str, ...]]:
        if self._persistent is None:
            return (), ()
        turns = await tried(self._persistent.recall(query))
        if isinstance(turns, Exception):
            return (), (_note("memory_recall_failed", "earlier conversations could not be recalled", turns),)
        return turns, ()

    async def _remember(self, query: str, response: RagResponse, warnings: tuple[str, ...]) -> RagResponse:
        await self._fit(self.memory.add, query, response.answer)
        if self._persistent is not None:
            try:
                await together([self._persistent.remember(query, response.answer)])
            except Exception as error:  # noqa: BLE001  the answer is there: it is not to be lost
                note = _note("memory_remember_failed", "the turn could not be remembered", error)
                warnings = (*warnings, note)
        return replace(response, warnings=(*response.warnings, *warnings)) if warnings else response


def _messages(turns: Sequence[RememberedTurn], known: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The turns as messages, without those that the conversation holds anyway."""
    held = {(asked["content"], said["content"]) for asked, said in zip(known[::2], known[1::2], strict=True)}
    return [
        message
        for turn in turns
        if (turn.question, turn.answer) not in held
        for message in (
            {"role": "user", "content": turn.question},
            {"role": "assistant", "content": turn.answer},
        )
    ]


def _note(event: str, what: str, error: Exception) -> str:
    _log.warning("%s: %s", event, type(error).__name__)
    return f"{what}: {type(error).__name__}"

"""The answer engine: retrieve, assemble the messages, ask the model."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Sequence
from typing import Final, Protocol

from ragstone.answering.citations import read_citations
from ragstone.answering.prompt import assemble_messages
from ragstone.answering.response import RagResponse, RagStreamingUpdate
from ragstone.answering.streaming import StreamedReply, closing
from ragstone.diagnostics import Recording
from ragstone.models import ChatMessage, ChatReply
from ragstone.observability.asking import ask_span
from ragstone.options import RagOptions, RetrievalOptions
from ragstone.ports import ChatClient, PromptObserver
from ragstone.retrieval.page import SearchPage

__all__ = ["AnswerEngine", "Retrieve"]

_log: Final = logging.getLogger(__name__)


class Retrieve(Protocol):
    """Finds the sources of an answer."""

    def __call__(self, text: str, options: RetrievalOptions, *, asking: bool) -> Awaitable[SearchPage]:
        """Return the page."""
        ...


class AnswerEngine:
    """Answers questions from what retrieval finds.

    Args:
        retrieve: Finds the sources.
        chat: The model that is asked.
        observers: See the messages before each call.
    """

    def __init__(self, retrieve: Retrieve, chat: ChatClient, observers: Sequence[PromptObserver] = ()) -> None:
        self._retrieve = retrieve
        self._chat = chat
        self._observers = tuple(observers)

    async def ask(self, query: str, options: RagOptions, recording: Recording) -> RagResponse:
        """Answer in one piece.

        Raises:
            RagError: Retrieval failed.
            ChatError: The model failed or gave no answer.
        """
        with ask_span(model=self._chat.identity, temperature=options.temperature) as current:
            page, messages = await self._prepare(query, options, recording)
            current.asked(messages, sources=len(page))
            started = time.perf_counter()
            recording.reply = reply = await self._chat.complete(messages, temperature=options.temperature)
            current.answered(reply)
            current.said(reply.text)
            return _response(page, messages, reply, time.perf_counter() - started)

    async def ask_streaming(
        self, query: str, options: RagOptions, recording: Recording
    ) -> AsyncGenerator[RagStreamingUpdate, None]:
        """Yield the sources, then the answer piece by piece, then the whole response.

        Raises:
            RagError: As `ask`.
        """
        with ask_span(model=self._chat.identity, temperature=options.temperature, streaming=True) as current:
            page, messages = await self._prepare(query, options, recording)
            current.asked(messages, sources=len(page))
            yield RagStreamingUpdate(sources=page.results)
            streamed, started = StreamedReply(), time.perf_counter()
            try:
                async with closing(self._chat.stream(messages, temperature=options.temperature)) as deltas:
                    async for delta in deltas:
                        streamed.add(delta)
                        if delta.text:
                            yield RagStreamingUpdate(text_delta=delta.text)
            finally:
                recording.reply = streamed.reply
                current.answered(streamed.reply)
                current.said(streamed.reply.text)
            yield RagStreamingUpdate(response=_response(page, messages, streamed.reply, time.perf_counter() - started))

    async def _prepare(
        self, query: str, options: RagOptions, recording: Recording
    ) -> tuple[SearchPage, tuple[ChatMessage, ...]]:
        recording.page = page = await self._retrieve(query, options.retrieval(), asking=True)
        recording.messages = messages = assemble_messages(
            query,
            [result.text for result in page],
            system_prompt=options.system_prompt,
            history=options.conversation_history,
            as_tool_result=options.send_sources_as_tool_result,
        )
        for observer in self._observers:
            _show(observer, messages)
        return page, messages


def _show(observer: PromptObserver, messages: Sequence[ChatMessage]) -> None:
    """Each observer gets copies of its own, so that the model is asked what was assembled, whatever it does to them."""
    try:
        observer.on_prompt(copy.deepcopy(messages))
    except Exception as error:  # noqa: BLE001  whatever an observer raises is its own affair
        names = type(observer).__name__, type(error).__name__
        _log.warning("prompt_observer_failed: %s raised %s and is passed over", *names)


def _response(page: SearchPage, messages: tuple[ChatMessage, ...], reply: ChatReply, seconds: float) -> RagResponse:
    citations, unknown = read_citations(reply.text, page.results)
    warnings = [*page.warnings]
    if unknown:
        numbers = ", ".join(map(str, unknown))
        warnings.append(f"the answer cites sources that there are not: {numbers} of {len(page)}")
    if reply.finish_reason == "length":
        warnings.append("the answer was cut off at the model's limit of tokens")
    return RagResponse(
        answer=reply.text,
        citations=citations,
        page=page,
        messages=messages,
        model=reply.model,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        seconds=seconds,
        warnings=tuple(warnings),
    )

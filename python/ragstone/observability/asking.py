"""The span of an answer, in the terms of OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ragstone.models import ChatDelta, ChatMessage, ChatReply
from ragstone.observability.tracing import Span, captures_text, span

__all__ = ["AskSpan", "ask_span"]


class AskSpan:
    """What is noted of an answer."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def recording(self) -> bool:
        """Whether anybody will see what is noted."""
        return self._span.recording

    def asked(self, messages: Sequence[ChatMessage], *, sources: int) -> None:
        """Note what the model is asked: how many messages and sources; the messages where texts are captured."""
        if self.recording:
            self._span.set_attribute("ragstone.ask.messages", len(messages))
            self._span.set_attribute("ragstone.ask.sources", sources)
            if captures_text():
                self._span.set_attribute("gen_ai.input.messages", _told(messages))

    def answered(self, reply: ChatReply | ChatDelta) -> None:
        """Note an answer, or the last piece of one: who gave it, why it ended, its tokens."""
        if not self.recording:
            return
        if reply.model is not None:
            self._span.set_attribute("gen_ai.response.model", reply.model)
        if reply.finish_reason is not None:
            self._span.set_attribute("gen_ai.response.finish_reasons", (reply.finish_reason,))
        if reply.usage is not None:
            self._span.set_attribute("gen_ai.usage.input_tokens", reply.usage.prompt_tokens)
            self._span.set_attribute("gen_ai.usage.output_tokens", reply.usage.completion_tokens)

    def said(self, answer: str) -> None:
        """Note the whole text of an answer, where texts are captured."""
        if self.recording and captures_text():
            self._span.set_attribute("gen_ai.output.messages", _told([{"role": "assistant", "content": answer}]))


@contextmanager
def ask_span(
    *, model: str, temperature: float | None = None, streaming: bool = False
) -> Generator[AskSpan, None, None]:
    """Trace the asking of one question as `ragstone.ask`.

    Args:
        model: The model that is asked.
        temperature: Its sampling temperature, where one is set.
        streaming: Whether the answer is streamed; the span is then no parent of others, see `span`.
    """
    with span("ragstone.ask", current=not streaming) as current:
        if current.recording:
            current.set_attribute("gen_ai.operation.name", "chat")
            current.set_attribute("gen_ai.request.model", model)
            current.set_attribute("gen_ai.request.stream", streaming)
            if temperature is not None:
                current.set_attribute("gen_ai.request.temperature", temperature)
        yield AskSpan(current)


def _told(messages: Sequence[ChatMessage]) -> str:
    return json.dumps([dict(message) for message in messages], ensure_ascii=False, default=str)

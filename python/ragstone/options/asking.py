"""How an answer is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ragstone.models.chat import ChatMessage
from ragstone.options.retrieval import RetrievalOptions

__all__ = [
    "RagOptions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RagOptions(RetrievalOptions):
    """Everything of `RetrievalOptions`, and how the answer is asked for.

    The fields below belong to asking, which this version does not have yet: each is refused unless left at its default.

    Attributes:
        system_prompt: Replaces the default system prompt whole.
        temperature: Sampling temperature; `None` is the model's own.
        conversation_history: Earlier messages.
        send_sources_as_tool_result: Send the sources as a tool's result rather than in the user's message.
    """

    system_prompt: str | None = None
    temperature: float | None = None
    conversation_history: Sequence[ChatMessage] = field(default=())
    send_sources_as_tool_result: bool = False

    _later: ClassVar[Mapping[str, tuple[object, ...]]] = {
        **RetrievalOptions._later,  # noqa: SLF001  the class that this one extends
        "system_prompt": (None,),
        "temperature": (None,),
        "conversation_history": ((), []),
        "send_sources_as_tool_result": (False,),
    }

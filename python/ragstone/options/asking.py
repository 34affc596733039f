"""How an answer is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, cast

from ragstone.errors import ConfigurationError
from ragstone.models.chat import ChatMessage
from ragstone.options.retrieval import RetrievalOptions
from ragstone.validation import require_at_least, require_bool, require_finite, require_in_range

__all__ = [
    "PersistentMemoryOptions",
    "RagOptions",
]

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_HIGHEST_TEMPERATURE: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RagOptions(RetrievalOptions):
    """Everything of `RetrievalOptions`, and how the answer is asked for.

    Attributes:
        system_prompt: Replaces the default system prompt whole.
        temperature: Sampling temperature in [0, 2]; `None` is the model's own.
        conversation_history: Earlier messages, oldest first; copied, so that later changes to the list have no effect.
        send_sources_as_tool_result: Send the sources as a tool's result rather than in the user's message.

    Raises:
        ConfigurationError: As `RetrievalOptions`; or a message of the history is none, which is named by its index.
    """

    system_prompt: str | None = None
    temperature: float | None = None
    conversation_history: Sequence[ChatMessage] = field(default=())
    send_sources_as_tool_result: bool = False

    def __post_init__(self) -> None:
        RetrievalOptions.__post_init__(self)  # super() needs the class, which slots=True replaces
        if self.system_prompt is not None and not isinstance(self.system_prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"system_prompt must be a string or None, not {type(self.system_prompt).__name__}")
        if self.temperature is not None:
            require_in_range("temperature", self.temperature, 0.0, _HIGHEST_TEMPERATURE)
        require_bool("send_sources_as_tool_result", self.send_sources_as_tool_result)
        object.__setattr__(self, "conversation_history", _checked_history(self.conversation_history))

    def retrieval(self) -> RetrievalOptions:
        """Return the part that retrieval reads."""
        return RetrievalOptions(**{each.name: getattr(self, each.name) for each in fields(RetrievalOptions)})


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentMemoryOptions:
    """What of earlier conversations is recalled.

    Attributes:
        top_k: At most this many turns, at least 1.
        min_score: The least similarity of a turn to the question; 0.0 is no threshold. A store whose scores are no
            similarities is searched without one.

    Raises:
        ConfigurationError: A value is out of its range.
    """

    top_k: int = 3
    min_score: float = 0.7

    def __post_init__(self) -> None:
        require_at_least("top_k", self.top_k, 1)
        require_finite("min_score", self.min_score)


def _checked_history(history: object) -> tuple[ChatMessage, ...]:
    kind = type(history).__name__
    if isinstance(history, (str, bytes)) or not isinstance(history, Sequence):
        raise ConfigurationError(f"conversation_history must be a list of messages, not {kind}")
    return tuple(_checked_message(place, message) for place, message in enumerate(cast("Sequence[object]", history)))


def _checked_message(place: int, message: object) -> ChatMessage:
    where = f"conversation_history[{place}]"
    if not isinstance(message, Mapping):
        raise ConfigurationError(f"{where} must be a mapping with role and content, not {type(message).__name__}")
    plain = cast("dict[str, Any]", _plain(where, cast("Mapping[object, object]", message)))
    if plain.get("role") not in _ROLES:
        raise ConfigurationError(f"{where} must have one of the roles {', '.join(_ROLES)}, not {plain.get('role')!r}")
    content = plain.get("content")
    if content is None and plain.get("tool_calls"):
        return plain
    if not isinstance(content, (str, list)):
        raise ConfigurationError(
            f"{where} must have a string or a list of parts as content, not {type(content).__name__}"
        )
    return plain


def _plain(where: str, value: object) -> object:
    """A deep copy as JSON has it: dicts, lists, strings, numbers, booleans and None."""
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {_key(where, key): _plain(where, item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_plain(where, item) for item in cast("Sequence[object]", value)]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise ConfigurationError(f"{where} holds a {type(value).__name__}, which JSON has no form for")


def _key(where: str, key: object) -> str:
    if not isinstance(key, str):
        raise ConfigurationError(f"{where} has a key that is no string: {key!r}")
    return key

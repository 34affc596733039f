"""Chat with any service that speaks OpenAI's `/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, cast

from ragstone.closing import Closing
from ragstone.errors import ChatError
from ragstone.models import ChatDelta, ChatMessage, ChatReply, TokenUsage
from ragstone.openai_api import NOTHING, OPENAI, authorization, checked_fields, checked_model, identify
from ragstone.services import JsonService, ServiceError
from ragstone.validation import require_bool

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenAIChat"]

_PATH: Final = "/chat/completions"
_OURS: Final = frozenset({"model", "messages", "temperature", "stream", "stream_options", "n"})


class OpenAIChat(Closing):
    """Asks OpenAI, or any service with the same `/chat/completions`: vLLM, Ollama, llama.cpp, LiteLLM and others.

    A request that meets an overloaded or failing service, no connection or a timeout is sent again after a pause that
    doubles each time, or that the service's `Retry-After` asks for; a stream only until its first piece has come. An
    answer without text, a refusal among them, is an error. Neither logs nor errors show the key or any message.

    Args:
        model: The model's name at the service.
        api_key: Sent as a bearer token, never shown. For OpenAI itself it is the environment's `OPENAI_API_KEY` when
            left out.
        base_url: Where `/chat/completions` is.
        fields: Sent with each request besides the usual fields, such as `{"max_tokens": 512}`.
        stream_usage: Ask for the token counts of streams; switch it off for a service that refuses `stream_options`.
        timeout: Seconds to wait for a connection, and for the service to go on sending.
        max_retries: How often a request is sent again.
        retry_pause: Seconds before the first retry; doubles each time.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: An option is not one, or the key for OpenAI is missing.
        MissingDependencyError: The extra `http` is not installed.

    Example:
        >>> chat = OpenAIChat(model="smollm2", base_url="http://127.0.0.1:8080/v1")
        >>> chat.identity
        'openai:127.0.0.1:8080/smollm2'
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str = OPENAI,
        fields: Mapping[str, Any] = NOTHING,
        stream_usage: bool = True,
        timeout: float = 60.0,
        max_retries: int = 3,
        retry_pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._fields = {"model": checked_model(model), **checked_fields("fields", fields, _OURS)}
        self._stream_usage = require_bool("stream_usage", stream_usage)
        self._service = JsonService(
            base_url,
            headers=authorization(base_url, api_key),
            timeout=timeout,
            max_retries=max_retries,
            retry_pause=retry_pause,
            client=client,
        )
        self._identity = identify(self._service.host, model, [dict(fields)])

    @property
    def identity(self) -> str:
        """Names the host and the model, with a digest of further fields."""
        return self._identity

    def __repr__(self) -> str:
        return f"OpenAIChat({self._identity!r})"

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._service.aclose()

    async def complete(self, messages: Sequence[ChatMessage], *, temperature: float | None = None) -> ChatReply:
        """Return the model's whole answer.

        Raises:
            ChatError: The service failed, refused, or gave no text.
        """
        payload = self._payload(messages, temperature)
        try:
            body = await self._service.post(_PATH, payload, private=_texts(messages))
        except ServiceError as error:
            raise self._error(str(error)) from error
        try:
            answer: Any = json.loads(body)
            choice = answer["choices"][0]
            message = choice["message"]
            text = _text(message.get("content"))
            refused = bool(message.get("refusal"))
            finish_reason = _string(choice.get("finish_reason"))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise self._error("the answer is not in the form of OpenAI's chat completions") from error
        self._require_text(text, refused=refused, finish_reason=finish_reason)
        return ChatReply(
            text=text, model=_string(answer.get("model")), finish_reason=finish_reason, usage=_usage(answer)
        )

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float | None = None
    ) -> AsyncGenerator[ChatDelta, None]:
        """Yield the model's answer piece by piece; closing the generator ends the request.

        Raises:
            ChatError: As `complete`; or the answer broke off.
        """
        payload = {**self._payload(messages, temperature), "stream": True}
        if self._stream_usage:
            payload["stream_options"] = {"include_usage": True}
        finish_reason: str | None = None
        said = refused = False
        try:
            async with aclosing(self._service.stream(_PATH, payload, private=_texts(messages))) as events:
                async for event in events:
                    delta, refusal = self._delta(event)
                    finish_reason = delta.finish_reason or finish_reason
                    said, refused = said or bool(delta.text), refused or refusal
                    yield delta
        except ServiceError as error:
            raise self._error(str(error)) from error
        self._require_text("…" if said else "", refused=refused, finish_reason=finish_reason)
        if finish_reason is None:
            raise self._error("the answer broke off: the stream ended before the model did")

    def _payload(self, messages: Sequence[ChatMessage], temperature: float | None) -> dict[str, Any]:
        payload = {**self._fields, "messages": [dict(message) for message in messages]}
        return payload if temperature is None else {**payload, "temperature": temperature}

    def _delta(self, event: Any) -> tuple[ChatDelta, bool]:
        """Read one event of a stream: the piece of the answer, and whether it refuses."""
        try:
            choices: list[dict[str, Any]] = event.get("choices") or [{}]
            piece: dict[str, Any] = choices[0].get("delta") or {}
            delta = ChatDelta(
                text=_text(piece.get("content")),
                model=_string(event.get("model")),
                finish_reason=_string(choices[0].get("finish_reason")),
                usage=_usage(event),
            )
            return delta, bool(piece.get("refusal"))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._error("the stream is not in the form of OpenAI's chat completions") from error

    def _require_text(self, text: str, *, refused: bool, finish_reason: str | None) -> None:
        if refused:
            raise self._error("the model refused to answer")
        if not text.strip():
            raise self._error(f"the answer holds no text (finish_reason: {finish_reason})")

    def _error(self, what: str) -> ChatError:
        return ChatError(f"{self._identity}: {what}")


def _texts(messages: Sequence[ChatMessage]) -> list[str]:
    """The texts that no error may quote."""
    return [text for message in messages if (text := _text(message.get("content")))]


def _text(content: object) -> str:
    """A content's text: the content itself, or that of its parts; a part that is no text counts as none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(_text(_field(part, "text")) for part in cast("Sequence[object]", content))


def _field(value: object, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _usage(answer: Mapping[str, Any]) -> TokenUsage | None:
    prompt, completion = (_field(answer.get("usage"), name) for name in ("prompt_tokens", "completion_tokens"))
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return TokenUsage(prompt_tokens=prompt, completion_tokens=completion)

"""Calls to JSON services over HTTP: retries, streams, and errors that show neither keys nor texts."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from ragstone.errors import ConfigurationError
from ragstone.extras import require
from ragstone.sse import read_events
from ragstone.validation import require_at_least, require_in_range

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

__all__ = ["JsonService", "ServiceError"]

_LOG: Final = logging.getLogger(__name__)
_LONGEST_PAUSE: Final = 60.0
_LONGEST_TIMEOUT: Final = 3600.0
_MESSAGE_LENGTH: Final = 300
_QUOTE_LENGTH: Final = 24
_END_OF_STREAM: Final = "[DONE]"
_OVERLOADED: Final = frozenset({408, 425, 429})
_REFUSED_KEY: Final = frozenset({401, 403})


class ServiceError(Exception):
    """A service did not do what it was asked; its caller raises it as an error of its own kind.

    Attributes:
        status: The HTTP status; `None` when no answer came.
        transient: Whether asking again may help.
        retry_after: How many seconds the service asks to wait, if it says so.
    """

    def __init__(
        self, message: str, *, status: int | None = None, transient: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.transient = transient
        self.retry_after = retry_after


class JsonService:
    """One service that takes and gives JSON.

    A request that meets an overloaded or failing service (408, 425, 429, 5xx), no connection or a timeout is sent again
    after a pause that doubles each time, with jitter; `Retry-After` is honoured up to a minute.

    Args:
        base_url: Where the service's paths begin, `http://` or `https://`.
        headers: Sent with each request, authorisation included; never shown.
        timeout: Seconds to wait for a connection, and for the service to go on sending or receiving.
        max_retries: How often a request is sent again.
        retry_pause: Seconds before the first retry.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `http` is not installed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        timeout: float,
        max_retries: int,
        retry_pause: float,
        client: httpx.AsyncClient | None,
    ) -> None:
        for package in ("httpx", "tenacity"):
            require(package, extra="http", purpose="Asking a service over HTTP")
        self._base_url, self.host = _checked_url(base_url)
        self._headers = {"content-type": "application/json", **headers}
        self._secrets = [value.removeprefix("Bearer ") for value in headers.values()]
        self._timeout = require_in_range("timeout", timeout, 0.001, _LONGEST_TIMEOUT)
        self._max_retries = require_at_least("max_retries", max_retries, 0)
        self._retry_pause = require_in_range("retry_pause", retry_pause, 0.0, _LONGEST_PAUSE)
        self._given_client = client
        if client is None:
            _certificates()
        self._own_client: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None

    async def post(self, path: str, payload: Mapping[str, Any], *, private: Sequence[str] = ()) -> bytes:
        """Send a request until it succeeds or there is no hope.

        Args:
            path: Appended to the base URL, with its slash.
            payload: Sent as JSON.
            private: What an error must not quote, though the service may.

        Returns:
            The body of the answer.

        Raises:
            ServiceError: The service refused, or failed too often.
        """
        return await self.request("POST", path, payload, private=private)

    async def request(
        self, method: str, path: str, payload: Mapping[str, Any] | bytes | None = None, *, private: Sequence[str] = ()
    ) -> bytes:
        """Send a request of any method, as `post` does.

        Args:
            method: `"GET"`, `"DELETE"` or another one that may be repeated.
            path: As in `post`.
            payload: Sent as JSON, `bytes` being JSON already; nothing is sent when left out.
            private: As in `post`.

        Returns:
            The body of the answer.

        Raises:
            ServiceError: The service refused, or failed too often.
        """
        response = await self._answered(method, path, payload, private, stream=False)
        return response.content

    async def stream(
        self, path: str, payload: Mapping[str, Any], *, private: Sequence[str] = ()
    ) -> AsyncGenerator[Any, None]:
        """Send a request that is answered by server-sent events, and yield the JSON of each until `[DONE]`.

        The request is sent again until an answer begins, as in `post`, and never once it has begun. Closing the
        generator closes the connection.

        Args:
            path: As in `post`.
            payload: As in `post`.
            private: As in `post`.

        Raises:
            ServiceError: The service refused, failed too often, or failed in the middle of its answer.
        """
        import httpx

        response = await self._answered("POST", path, payload, private, stream=True)
        try:
            pieces = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
            async with aclosing(pieces), aclosing(read_events(pieces)) as events:
                async for data in events:
                    if data == _END_OF_STREAM:
                        return
                    yield self._event(data, private)
        except httpx.HTTPError as error:
            raise ServiceError(f"the answer broke off: {_spoken(error)}") from error
        except UnicodeDecodeError as error:
            raise ServiceError("the answer is not UTF-8") from error
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections, if they are our own; a later request opens new ones."""
        own, self._own_client = self._own_client, None
        if own is not None:
            await own[1].aclose()

    async def _answered(
        self,
        method: str,
        path: str,
        payload: Mapping[str, Any] | bytes | None,
        private: Sequence[str],
        *,
        stream: bool,
    ) -> httpx.Response:
        """Send until the service takes the request; with `stream`, the body is still to be read and closed."""
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        content = payload if payload is None or isinstance(payload, bytes) else json.dumps(payload).encode("ascii")
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._max_retries + 1),
            retry=retry_if_exception(_worth_another),
            wait=self._pause,
            before_sleep=self._note,
            reraise=True,
        )
        return await retrying(self._send, method, path, content, private, stream)

    async def _send(
        self, method: str, path: str, content: bytes | None, private: Sequence[str], stream: bool
    ) -> httpx.Response:
        import httpx

        client = self._client()
        try:
            request = client.build_request(
                method, self._base_url + path, content=content, headers=self._headers, timeout=self._timeout
            )
            response = await client.send(request, stream=stream)
            if response.is_success:
                return response
            try:
                await response.aread()
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            transient = isinstance(error, httpx.TransportError)
            raise ServiceError(_spoken(error), transient=transient) from error
        raise self._refusal(response, private)

    def _event(self, data: str, private: Sequence[str]) -> Any:
        try:
            event: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ServiceError("the answer holds an event that is not JSON") from error
        if _holds_error(event):
            said = self._told(event, private)
            raise ServiceError(f"the answer broke off{': ' if said else ''}{said}")
        return event

    def _told(self, body: object, private: Sequence[str]) -> str:
        """What an error says, unless it quotes what is private."""
        said = _message_of(body)
        if _quotes(said, [*private, *self._secrets]):
            return "its message is withheld since it quotes the request"
        return said

    def _client(self) -> httpx.AsyncClient:
        """The given client, else one of our own for the running event loop, to which connections are bound."""
        import httpx

        if self._given_client is not None:
            return self._given_client
        loop = asyncio.get_running_loop()
        if self._own_client is None or self._own_client[0] is not loop:
            self._own_client = (loop, httpx.AsyncClient(verify=_certificates()))
        return self._own_client[1]

    def _refusal(self, response: httpx.Response, private: Sequence[str]) -> ServiceError:
        status = response.status_code
        if status in _REFUSED_KEY:
            said = "the API key was refused: check api_key"
        else:
            said = self._told(_json_of(response), private)
        return ServiceError(
            f"HTTP {status}{': ' if said else ''}{said}",
            status=status,
            transient=status in _OVERLOADED or status >= 500,  # noqa: PLR2004 (server errors)
            retry_after=_seconds(response.headers.get("retry-after")),
        )

    def _pause(self, state: RetryCallState) -> float:
        jitter = random.uniform(0.0, self._retry_pause)  # noqa: S311 (no secret)
        error = _error_of(state)
        if isinstance(error, ServiceError) and error.retry_after is not None:
            return error.retry_after + jitter
        return min(_LONGEST_PAUSE, self._retry_pause * 2.0 ** (state.attempt_number - 1)) + jitter

    def _note(self, state: RetryCallState) -> None:
        _LOG.warning(
            "service_retry host=%s attempt=%d of=%d reason=%s",
            self.host,
            state.attempt_number,
            self._max_retries,
            _error_of(state),
        )


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates, which take too long to read for an event loop: so they are read once, early."""
    import httpx

    return httpx.create_ssl_context()


def _error_of(state: RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()


def _worth_another(error: BaseException) -> bool:
    return isinstance(error, ServiceError) and error.transient and (error.retry_after or 0.0) <= _LONGEST_PAUSE


def _checked_url(base_url: str) -> tuple[str, str]:
    """Return the URL without its last slash, and its host and port."""
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError("base_url must be a URL such as 'https://api.openai.com/v1'")
    return base_url.rstrip("/"), parts.netloc.rpartition("@")[2]


def _spoken(error: httpx.HTTPError) -> str:
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return "no answer in time: raise timeout, or check that the service is well"
    if isinstance(error, httpx.ConnectError):
        return "no connection: check base_url and that the service runs"
    return f"the request failed ({type(error).__name__})"


def _json_of(response: httpx.Response) -> object:
    try:
        return response.json()
    except ValueError:
        return None


def _holds_error(event: object) -> bool:
    return isinstance(event, dict) and bool(cast("dict[str, Any]", event).get("error"))


def _message_of(body: object) -> str:
    """What the service says of an error, in the forms that are common; empty for any other."""
    for key in ("detail", "message", "error", "message"):
        if isinstance(body, dict) and key in body:
            body = cast("dict[str, Any]", body)[key]
    return " ".join(body.split())[:_MESSAGE_LENGTH] if isinstance(body, str) else ""


def _quotes(message: str, private: Sequence[str]) -> bool:
    """Whether a message holds one of the texts, or a passage of twice the probe's length from one of them."""
    probes = [message[start : start + _QUOTE_LENGTH] for start in range(0, len(message), _QUOTE_LENGTH)]
    return any(
        (len(text) >= _QUOTE_LENGTH // 3 and text in message)
        or any(len(probe) == _QUOTE_LENGTH and probe in text for probe in probes)
        for text in private
    )


def _seconds(retry_after: str | None) -> float | None:
    """Read the header `Retry-After`: seconds, or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None

"""Web search by Tavily."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal

from ragstone.circuit import Circuit, CircuitOpenError
from ragstone.closing import Closing
from ragstone.errors import ConfigurationError, WebSearchError
from ragstone.models import WebResult
from ragstone.services import JsonService, ServiceError
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    import httpx

__all__ = ["TavilyWebSearch"]

_TAVILY: Final = "https://api.tavily.com"
_MOST_RESULTS: Final = 20
_DEPTHS: Final = ("basic", "advanced")


class TavilyWebSearch(Closing):
    """Searches the web with Tavily (`POST /search`).

    A request that meets an overloaded or failing service is sent again after a pause that doubles each time. When
    whole searches keep failing, Tavily is left alone for a while and they fail at once.

    Args:
        api_key: Sent as a bearer token, never shown.
        base_url: Where `/search` is.
        search_depth: `"basic"`, or `"advanced"`, which costs twice as much and finds more fitting passages.
        timeout: Seconds to wait for the service at each step.
        max_retries: How often a request is sent again.
        retry_pause: Seconds before the first retry; doubles each time.
        failures: How many searches fail in a row before Tavily is left alone.
        rest: For how many seconds.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: The key is empty, or an option is not one.
        MissingDependencyError: The extra `http` is not installed.

    Example:
        >>> TavilyWebSearch(api_key="tvly-…").identity
        'tavily:api.tavily.com/basic'
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = _TAVILY,
        search_depth: Literal["basic", "advanced"] = "basic",
        timeout: float = 30.0,
        max_retries: int = 2,
        retry_pause: float = 0.5,
        failures: int = 5,
        rest: float = 30.0,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        if not api_key.strip():
            raise ConfigurationError("api_key must be the key of a Tavily account, not empty")
        if search_depth not in _DEPTHS:
            raise ConfigurationError(f"search_depth must be 'basic' or 'advanced', not {search_depth!r}")
        self._depth = search_depth
        self._service = JsonService(
            base_url,
            headers={"authorization": f"Bearer {api_key}"},
            timeout=timeout,
            max_retries=max_retries,
            retry_pause=retry_pause,
            client=client,
        )
        self._circuit = Circuit(failures=failures, rest=rest)

    @property
    def identity(self) -> str:
        """Names the service and the depth of its search."""
        return f"tavily:{self._service.host}/{self._depth}"

    def __repr__(self) -> str:
        return f"TavilyWebSearch({self.identity!r})"

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._service.aclose()

    async def search(self, query: str, *, max_results: int) -> list[WebResult]:
        """Return at most `max_results` pages, best first; Tavily gives no more than 20.

        Raises:
            WebSearchError: The service failed, refused, answered nonsense, or is left alone after failures.
        """
        wanted = min(require_at_least("max_results", max_results, 1), _MOST_RESULTS)
        payload = {"query": query, "max_results": wanted, "search_depth": self._depth}
        try:
            body = await self._circuit.call(
                lambda: self._service.post("/search", payload, private=[query]), failed=_is_unwell
            )
        except (ServiceError, CircuitOpenError) as error:
            raise WebSearchError(f"{self.identity}: {error}") from error
        return _read(body, self.identity)[:wanted]


def _is_unwell(error: Exception) -> bool:
    return isinstance(error, ServiceError) and error.transient


def _read(body: bytes, identity: str) -> list[WebResult]:
    """Return the pages of an answer; one without an address or a text is passed over."""
    try:
        answer: Any = json.loads(body)
        pages = [
            WebResult(url=_text(p["url"]), title=_text(p["title"]), text=_text(p["content"])) for p in answer["results"]
        ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WebSearchError(f"{identity}: the answer is not in the form of Tavily's") from error
    return [page for page in pages if page.url and page.text.strip()]


def _text(value: object) -> str:
    """The string, halves of surrogate pairs replaced; JSON may hold them and no other part takes them."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value.encode("utf-8", "replace").decode("utf-8")

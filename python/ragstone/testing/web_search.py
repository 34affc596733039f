"""Web searches for tests: they find what the test tells them to, instantly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragstone.errors import WebSearchError
from ragstone.models import WebResult
from ragstone.testing._faults import Gate, PlannedFailure

__all__ = ["FailingWebSearch", "HangingWebSearch", "ScriptedWebSearch", "WebRequest"]


class WebRequest(NamedTuple):
    """One call of `search`: what was asked for."""

    query: str
    max_results: int


class ScriptedWebSearch:
    """A web search that finds the same pages for every query.

    Attributes:
        requests: Every call so far, in order.

    Args:
        results: The pages, best first; a call returns as many as it asks for.

    Example:
        >>> import asyncio
        >>> web = ScriptedWebSearch([WebResult(url="https://example.org/", title="Leave", text="16 weeks")])
        >>> [page.text for page in asyncio.run(web.search("leave", max_results=5))]
        ['16 weeks']
    """

    def __init__(self, results: Sequence[WebResult] = ()) -> None:
        self._results = tuple(results)
        self.requests: list[WebRequest] = []

    @property
    def identity(self) -> str:
        """Names the fake."""
        return f"ragstone.testing.{type(self).__name__}"

    @property
    def calls(self) -> int:
        """How many times `search` was called."""
        return len(self.requests)

    async def search(self, query: str, *, max_results: int) -> list[WebResult]:
        """Record the call and return the first `max_results` pages."""
        self.requests.append(WebRequest(query, max_results))
        return list(self._results[:max_results])


class FailingWebSearch(ScriptedWebSearch):
    """A `ScriptedWebSearch` that fails.

    Args:
        error: What `search` raises; a `WebSearchError` by default.
        after: How many calls succeed first.
        results: As in `ScriptedWebSearch`, for the calls that succeed.
    """

    def __init__(self, error: Exception | None = None, *, after: int = 0, results: Sequence[WebResult] = ()) -> None:
        super().__init__(results)
        self._failure = PlannedFailure(error or WebSearchError("the web search failed, as the test told it to"), after)

    async def search(self, query: str, *, max_results: int) -> list[WebResult]:
        """Record the call; raise the error once `after` calls have succeeded.

        Raises:
            Exception: The `error` handed to the constructor.
        """
        results = await super().search(query, max_results=max_results)
        self._failure.strike(self.calls)
        return results


class HangingWebSearch(ScriptedWebSearch, Gate):
    """A `ScriptedWebSearch` that does not answer until `release` is set, to test cancellation and time limits.

    Attributes:
        started: Set when a call has come.
        release: Set it to let every call answer.
        cancelled: How many calls were cancelled while they waited.
    """

    def __init__(self, results: Sequence[WebResult] = ()) -> None:
        super().__init__(results)
        Gate.__init__(self)

    async def search(self, query: str, *, max_results: int) -> list[WebResult]:
        """Record the call, wait for `release`, then answer.

        Raises:
            asyncio.CancelledError: The caller was cancelled; counted in `cancelled`.
        """
        results = await super().search(query, max_results=max_results)
        await self._held()
        return results

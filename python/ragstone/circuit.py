"""A circuit breaker: a service that keeps failing is left alone for a while (Nygard, Release It!, 2007)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from ragstone.extras import require
from ragstone.validation import require_at_least, require_in_range

__all__ = ["Circuit", "CircuitOpenError"]

T = TypeVar("T")

_LONGEST_REST: Final = 3600.0


class CircuitOpenError(Exception):
    """The service was not asked, since it kept failing; its caller raises it as an error of its own kind.

    Attributes:
        seconds: How long it is left alone from now on.
    """

    def __init__(self, failures: int, seconds: float) -> None:
        calls = "call" if failures == 1 else f"{failures} calls"
        super().__init__(f"not asked, since the last {calls} failed: it is asked again in {seconds:.0f} s")
        self.seconds = seconds


class Circuit:
    """Guards the calls of one service.

    After `failures` failed calls in a row it is open: calls fail at once for `rest` seconds. Then calls go through, and
    the first outcome decides: a failure opens the circuit again, anything else closes it. A call that is cancelled
    tells nothing about the service and counts for neither.

    Args:
        failures: How many calls fail in a row before the service is left alone.
        rest: For how many seconds.

    Raises:
        ConfigurationError: An option is not one.
        MissingDependencyError: The extra `http` is not installed.
    """

    __slots__ = ("_breaker", "_failures")

    def __init__(self, *, failures: int, rest: float) -> None:
        self._failures = require_at_least("failures", failures, 1)
        package = require("circuitbreaker", extra="http", purpose="Leaving a failing service alone")
        self._breaker: Any = package.CircuitBreaker(
            failure_threshold=self._failures,
            recovery_timeout=require_in_range("rest", rest, 0.001, _LONGEST_REST),
            expected_exception=_CallFailedError,
        )

    async def call(self, work: Callable[[], Awaitable[T]], *, failed: Callable[[Exception], bool]) -> T:
        """Await `work()`, unless the circuit is open.

        Args:
            work: Asks the service.
            failed: Whether what it raised tells that the service is unwell, rather than that the request was wrong.

        Raises:
            CircuitOpenError: The circuit is open.
            Exception: Whatever `work` raised.
        """
        if self._breaker.opened:
            raise CircuitOpenError(self._failures, self._breaker.open_remaining)
        try:
            answer = await work()
        except Exception as error:
            self._note(failed(error))
            raise
        self._note(failure=False)
        return answer

    def _note(self, failure: bool) -> None:
        """Tell the breaker of an outcome: it takes one as the end of a with block."""
        with suppress(_CallFailedError), self._breaker:
            if failure:
                raise _CallFailedError


class _CallFailedError(Exception):
    """A failure, as the breaker counts it."""

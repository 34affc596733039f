"""Calls of a backend that may fail for a while: a deadline for each attempt, pauses between them, and a circuit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from ragstone.circuit import Circuit, CircuitOpenError
from ragstone.errors import ConfigurationError, InvalidInputError, RagError, StoreError

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["LONGEST_PAUSE", "Attempts"]

T = TypeVar("T")

LONGEST_PAUSE: Final = 60.0
"""Seconds."""

_LOG: Final = logging.getLogger(__name__)
_NEVER: Final = (CircuitOpenError, ConfigurationError, InvalidInputError)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How calls of one backend are made.

    Attributes:
        backend: What errors and logs call it.
        retries: How often a failed call is made again.
        pause: Seconds before the first retry, doubled each time; up to `pause` more is added at random.
        retry_on: The exceptions beside `StoreError` that tell that the backend is unwell.
        circuit: Hears of every attempt.
    """

    backend: str
    retries: int
    pause: float
    retry_on: tuple[type[Exception], ...]
    circuit: Circuit

    async def repeated(self, action: str, seconds: float, work: Callable[[], Awaitable[T]]) -> T:
        """Make a call until it succeeds or there is no hope; only for what may be done twice.

        Raises:
            StoreError: The backend failed each time, gave no answer in time or is left alone.
            Exception: What the backend raised that is no failure of its own.
        """
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.retries + 1),
            wait=wait_exponential(multiplier=self.pause, max=LONGEST_PAUSE) + wait_random(0, self.pause),
            retry=retry_if_exception(self._is_unwell),
            before_sleep=lambda state: self._note(action, state),
            reraise=True,
        )
        return await self._told(action, lambda: retrying(self._attempt, action, seconds, work))

    async def once(self, action: str, seconds: float, work: Callable[[], Awaitable[T]]) -> T:
        """Make a call a single time; errors as in `repeated`."""
        return await self._told(action, lambda: self._attempt(action, seconds, work))

    async def _attempt(self, action: str, seconds: float, work: Callable[[], Awaitable[T]]) -> T:
        return await self.circuit.call(lambda: self._in_time(action, seconds, work), failed=self._is_unwell)

    async def _in_time(self, action: str, seconds: float, work: Callable[[], Awaitable[T]]) -> T:
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await work()
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise StoreError(
                f"{self.backend}: {action} took longer than {seconds:g} s: check that the backend is well, "
                "or allow it more time"
            ) from error

    async def _told(self, action: str, work: Callable[[], Awaitable[T]]) -> T:
        """Await `work()`, its failures told as errors of a store."""
        try:
            return await work()
        except CircuitOpenError as error:
            raise StoreError(f"{self.backend}: {error}") from error
        except RagError:
            raise
        except self.retry_on as error:
            raise StoreError(f"{self.backend}: {action} failed ({type(error).__name__})") from error

    def _is_unwell(self, error: BaseException) -> bool:
        return isinstance(error, (StoreError, *self.retry_on)) and not isinstance(error, _NEVER)

    def _note(self, action: str, state: RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        _LOG.warning(
            "store_retry store=%s action=%s attempt=%d of=%d reason=%s",
            self.backend,
            action,
            state.attempt_number,
            self.retries,
            error if isinstance(error, RagError) else type(error).__name__,
        )

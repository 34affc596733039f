"""A clock for tests: it stands still until it is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from ragstone.errors import InvalidInputError

__all__ = ["SettableClock"]

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class SettableClock:
    """A clock that stands still until the test moves it, both its times together.

    Args:
        start: The instant that it begins at; a naive one is UTC.

    Example:
        >>> clock = SettableClock()
        >>> clock.advance(hours=2)
        >>> clock.now().isoformat(), clock.monotonic()
        ('2026-01-01T02:00:00+00:00', 7200.0)
    """

    def __init__(self, start: datetime = _START) -> None:
        self._now = _aware(start)
        self._elapsed = timedelta()

    def now(self) -> datetime:
        """Return the instant that the clock stands at."""
        return self._now

    def monotonic(self) -> float:
        """Return how many seconds the clock was advanced by so far."""
        return self._elapsed.total_seconds()

    def advance(self, seconds: float = 0.0, *, hours: float = 0.0, days: float = 0.0) -> None:
        """Move both times forward.

        Raises:
            InvalidInputError: The step is negative: time does not run backwards, but `set` changes the date.
        """
        step = timedelta(seconds=seconds, hours=hours, days=days)
        if step < timedelta():
            raise InvalidInputError(f"a clock cannot be advanced by {step.total_seconds():g} seconds: use set()")
        self._now += step
        self._elapsed += step

    def set(self, instant: datetime) -> None:
        """Change the date, as an administrator does; the monotonic time stays."""
        self._now = _aware(instant)


def _aware(instant: datetime) -> datetime:
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)

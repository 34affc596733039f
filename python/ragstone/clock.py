"""The time as the machine tells it."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["SystemClock"]


class SystemClock:
    """The system's time; implements `ragstone.ports.Clock`."""

    __slots__ = ()

    def now(self) -> datetime:
        """Return the present instant, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

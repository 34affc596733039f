"""Things that hold connections: closed by `aclose()`, or by leaving an `async with`."""

from __future__ import annotations

from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing:
    """Closes itself at the end of an `async with`."""

    __slots__ = ()

    async def aclose(self) -> None:
        """Close what is open; there is nothing unless a class says otherwise."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

"""What one call has found out already, so that nothing is paid for twice in it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Memo"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """Works out each value once, also where several ask for it at the same time; a failure is not remembered.

    Example:
        >>> import asyncio
        >>> async def length(text: str) -> int:
        ...     print("working")
        ...     return len(text)
        >>> async def main() -> list[int]:
        ...     memo = Memo[str, int]()
        ...     return await asyncio.gather(*(memo.get("four", lambda: length("four")) for _ in range(2)))
        >>> asyncio.run(main())
        working
        [4, 4]
    """

    __slots__ = ("_locks", "_values")

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._locks: defaultdict[K, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(self, key: K, work_out: Callable[[], Awaitable[V]]) -> V:
        """Return the value of a key, from `work_out` if nobody has it yet.

        Raises:
            Exception: Whatever `work_out` raises.
        """
        if key in self._values:
            return self._values[key]
        async with self._locks[key]:
            if key not in self._values:
                self._values[key] = await work_out()
            return self._values[key]

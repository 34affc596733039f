"""What the indexes hold at the moment, as a name: pages of different contents never share a key."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from uuid import uuid4

__all__ = ["IndexGeneration"]


class IndexGeneration:
    """Names the content of one pipeline's indexes, another name after every change.

    Without a durable index the name holds a random part that is the pipeline's own, so that no other pipeline or
    process has it. Changes that do not go through the pipeline are not seen.

    Args:
        revision: Tells the revision of a durable index, the same wherever its content is the same; `None` from it, or
            in its place, where there is none.

    Example:
        >>> generation = IndexGeneration()
        >>> before = generation.current
        >>> with generation.changing():
        ...     generation.settled
        False
        >>> generation.current == before
        False
    """

    def __init__(self, revision: Callable[[], str | None] | None = None) -> None:
        self.instance = uuid4().hex
        self._revision = revision
        self._changes = 0
        self._under_way = 0
        self._current = self._named()

    @property
    def current(self) -> str:
        """The name of what the indexes held when the last change ended."""
        return self._current

    @property
    def settled(self) -> bool:
        """Whether no change is under way, so that what is found now is of the current generation."""
        return not self._under_way

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Change the indexes; the next generation begins when this ends, whether it succeeded or not."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._changes += 1
            self._current = self._named()

    def _named(self) -> str:
        revision = None if self._revision is None else self._revision()
        return f"{self.instance}/{self._changes}" if revision is None else revision

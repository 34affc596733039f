"""A model and the one thread in which it is loaded and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, ParamSpec, TypeVar

__all__ = ["ModelThread"]

M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R")


class ModelThread(Generic[M]):
    """Loads a model once, on first use, and runs all of its work in one thread of its own.

    So concurrent calls take turns, the event loop stays free, and any number of event loops may share a model. A load
    that failed is tried again. A caller that is cancelled is let go at once: work that had not begun never begins, and
    a run that is under way ends on its own.

    Args:
        load: Loads the model.
    """

    __slots__ = ("_load", "_thread", "loaded")

    def __init__(self, load: Callable[[], M]) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragstone-onnx")
        self.loaded: M | None = None
        """The model, once it is loaded."""

    async def model(self) -> M:
        """Return the model, loaded on the first call."""
        return await self.run(self._model) if self.loaded is None else self.loaded

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `function` in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *args, **kwargs))

    def _model(self) -> M:
        """Runs in the one thread, so that no two loads meet."""
        if self.loaded is None:
            self.loaded = self._load()
        return self.loaded

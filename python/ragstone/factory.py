"""Named pipelines: each of its own, built when it is first asked for, sharing what is heavy."""

from __future__ import annotations

import functools
import inspect
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeAlias, TypeGuard

from ragstone.closing import Closing
from ragstone.errors import ConfigurationError
from ragstone.pipeline import RagPipeline

__all__ = ["PipelineBuilder", "RagPipelineFactory", "SharedParts"]

_log = logging.getLogger(__name__)


class SharedParts:
    """What the pipelines of a factory share, by attribute: `shared.embedder`.

    Args:
        names: The names of the parts.
        part: Gives the part of a name.
    """

    def __init__(self, names: Collection[str], part: Callable[[str], Any]) -> None:
        self._names = names
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._part(name)

    def __dir__(self) -> list[str]:
        return sorted(self._names)


PipelineBuilder: TypeAlias = Callable[[SharedParts], RagPipeline]
"""Makes a pipeline of its own parts and of those that are shared."""


class RagPipelineFactory(Closing):
    """Holds pipelines under names.

    Each is built on its first `get`, once, also from several threads; a builder that fails is tried again at the next.
    Pipelines share nothing but what `shared` holds, so each has its own documents, indexes and caches. Asking whether a
    name is there builds nothing.

    Args:
        shared: Heavy parts by name, such as models: instances, or functions or classes that make them without
            arguments. These are called once, when a builder first looks at the part. All belong to the factory.

    Raises:
        ConfigurationError: A shared name is no attribute's name.

    Example:
        >>> from ragstone.testing import HashEmbedder
        >>> pipelines = RagPipelineFactory(shared={"embedder": HashEmbedder})
        >>> pipelines.add("docs", lambda shared: RagPipeline(embedder=shared.embedder))
        >>> "docs" in pipelines, "wiki" in pipelines
        (True, False)
        >>> pipelines.get("docs") is pipelines.get("docs")
        True
    """

    def __init__(self, *, shared: Mapping[str, object] | None = None) -> None:
        for name in shared or {}:
            if not name.isidentifier() or name.startswith("_"):
                raise ConfigurationError(f"shared: '{name}' must be the name of an attribute, such as 'embedder'")
        self._lock = threading.RLock()
        self._values = dict(shared or {})
        self._parts: dict[str, Any] = {}
        self._shared = SharedParts(self._values, self._part)
        self._builders: dict[str, PipelineBuilder] = {}
        self._pipelines: dict[str, RagPipeline] = {}
        self._building: list[str] = []
        self._closed = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are there, in the order in which they came."""
        return tuple(self._builders)

    def __contains__(self, name: object) -> bool:
        return name in self._builders

    def add(self, name: str, builder: PipelineBuilder) -> None:
        """Put a pipeline under a name; nothing is built yet.

        Raises:
            ConfigurationError: The name is empty or taken, or `builder` cannot be called.
        """
        if not name or not callable(builder):
            raise ConfigurationError(
                f"a pipeline needs a name and a builder that can be called, not {name!r}, {builder!r}"
            )
        with self._lock:
            if name in self._builders:
                raise ConfigurationError(f"the pipeline '{name}' is there already: choose another name")
            self._builders[name] = builder

    def get(self, name: str) -> RagPipeline:
        """Return the pipeline of this name, built if this is the first time.

        Raises:
            ConfigurationError: There is no such name, its builder does not give a pipeline or asks for itself, or the
                factory is closed.
            Exception: Whatever the builder raises.
        """
        with self._lock:
            if self._closed:
                raise ConfigurationError(f"the pipeline '{name}' cannot be had: this factory is closed, make a new one")
            if name not in self._builders:
                raise ConfigurationError(f"there is no pipeline '{name}': {_known('added', self._builders)}")
            if name not in self._pipelines:
                self._pipelines[name] = self._build(name)
            return self._pipelines[name]

    async def aclose(self) -> None:
        """Close the pipelines that were built, the last one first, then the shared parts that can be closed.

        All are closed although one fails, whose error is raised at the end. Closing twice is no error.
        """
        with self._lock:
            self._closed = True
            parts = [*self._parts.values(), *self._pipelines.values()]
            self._parts.clear()
            self._pipelines.clear()
        async with AsyncExitStack() as stack:
            for part in parts:
                close = getattr(part, "aclose", None)
                if close is not None:
                    stack.push_async_callback(close)

    def _part(self, name: str) -> Any:
        with self._lock:
            if name not in self._values:
                raise ConfigurationError(f"no part '{name}' is shared: {_known('shared', self._values)}")
            if name not in self._parts:
                value = self._values[name]
                self._parts[name] = value() if _is_builder(value) else value
            return self._parts[name]

    def _build(self, name: str) -> RagPipeline:
        if name in self._building:
            raise ConfigurationError(f"the pipeline '{name}' needs itself: {' → '.join((*self._building, name))}")
        self._building.append(name)
        try:
            pipeline = self._builders[name](self._shared)
        finally:
            self._building.pop()
        if not isinstance(pipeline, RagPipeline):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"the builder of '{name}' must return a RagPipeline, not {type(pipeline).__name__}"
            )
        _log.debug("pipeline_built: %s", name)
        return pipeline


def _is_builder(value: object) -> TypeGuard[Callable[[], object]]:
    """Whether a shared value makes the part; an instance that happens to be callable is the part."""
    return inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, functools.partial)


def _known(what: str, names: Mapping[str, object]) -> str:
    return f"{what} are {', '.join(sorted(names))}" if names else f"none is {what}"

"""The one door to OpenTelemetry: without the package a span is a no-op that costs next to nothing.

Attributes carry ids, counts, settings and scores; never a query's or a document's text.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, Protocol, TypeAlias

__all__ = ["AttributeValue", "Span", "span"]

AttributeValue: TypeAlias = str | bool | int | float

_INSTALLED: Final = importlib.util.find_spec("opentelemetry") is not None


class Span(Protocol):
    """What a traced piece of work can note."""

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Note a fact about the work."""
        ...


class _NoSpan:
    __slots__ = ()

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Note nothing."""


_NO_SPAN: Final = nullcontext[Span](_NoSpan())


def span(name: str) -> AbstractContextManager[Span]:
    """Trace a piece of work; use it in a `with` statement, whose target takes attributes."""
    return _recorded(name) if _INSTALLED else _NO_SPAN


@contextmanager
def _recorded(name: str) -> Generator[Span, None, None]:
    from opentelemetry import trace

    with trace.get_tracer("ragstone").start_as_current_span(name) as current:
        yield current

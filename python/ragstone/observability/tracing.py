"""The one door to OpenTelemetry: while no tracer provider is set up, a span is a no-op that costs next to nothing.

Attributes carry ids, counts, settings and scores; a query's or a document's text only after `capture_text()`. An
exception is told by its type, since what another package writes into a message is not ours to pass on.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from opentelemetry import trace

__all__ = ["AttributeValue", "Span", "capture_text", "captures_text", "span"]

AttributeValue: TypeAlias = str | bool | int | float | Sequence[str]

_INSTALLED: Final = importlib.util.find_spec("opentelemetry") is not None
_TRACER: Final = "ragstone"

_capturing = False


def capture_text(capture: bool = True) -> None:
    """Let spans carry the texts of queries, chunks, prompts and answers, for the whole program; off until called.

    Whoever reads the traces then reads the documents.
    """
    global _capturing  # noqa: PLW0603  one switch a program
    _capturing = capture


def captures_text() -> bool:
    """Whether spans carry texts."""
    return _capturing


class Span(Protocol):
    """What a traced piece of work can note."""

    @property
    def recording(self) -> bool:
        """Whether anybody will see what is noted; spares the work of finding it out."""
        ...

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Note a fact about the work."""
        ...


class _NoSpan:
    __slots__ = ()

    recording = False

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Note nothing."""


class _Recorded:
    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    @property
    def recording(self) -> bool:
        return self._span.is_recording()

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self._span.set_attribute(key, value)

    def fail(self, error: BaseException) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("error.type", type(error).__qualname__)
        self._span.set_status(Status(StatusCode.ERROR))


_NO_SPAN: Final = nullcontext[Span](_NoSpan())


def span(name: str, *, current: bool = True) -> AbstractContextManager[Span]:
    """Trace a piece of work; use it in a `with` statement, whose target takes attributes.

    Args:
        name: The span's name.
        current: Make it the parent of the spans that begin inside. An asynchronous generator must not: what it makes
            current would be current for its reader as well.
    """
    tracer = _tracer() if _INSTALLED else None
    return _NO_SPAN if tracer is None else _recorded(tracer, name, current=current)


def _tracer() -> trace.Tracer | None:
    """The tracer, if the program has set up anything that records."""
    from opentelemetry import trace

    tracer = trace.get_tracer(_TRACER)
    return None if isinstance(tracer, (trace.ProxyTracer, trace.NoOpTracer)) else tracer


@contextmanager
def _recorded(tracer: trace.Tracer, name: str, *, current: bool) -> Generator[Span, None, None]:
    from opentelemetry import trace

    started = tracer.start_span(name)
    recorded = _Recorded(started)
    try:
        with (
            trace.use_span(started, record_exception=False, set_status_on_exception=False) if current else nullcontext()
        ):
            yield recorded
    except GeneratorExit:  # a reader that has enough is no failure
        raise
    except BaseException as error:
        recorded.fail(error)
        raise
    finally:
        started.end()

"""Spans for those who run OpenTelemetry; nothing at all for those who do not."""

from ragstone.observability.asking import AskSpan, ask_span
from ragstone.observability.tracing import AttributeValue, Span, capture_text, captures_text, span

__all__ = ["AskSpan", "AttributeValue", "Span", "ask_span", "capture_text", "captures_text", "span"]

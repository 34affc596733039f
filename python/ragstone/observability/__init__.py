"""Spans for those who run OpenTelemetry; nothing at all for those who do not."""

"""Typed values on the command line: `key=text`, or `key:=value` for a number, a boolean, a date or a JSON string."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import datetime

from ragstone.errors import ConfigurationError, MetadataError
from ragstone.metadata import MetadataValue, check_filter

__all__ = ["collect_pairs", "parse_pair"]


def parse_pair(text: str) -> tuple[str, MetadataValue]:
    """Parse `key=text` or `key:=value`; the first `=` ends the key.

    Raises:
        argparse.ArgumentTypeError: It is neither, or the value has none of the kinds.

    Example:
        >>> parse_pair("department=hr"), parse_pair("year:=2026"), parse_pair("note=a=b")
        (('department', 'hr'), ('year', 2026), ('note', 'a=b'))
    """
    key, separator, value = text.partition("=")
    typed = key.endswith(":")
    key = key.removesuffix(":")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form KEY=TEXT or KEY:=VALUE")
    try:
        (pair,) = (check_filter({key: _typed(value) if typed else value}) or {}).items()
    except (ValueError, MetadataError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r}: after := comes a finite number, true, false, a date such as 2026-01-31, or a JSON string; "
            f"for other text write {key}=…"
        ) from error
    return pair


def _typed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return datetime.fromisoformat(text)


def collect_pairs(option: str, pairs: Sequence[tuple[str, MetadataValue]]) -> dict[str, MetadataValue]:
    """Return the pairs of a repeated option.

    Raises:
        ConfigurationError: A key comes twice.
    """
    collected: dict[str, MetadataValue] = {}
    for key, value in pairs:
        if key in collected:
            raise ConfigurationError(f"{option} names '{key}' twice: a key has one value, all of them must hold")
        collected[key] = value
    return collected

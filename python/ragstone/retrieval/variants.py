"""Reading query variants out of a model's answer, and telling whether two queries are the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["distinct", "read_variants"]

_MARKER: Final = re.compile(r"(?:\(?\d{1,3}[.):]+|[-*•–])(?:\s+|$)")
_QUOTES: Final = (('"', '"'), ("“", "”"), ("«", "»"), ("**", "**"))


def read_variants(answer: str, *, count: int, query: str) -> list[str]:
    r"""Return at most `count` variants of a query from an answer that holds one a line.

    Blank lines, fences and headings that end in a colon are passed over, list markers and quotation marks taken off.
    Where some lines have list markers, the others are prose and are passed over too. What repeats the query, or a
    variant before it, is left out.

    Example:
        >>> read_variants("Here they are:\n\n1. How tall is it?\n2) its height\n", count=3, query="its size?")
        ['How tall is it?', 'its height']
    """
    lines = [line for line in map(str.strip, answer.splitlines()) if line and not line.startswith("```")]
    marked = [line for line in lines if _MARKER.match(line)]
    if marked:
        variants = [_MARKER.sub("", line, count=1) for line in marked]
    else:
        variants = [line for line in lines if not line.endswith(":")]
    return distinct(map(_unquoted, variants), besides=(query,))[:count]


def distinct(queries: Iterable[str], *, besides: Iterable[str] = ()) -> list[str]:
    """Return the queries that say something new, in order; case and spacing make no difference."""
    known = {_sameness(query) for query in besides} | {""}
    fresh: list[str] = []
    for query in queries:
        if _sameness(query) not in known:
            known.add(_sameness(query))
            fresh.append(query.strip())
    return fresh


def _sameness(query: str) -> str:
    return " ".join(query.casefold().split())


def _unquoted(text: str) -> str:
    for opening, closing in _QUOTES:
        if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            return text[len(opening) : -len(closing)]
    return text

"""OData filters and query texts, each value a quoted literal, never syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ragstone.metadata import MetadataValue

__all__ = ["document_filter", "instant", "metadata_filter", "plain_number", "plain_text"]

_OPERATORS: Final = re.compile(r"""[+|"()'\\*~-]""")
_MICROSECONDS: Final = 1000


def metadata_filter(wanted: Mapping[str, MetadataValue]) -> str | None:
    """The OData filter of a checked metadata filter: one `any` over `metadata_entries` an entry; `None` for no entry.

    Example:
        >>> metadata_filter({"band's name": "rock 'n' roll"})
        "metadata_entries/any(m: m/key eq 'band''s name' and m/stringValue eq 'rock ''n'' roll')"
        >>> metadata_filter({"page": 3, "draft": False})
        "metadata_entries/any(m: m/key eq 'page' and m/numberValue eq 3) and \
metadata_entries/any(m: m/key eq 'draft' and m/boolValue eq false)"
    """
    clauses = (
        f"metadata_entries/any(m: m/key eq {_quoted(key)} and {_condition(value)})" for key, value in wanted.items()
    )
    return " and ".join(clauses) or None


def document_filter(document_id: str) -> str:
    """The OData filter of a document's chunks.

    Example:
        >>> document_filter("it's")
        "document_id eq 'it''s'"
    """
    return f"document_id eq {_quoted(document_id)}"


def plain_text(query: str) -> str:
    r"""A query's words in the simple syntax, with whatever it would read as an operator escaped.

    Example:
        >>> print(plain_text("-draft (C++)"))
        \-draft \(C\+\+\)
    """
    return _OPERATORS.sub(r"\\\g<0>", query)


def plain_number(value: float) -> int | float:
    """A number as the service should see it: whole ones as integers, so that -0.0 is 0 and 3.0 is 3."""
    return int(value) if float(value).is_integer() and abs(value) <= 2**53 else value


def instant(value: datetime) -> tuple[str, int | None]:
    """An instant as the service keeps it, in whole milliseconds, and the microseconds beyond them where there are any.

    Example:
        >>> instant(datetime(2025, 2, 3, 12, 45, 46, 1, tzinfo=UTC))
        ('2025-02-03T12:45:46.000Z', 1)
    """
    moment = value.astimezone(UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')}Z", moment.microsecond % _MICROSECONDS or None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _condition(value: MetadataValue) -> str:
    if isinstance(value, bool):
        return f"m/boolValue eq {str(value).lower()}"
    if isinstance(value, str):
        return f"m/stringValue eq {_quoted(value)}"
    if isinstance(value, datetime):
        milliseconds, rest = instant(value)
        return f"m/dateValue eq {milliseconds} and m/dateMicroseconds eq {'null' if rest is None else rest}"
    return f"m/numberValue eq {plain_number(value)!r}"

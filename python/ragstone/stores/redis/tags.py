"""Typed values as tags of Redis' search module, and the queries that name them.

A tag is compared as it is written, so the kind has to be in it: a string stands for itself, and other kinds begin with
`$`. Strings that tags cannot hold as they are (empty, padded with blanks, with characters that a query cannot name, or
beginning with `$`) stand as a digest, since a tag is only ever compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ragstone.metadata import MetadataValue

__all__ = ["SEPARATOR", "metadata_field", "tag_of", "tag_query"]

SEPARATOR: Final = "\x1f"
"""Splits a field into several tags; no tag here holds it."""

_LONGEST: Final = 256
_PLAIN: Final = re.compile(r"[!-#%-~](?:[ -~]*[!-~])?")
_SPECIAL: Final = re.compile(r"(\W)", re.ASCII)


def tag_of(value: MetadataValue) -> str:
    """The tag that stands for a value: equal values of one kind have equal tags, all others different ones.

    Example:
        >>> tag_of("a1b2-c3"), tag_of("3"), tag_of(3.0), tag_of(True)
        ('a1b2-c3', '3', '$number:3', '$boolean:true')
    """
    if isinstance(value, bool):
        return f"$boolean:{str(value).lower()}"
    if isinstance(value, datetime):
        return f"$datetime:{value.astimezone(UTC).isoformat()}"
    if isinstance(value, str):
        if len(value) <= _LONGEST and _PLAIN.fullmatch(value):
            return value
        return f"$string:{hashlib.sha256(value.encode()).hexdigest()}"
    return f"$number:{int(value) if value == int(value) else value!r}"


def metadata_field(key: str) -> str:
    """The hash field, and the attribute of the index, that holds the tag of a metadata key."""
    return f"md_{tag_of(key)}"


def tag_query(tags: Mapping[str, str]) -> str:
    r"""A query for what has all of these tags, each under its field; `*` for none.

    Example:
        >>> print(tag_query({"md_tenant": "a1b2-c3"}))
        (@md_tenant:{a1b2\-c3})
    """
    parts = [f"@{_escaped(field)}:{{{_escaped(tag)}}}" for field, tag in tags.items()]
    return f"({' '.join(parts)})" if parts else "*"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)

"""Reading JSON out of what a language model says: fences, prose around it, more than one object."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, cast

__all__ = ["first_object"]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_refuse)


def first_object(text: str) -> dict[str, Any] | None:
    r"""Return the first complete JSON object in a text, `None` where there is none.

    Whatever stands before and after it is passed over, braces and backticks inside its strings are text, and line
    breaks in a string are let pass. An object that breaks off at the end of the text is not complete, nor is a part of
    it.

    Example:
        >>> first_object('Sure {as asked}: ```json\n{"sufficient": false, "subQueries": ["what is `}`?"]}\n``` [1]')
        {'sufficient': False, 'subQueries': ['what is `}`?']}
        >>> first_object('{"verdict": {"sufficient": true}') is None
        True
    """
    text = text.rstrip()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
                return None
        except (ValueError, RecursionError):
            return None
        else:
            return cast("dict[str, Any]", value)
        start = text.find("{", start + 1)
    return None

"""From bytes to text, strictly: what cannot be decoded is an error, never a replacement character."""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ragstone.errors import ConfigurationError, ParseError, RagError

__all__ = ["check_text", "damaged", "decode", "require_encoding", "without_unstorable"]

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_REMEDY: Final = "convert the file to UTF-8, give the right content_type, or name its encoding: TextParser(encoding=…)"


def require_encoding(encoding: str) -> str:
    """Return `encoding` if Python can decode text with it, else raise `ConfigurationError`."""
    try:
        bytes(4).decode(encoding)
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"encoding {encoding!r} is not a text encoding that Python knows, such as 'utf-8'"
        ) from error
    return encoding


def decode(content: bytes, encoding: str) -> str:
    """Decode text. A byte order mark outranks `encoding` and is not part of the text.

    Raises:
        ParseError: A byte does not fit the encoding, or the text holds what no text file does.
    """
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    try:
        text = content.decode(marked or encoding)
    except UnicodeDecodeError as error:
        raise ParseError(
            f"not {error.encoding} text: {error.reason} at byte offset {error.start}; {_REMEDY}"
        ) from error
    return check_text(text)


def check_text(text: str) -> str:
    """Return `text` if every store can hold it.

    Raises:
        ParseError: It holds a NUL character, as binary files and UTF-16 without a mark do, or half of a surrogate pair.
    """
    found = _UNSTORABLE.search(text)
    if found is None:
        return text
    kind = "a NUL character" if found[0] == "\0" else f"a lone surrogate (U+{ord(found[0]):04X})"
    raise ParseError(
        f"{kind} at character offset {found.start()}: binary data, or UTF-16 without a byte order mark; {_REMEDY}"
    )


def without_unstorable(text: str) -> str:
    """Put U+FFFD in place of what no store can hold, for text that a library extracted from a binary format."""
    return _UNSTORABLE.sub("\ufffd", text)


@contextmanager
def damaged(kind: str) -> Generator[None, None, None]:
    """Turn whatever a parsing library raises over bad bytes into a `ParseError` that says what could not be read."""
    try:
        yield
    except RagError:
        raise
    except Exception as error:
        # The library's own message may quote the document: it stays in the cause.
        raise ParseError(
            f"not a readable {kind} ({type(error).__name__}): it is damaged, or of another type than its name says"
        ) from error

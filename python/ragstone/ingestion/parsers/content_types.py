"""Content types: from a file's name, and from what a caller says."""

from __future__ import annotations

from email.message import Message
from mimetypes import MimeTypes
from pathlib import PurePath
from typing import Final

__all__ = ["content_type_of", "parse_content_type"]

_BY_SUFFIX: Final = {
    ".htm": "text/html",
    ".html": "text/html",
    ".log": "text/plain",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".mdown": "text/markdown",
    ".rst": "text/plain",
    ".text": "text/plain",
    ".txt": "text/plain",
    ".xhtml": "application/xhtml+xml",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pdf": "application/pdf",
}
# Python's own table only: what the machine's files add would make the answer differ from one machine to the next.
_OTHERS: Final = MimeTypes()


def content_type_of(file_name: str) -> str | None:
    """Return the MIME type that a file's name stands for, `None` where it is not known.

    Example:
        >>> content_type_of("docs/README.MD")
        'text/markdown'
    """
    suffix = PurePath(file_name).suffix.lower()
    return _BY_SUFFIX.get(suffix) or _OTHERS.types_map[True].get(suffix)


def parse_content_type(value: str) -> tuple[str, str | None]:
    """Split a content type into the MIME type, lower case, and its charset, if it names one.

    Example:
        >>> parse_content_type('Text/Plain; charset="ISO-8859-1"')
        ('text/plain', 'iso-8859-1')
    """
    header = Message()
    header["content-type"] = value
    return value.partition(";")[0].strip().lower(), header.get_content_charset()

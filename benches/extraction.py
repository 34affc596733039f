"""What wheels tell their readers: the texts of API descriptions and docstrings, one after the other."""

from __future__ import annotations

import gzip
import html
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["chunks_of", "descriptions", "packed", "program_code"]

SIZE = 512
_LEAST = SIZE // 4

_TAG = re.compile(r"<[^>]+>")
_DOCSTRING = re.compile(r"\"{3}(.*?)\"{3}|'{3}(.*?)'{3}", re.DOTALL)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n|^[ \t]*:[^:\n]*:", re.MULTILINE)
# What a generator says of every accessor, around the sentence that somebody wrote.
_ACCESSOR = re.compile(r"^(?:\*\*\[Required\]\*\* )?(?:Gets|Sets) the \S+ of this \w+\. ?")
_GENERATED = re.compile(
    r"^(?:The value to assign to|Allowed values for this|Request instance for|Initializes a new|:param)"
)


def packed(archives: Iterable[zipfile.ZipFile]) -> set[str]:
    """Return the documents: each text once, packed with its neighbours, cut into pieces of at most `SIZE`."""
    seen: set[str] = set()
    found: set[str] = set()
    for archive in archives:
        for name in sorted(archive.namelist()):
            fresh = [text for text in dict.fromkeys(descriptions(archive, name)) if text not in seen]
            seen.update(fresh)
            found.update(piece for piece in chunks_of(" ".join(fresh)) if len(piece) > _LEAST)
    return found


def chunks_of(text: str, size: int = SIZE) -> Iterator[str]:
    """Cut a text whose white space is folded at its spaces into pieces of at most `size` characters."""
    start = 0
    while len(text) - start > size:
        cut = text.rfind(" ", start + 1, start + size + 1)
        end = cut if cut > 0 else start + size
        yield text[start:end]
        start = end + (cut > 0)
    if start < len(text):
        yield text[start:]


def program_code(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the Python source of a wheel in stretches of 2,000 characters."""
    names = sorted(name for name in archive.namelist() if name.endswith(".py"))
    source = "".join(archive.read(name).decode() for name in names)
    return (source[start : start + 2000] for start in range(0, len(source), 2000))


def descriptions(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """Yield what one file says to its readers, white space folded, tags taken out."""
    if name.endswith(("service-2.json.gz", "service-2.json")):
        content = archive.read(name)
        content = gzip.decompress(content) if name.endswith(".gz") else content
        yield from map(_plain, _values(json.loads(content), "documentation"))
    elif "/discovery_cache/documents/" in name and name.endswith(".json"):
        yield from map(_plain, _values(json.loads(archive.read(name)), "description"))
    elif name.endswith(".py"):
        yield from _docstrings(archive.read(name).decode(errors="replace"))


def _values(node: Any, key: str) -> Iterator[str]:
    """Yield the strings under `key`, at any depth, in order."""
    if isinstance(node, list):
        for item in node:
            yield from _values(item, key)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name == key and isinstance(item, str):
                yield item
            else:
                yield from _values(item, key)


def _docstrings(source: str) -> Iterator[str]:
    """Yield the paragraphs and fields of the long strings, those that only repeat a name left out."""
    for match in _DOCSTRING.finditer(source):
        for paragraph in _PARAGRAPHS.split(match[1] or match[2] or ""):
            text = _ACCESSOR.sub("", _plain(paragraph))
            if " " in text and not _GENERATED.match(text):
                yield text


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())

"""The blocks of Markdown text with exact offsets, for the parser and the chunker alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["blocks", "heading_title", "line_starts"]

_LINE_END: Final = re.compile(r"\r\n?|\n")


@cache
def _markdown() -> MarkdownIt:
    # CommonMark with tables, blocks alone: what stands inside a block is not looked at.
    return MarkdownIt("commonmark").enable("table").disable("inline")


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark")


def line_starts(text: str, start: int, end: int) -> list[int]:
    """Return where each line of `text[start:end]` begins, as markdown-it counts lines, and `end` last."""
    return [start, *(match.end() for match in _LINE_END.finditer(text, start, end)), end]


def blocks(text: str) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Yield the top-level blocks of Markdown text: the token that opens each, and all its tokens with that one first.

    Headings inside of lists and quotations are part of those. `token.map` gives first line and one past the last.
    """
    block: list[Token] = []
    for token in _markdown().parse(text):
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block[0], block
            block = []


def heading_title(content: str) -> str:
    """Return the plain text of a heading's content: emphasis, links and code without their marks, on one line."""
    (inline,) = _inline().parseInline(content)
    return " ".join("".join(_plain(inline.children or ())).split())


def _plain(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            yield " "
        elif token.children:
            yield from _plain(token.children)
        elif token.type in {"text", "code_inline", "text_special"}:
            yield token.content

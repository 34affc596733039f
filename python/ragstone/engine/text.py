"""Text analysis: the terms that keyword search counts, and sentences."""

from __future__ import annotations

from typing import Final

from ragstone import _core

__all__ = ["ANALYZER", "sentence_spans", "tokenize"]

ANALYZER: Final[str] = _core.ANALYZER
"""Names the rules of `tokenize` and the Unicode versions behind them: two indexes with equal names agree on terms."""


def tokenize(text: str) -> list[str]:
    """Return the terms of a text, in order and with repeats.

    The text is normalised to NFKC. Terms are its maximal runs of letters and numbers, each with the marks that follow
    it, in lower case. Runs of Han, Hiragana, Katakana and Hangul become overlapping pairs of characters; a lone one is
    a term. Nothing is stemmed and no word is left out.

    Raises:
        InvalidInputError: The text holds half of a surrogate pair, which is no character.

    Example:
        >>> tokenize("The quick-brown fox")
        ['the', 'quick', 'brown', 'fox']
        >>> tokenize("GPT模型训练v2")
        ['gpt', '模型', '型训', '训练', 'v2']
    """
    return _core.tokenize(text)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the span of each sentence (Unicode Standard Annex #29).

    Spans are half-open code-point offsets, so that `text[start:end]` is the sentence with the white space that follows
    it; together they cover the text.

    Raises:
        InvalidInputError: The text holds half of a surrogate pair, which is no character.

    Example:
        >>> text = "It rains. Does it? 是的。"
        >>> [text[start:end] for start, end in sentence_spans(text)]
        ['It rains. ', 'Does it? ', '是的。']
    """
    return _core.sentence_spans(text)

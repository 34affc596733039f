"""Counting tokens, finding them in a text, and fitting texts into a budget of them.

The vocabularies of `cl100k_base` and `o200k_base` are part of the package; nothing is downloaded. Counts equal those
of `tiktoken`'s `encode_ordinary`: what looks like a special token in a text, such as `<|endoftext|>`, counts as text.
Other encodings come through `TiktokenCounter` and `TokenizerJsonCounter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, NamedTuple

from ragstone import _core
from ragstone.errors import ConfigurationError, InvalidInputError
from ragstone.extras import require
from ragstone.ports import TokenCounter
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = [
    "Budget",
    "EncodingCounter",
    "TiktokenCounter",
    "TokenizerJsonCounter",
    "count_tokens",
    "count_tokens_many",
    "fit_budget",
    "token_spans",
]


def count_tokens(text: str, *, encoding: str = "cl100k_base") -> int:
    """Return the number of tokens of a text.

    Args:
        text: Any text.
        encoding: `cl100k_base` or `o200k_base`. Its tables are built on first use.

    Raises:
        ConfigurationError: The encoding is not one of the two.
        InvalidInputError: The text holds half of a surrogate pair.

    Example:
        >>> count_tokens("hello world"), count_tokens("<|endoftext|>")
        (2, 7)
    """
    return _core.count_tokens(text, encoding)


def count_tokens_many(texts: Sequence[str], *, encoding: str = "cl100k_base") -> list[int]:
    """Return the number of tokens of each text, counted on several threads where there is much to count.

    Arguments and errors are those of `count_tokens`; an error names the text by its place.

    Example:
        >>> count_tokens_many(["hello", "hello world", ""])
        [1, 2, 0]
    """
    return _core.count_tokens_many(_several(texts), encoding)


def token_spans(text: str, *, encoding: str = "cl100k_base") -> list[tuple[int, int]]:
    """Return where each token stands: `text[start:end]`, in Unicode code points.

    The spans follow each other without a gap and cover the text. Where several tokens share a character, as they do for
    characters that are rare in the vocabulary, they make one span, so there may be fewer spans than tokens. Arguments
    and errors are those of `count_tokens`.

    Example:
        >>> text = "tokens of text"
        >>> [text[start:end] for start, end in token_spans(text)]
        ['tokens', ' of', ' text']
    """
    return _core.token_spans(text, encoding)


class EncodingCounter:
    """A `TokenCounter` for an encoding that comes with the package.

    Args:
        encoding: `cl100k_base` or `o200k_base`.

    Raises:
        ConfigurationError: The encoding is not one of the two.

    Example:
        >>> EncodingCounter("o200k_base").count(["hello world"])
        [2]
    """

    __slots__ = ("encoding",)

    def __init__(self, encoding: str = "cl100k_base") -> None:
        _core.count_tokens_many([], encoding)
        self.encoding = encoding

    def __repr__(self) -> str:
        return f"EncodingCounter({self.encoding!r})"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; special tokens in a text count as text."""
        return _core.count_tokens_many(_several(texts), self.encoding)


class TiktokenCounter:
    """A `TokenCounter` for any encoding of the package `tiktoken` (extra `tiktoken`).

    tiktoken fetches the vocabulary of a named encoding when it is first used, unless `TIKTOKEN_CACHE_DIR` holds it.

    Args:
        encoding: A name that `tiktoken.get_encoding` knows, or a `tiktoken.Encoding`.

    Raises:
        MissingDependencyError: tiktoken is not installed.
        ConfigurationError: tiktoken knows no encoding of this name, or could not fetch it.
    """

    __slots__ = ("_encoding",)

    def __init__(self, encoding: str | Encoding) -> None:
        self._encoding = _tiktoken_encoding(encoding) if isinstance(encoding, str) else encoding

    def __repr__(self) -> str:
        return f"TiktokenCounter({self._encoding.name!r})"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; special tokens in a text count as text."""
        return [len(self._encoding.encode_ordinary(text)) for text in _several(texts)]


class TokenizerJsonCounter:
    """A `TokenCounter` for a `tokenizer.json`, the format of the package `tokenizers` (extra `onnx`).

    Counts the tokens of the bare text: none that a model's template adds, nothing cut off, nothing padded.

    Args:
        path: The file.

    Raises:
        MissingDependencyError: tokenizers is not installed.
        ConfigurationError: The file cannot be read as a tokenizer.
    """

    __slots__ = ("_path", "_tokenizer")

    def __init__(self, path: str | PathLike[str]) -> None:
        tokenizers = require("tokenizers", extra="onnx", purpose="Counting tokens with a tokenizer.json")
        self._path = fspath(path)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(self._path)
        except Exception as error:  # tokenizers raises bare Exceptions
            raise ConfigurationError(f"path must be a readable tokenizer.json, not {self._path!r}: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True

    def __repr__(self) -> str:
        return f"TokenizerJsonCounter({self._path!r})"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; special tokens in a text count as text."""
        encodings = self._tokenizer.encode_batch(list(_several(texts)), add_special_tokens=False)
        return [len(encoding) for encoding in encodings]


class Budget(NamedTuple):
    """What fits.

    Attributes:
        kept: How many texts are kept, from the best ranked on.
        counts: The tokens of every text, kept or not.
        total: The tokens of the kept texts together, at most the budget.
    """

    kept: int
    counts: list[int]
    total: int


def fit_budget(texts: Sequence[str], max_tokens: int, *, counter: TokenCounter | None = None) -> Budget:
    """Drop whole texts, the lowest ranked first, until the rest has at most `max_tokens`.

    What is kept is the longest prefix that fits. No text is cut short, and a small text behind one that does not fit
    goes as well: rank decides, not size. Where the first text alone is too large, nothing is kept. Each text is counted
    on its own; what a prompt puts between them is not counted.

    Args:
        texts: Best ranked first.
        max_tokens: The budget, at least 1.
        counter: What counts; `None` is `EncodingCounter("cl100k_base")`.

    Raises:
        ConfigurationError: `max_tokens` is below 1.
        InvalidInputError: The counter did not give one count of at least 0 a text.

    Example:
        >>> fit_budget(["one two", "one two three four five", "one"], 6)
        Budget(kept=1, counts=[2, 5, 1], total=2)
    """
    require_at_least("max_tokens", max_tokens, 1)
    texts = _several(texts)
    counts = count_tokens_many(texts) if counter is None else counter.count(texts)
    if len(counts) != len(texts):
        raise InvalidInputError(f"{counter!r} gave {len(counts)} counts for {len(texts)} texts")
    if counts and min(counts) < 0:
        raise InvalidInputError(f"{counter!r} counted {min(counts)} tokens in a text")
    kept, total = _core.fit_budget(counts, max_tokens)
    return Budget(kept, counts, total)


def _tiktoken_encoding(name: str) -> Encoding:
    tiktoken = require("tiktoken", extra="tiktoken", purpose="Counting tokens with tiktoken")
    try:
        encoding: Encoding = tiktoken.get_encoding(name)
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"tiktoken cannot load the encoding {name!r}: {error}") from error
    return encoding


def _several(texts: Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise InvalidInputError("texts must be a sequence of strings, not one string")
    return texts

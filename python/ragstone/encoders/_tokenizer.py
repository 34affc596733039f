"""The package `tokenizers`, whose type stubs are partial, behind the few calls that an encoder makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragstone.errors import ConfigurationError
from ragstone.extras import require

__all__ = ["ModelTokenizer", "Tokens"]


class Tokens(NamedTuple):
    """One text as a model reads it; all tokens count, there is no padding."""

    ids: list[int]
    type_ids: list[int]


class ModelTokenizer:
    """Turns texts into the token ids of a model, cut at a number of tokens.

    Args:
        path: `tokenizer.json`, or a `.txt` with one WordPiece a line, which is read as BERT's uncased tokenizer.
        max_tokens: Where a text is cut, the model's special tokens included.

    Raises:
        ConfigurationError: The file is no tokenizer, or `max_tokens` leaves no room beside the special tokens.
    """

    __slots__ = ("_tokenizer", "padding_id", "vocabulary")

    def __init__(self, path: Path, *, max_tokens: int) -> None:
        require("tokenizers", extra="onnx", purpose="Reading a model's tokenizer")
        tokenizer = _word_pieces(path) if path.suffix == ".txt" else _tokenizer_json(path)
        special = tokenizer.num_special_tokens_to_add(is_pair=False)
        if max_tokens <= special:
            raise ConfigurationError(f"max_tokens must be above {special}, the special tokens, not {max_tokens}")
        padding: Any = tokenizer.padding
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens)
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self.padding_id = 0 if padding is None else int(padding["pad_id"])
        """What fills up a batch; masked, so that it never counts."""
        self.vocabulary = int(tokenizer.get_vocab_size(with_added_tokens=True))
        """How many entries it has."""

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise; a special token written out in a text counts as text."""
        return [Tokens(encoding.ids, encoding.type_ids) for encoding in self._tokenizer.encode_batch(list(texts))]

    @property
    def pair_overhead(self) -> int:
        """How many special tokens go into a pair of texts."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=True))

    def encode_pairs(self, first: str, seconds: Sequence[str]) -> list[Tokens]:
        """Tokenise a text together with each of the others; of a pair that is too long, the longer text is cut."""
        pairs = [(first, second) for second in seconds]
        return [Tokens(encoding.ids, encoding.type_ids) for encoding in self._tokenizer.encode_batch(pairs)]

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return which share of the texts' tokens, special ones aside, stands for something unknown; 0 without any."""
        unknown = self._tokenizer.token_to_id(getattr(self._tokenizer.model, "unk_token", None) or "<unk>")
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        total = sum(len(encoding.ids) for encoding in encodings)
        return sum(encoding.ids.count(unknown) for encoding in encodings) / total if total else 0.0


def _tokenizer_json(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises plain Exception
        raise ConfigurationError(f"{path} is no tokenizer.json that 'tokenizers' can read: {error}") from error


def _word_pieces(path: Path) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    try:
        ids = models.WordPiece.read_file(str(path))
    except Exception as error:  # as above
        raise ConfigurationError(f"{path} is no WordPiece vocabulary: {error}") from error
    missing = [token for token in ("[UNK]", "[CLS]", "[SEP]") if token not in ids]
    if missing:
        raise ConfigurationError(f"{path} is no vocabulary of BERT's kind: it lacks {', '.join(missing)}")
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return tokenizer

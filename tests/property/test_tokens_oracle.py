"""Token counts and spans against Python's tiktoken, offline."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.tokens import count_tokens_many, token_spans
from support.vocabularies import tiktoken_encoding

ENCODINGS = ["cl100k_base", "o200k_base"]
SPACES = " \t\n\r\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff"
# What the patterns tell apart: contractions and what folds to their letters, runs of digits, slashes behind
# punctuation, letters of every case, marks, scripts without spaces.
PIECES = [
    *["hello", "Don't", "I'LL", "we\u2019ve", "'\u017f", "'\u212a", " 's", "CamelCaseXML", "naïve", "straße", "ǅabc"],
    *["ʰa", "ªb", "12345", "١٢٣٤", "½²Ⅷ〇", ".\n/", "...\r\n", "#!/usr/bin", "<|endoftext|>", "日本語の文", "한국어"],
    *["ไทย", "हिन्दी", "э́тот", "🤷🏽\u200d♀️", "e\u0301", "\u0301", "ＡＢｃ１２", "\n  ", "\r\n\r\n", "\t\t"],
]
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=SPACES + "a1.'", max_size=40),
    st.lists(st.sampled_from(PIECES + list(SPACES)), max_size=25).map("".join),
    st.lists(st.tuples(st.sampled_from(PIECES + list(SPACES)), st.integers(1, 5)), max_size=8).map(
        lambda runs: "".join(piece * times for piece, times in runs)
    ),
)


def agree(name, texts):
    encoding = tiktoken_encoding(name)
    assert count_tokens_many(texts, encoding=name) == [len(encoding.encode_ordinary(text)) for text in texts]


@pytest.mark.row("C5")
@pytest.mark.parametrize("name", ENCODINGS)
@given(texts=st.lists(TEXTS, min_size=1, max_size=12))
def test_counts_are_tiktokens(name, texts):
    agree(name, texts)


@pytest.mark.row("C5")
@pytest.mark.parametrize("name", ENCODINGS)
def test_counts_of_real_files_are_tiktokens(name):
    root = Path(__file__).parents[2]
    files = sorted([*root.glob("*.md"), *root.glob("python/ragstone/**/*.py"), *root.glob("rust/**/src/**/*.rs")])
    assert len(files) > 20
    agree(name, [file.read_bytes().decode() for file in files])


@pytest.mark.row("C5")
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("run", ["a", "A", "7", " ", "\n", "\r\n", "!", "日", "é", "🦀", "\u0301", "aB", " \n", "'s"])
def test_counts_of_long_runs_are_tiktokens(name, run):
    agree(name, [run * 3000, "x" + run * 2999 + "x"])


@pytest.mark.row("C5")
@pytest.mark.parametrize("name", ENCODINGS)
@given(text=TEXTS)
def test_spans_tile_the_text_where_tokens_end(name, text):
    encoding = tiktoken_encoding(name)
    raw, ends = text.encode(), []
    position = 0
    for piece in encoding.decode_tokens_bytes(encoding.encode_ordinary(text)):
        position += len(piece)
        if position == len(raw) or raw[position] & 0xC0 != 0x80:
            ends.append(len(raw[:position].decode()))
    assert token_spans(text, encoding=name) == list(zip([0, *ends], ends, strict=False))

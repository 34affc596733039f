from itertools import pairwise

import pytest

from ragstone.engine.tokens import count_tokens
from ragstone.errors import ConfigurationError
from ragstone.ingestion import TokenChunker
from support.documents import plain, texts


def cut(text: str, max_tokens: int, overlap: int = 0, encoding: str = "cl100k_base") -> list[str]:
    return texts(TokenChunker(max_tokens=max_tokens, overlap=overlap, encoding=encoding).chunk(plain(text), "doc"))


@pytest.mark.row("H3")
@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_chunks_are_filled_to_the_cap(encoding: str) -> None:
    chunks = cut(" ".join(f"word{number}" for number in range(300)), 50, encoding=encoding)
    counts = [count_tokens(chunk, encoding=encoding) for chunk in chunks]
    assert max(counts) <= 50
    assert min(counts[:-1]) >= 40


def test_sentences_are_preferred() -> None:
    text = "The first sentence is here. The second one is here. And a third."
    assert cut(text, 13) == ["The first sentence is here. The second one is here.", "And a third."]


def test_tokens_overlap() -> None:
    text = " ".join(f"w{number}" for number in range(100))
    chunks = TokenChunker(max_tokens=30, overlap=10).chunk(plain(text), "doc")
    shared = [text[after.start : before.end] for before, after in pairwise(chunks)]
    assert all(0 < count_tokens(part) <= 10 for part in shared)


@pytest.mark.parametrize("text", ["👩‍👩‍👧" * 40, "𝒳" * 100, "\u0e01\u0e33" * 50])
def test_characters_of_several_tokens_are_never_split(text: str) -> None:
    chunks = cut(text, 4)
    assert "".join(chunks) == text
    assert max(map(count_tokens, chunks)) <= 4


def test_text_like_a_special_token_is_text() -> None:
    assert cut("<|endoftext|> and on", 64) == ["<|endoftext|> and on"]


def test_a_cap_below_one_character_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_tokens must be at least 4, not 3"):
        TokenChunker(max_tokens=3, overlap=0)


def test_an_unknown_encoding_is_refused_at_construction() -> None:
    with pytest.raises(ConfigurationError, match="klingon"):
        TokenChunker(encoding="klingon")

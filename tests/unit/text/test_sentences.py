"""Sentences: Unicode's boundaries as code-point spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.text import sentence_spans
from ragstone.errors import InvalidInputError


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. Does it? Yes!", ["It rains. ", "Does it? ", "Yes!"]),
        ("Version 3.5 of e.g. this is out.", ["Version 3.5 of e.g. this is out."]),
        ("𠮷野家。次は？ はい", ["𠮷野家。", "次は？ ", "はい"]),
        ("One line\nanother", ["One line\n", "another"]),
        ("", []),
        ("  ", ["  "]),
    ],
)
def test_boundaries(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(st.sampled_from("aÜ 𠮷。.!?\n\r\u0301😀\u2029\"')")))
def test_spans_cover_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text
    assert all(start < end for start, end in sentence_spans(text))


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="position 0"):
        sentence_spans("\udc00")

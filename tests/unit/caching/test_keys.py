"""Keys: nothing that differs shares one, and what cannot be told apart has none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.caching.keys import Undescribable, key_of
from ragstone.options import EnsembleOptions
from ragstone.specifications import DocumentIdSpec, HasTagSpec, MinScoreSpec, Spec

VALUES = [
    None, True, False, 0, 1, 1.5, "", "1", "True", "null", [], ["a"], [["a"]], {}, {"a": 1}, {"a": True}, {"a": "1"},
    {"a": 1, "b": 2}, [["a", 1]], datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00+00:00",
    {"datetime": "2024-01-01T00:00:00+00:00"}, {"mapping": [["a", 1]]}, EnsembleOptions(), EnsembleOptions(k=61),
    EnsembleOptions(dense_weight=0.5), MinScoreSpec(0.1234567), MinScoreSpec(0.1234568), DocumentIdSpec("a"),
    HasTagSpec("document_id", "a"), HasTagSpec("a", "b' or c = 'd"), HasTagSpec("a", "b") | HasTagSpec("c", "d"),
    HasTagSpec("a", "b") & HasTagSpec("c", "d"), ~HasTagSpec("a", "b"), HasTagSpec("a", 1), HasTagSpec("a", value=True),
]  # fmt: skip


@pytest.mark.row("G8")
def test_values_of_different_kinds_have_different_keys():
    keys = [key_of("result", value) for value in VALUES]
    assert len(set(keys)) == len(VALUES)
    assert keys == [key_of("result", value) for value in VALUES]
    assert key_of("answer", "x") != key_of("result", "x")
    assert key_of("result", "a", "b") != key_of("result", "ab")
    assert key_of("result", "a", "b") != key_of("result", ["a", "b"])


@pytest.mark.row("G8")
def test_the_order_of_a_mapping_and_the_zone_of_an_instant_change_nothing():
    assert key_of("r", {"a": 1, "b": 2}) == key_of("r", {"b": 2, "a": 1})
    there = datetime(2024, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    assert key_of("r", there) == key_of("r", datetime(2024, 1, 1, tzinfo=UTC)) == key_of("r", datetime(2024, 1, 1))  # noqa: DTZ001


@dataclass(frozen=True)
class Named(Spec):
    word: str


@dataclass
class Changing(Spec):
    word: str


@pytest.mark.row("G8")
def test_what_cannot_be_described_has_no_key():
    @dataclass(frozen=True)
    class Local(Spec):
        word: str

    for value in (lambda _: True, object(), {1: 2}, b"bytes", {1, 2}, Local("a"), Changing("a"), Named("a") & len):
        with pytest.raises(Undescribable):
            key_of("result", value)
    assert key_of("result", Named("a")) != key_of("result", Named("b"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def strict(value):
    """The value with its kinds, so that `==` tells True from 1."""
    if isinstance(value, dict):
        return ("dict", frozenset((key, strict(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(map(strict, value)))
    return (type(value).__name__, value)


@pytest.mark.row("G8")
@given(JSON, JSON)
def test_keys_are_equal_exactly_where_values_are(left, right):
    assert (key_of("r", left) == key_of("r", right)) is (strict(left) == strict(right))

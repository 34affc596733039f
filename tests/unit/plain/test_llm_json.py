"""JSON in what a model says."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.llm_json import first_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.row("F7")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '```json\n{"sufficient": false, "subQueries": ["a [1]", "b"]}\n```\nSee [docs].',
            {"sufficient": False, "subQueries": ["a [1]", "b"]},
            marks=pytest.mark.case("S-048"),
        ),
        pytest.param(
            'Sure: {"sufficient": true, "subQueries": []} Note [1].',
            {"sufficient": True, "subQueries": []},
            marks=pytest.mark.case("S-048"),
        ),
        pytest.param(
            '{"sufficient": false, "subQueries": ["use ```json fences"]}',
            {"sufficient": False, "subQueries": ["use ```json fences"]},
            marks=pytest.mark.case("S-048"),
        ),
        pytest.param(
            'Use `x` {not json} then {"sufficient": false, "subQueries": ["what is `}`?", "", "  ", 7, null]}',
            {"sufficient": False, "subQueries": ["what is `}`?", "", "  ", 7, None]},
            marks=pytest.mark.case("S-085"),
        ),
        pytest.param("[]", None, marks=pytest.mark.case("S-085")),
        pytest.param('{"sufficient": false', None, marks=pytest.mark.case("S-085")),
        ('{"a": {"b": "} {"}} {"c": 1}', {"a": {"b": "} {"}}),
        ('{{"a": 1}}', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"quote": "she said \\"}\\""}', {"quote": 'she said "}"'}),
        ("", None),
        ("no braces", None),
        ('{"a": NaN} {"a": 1}', None),
        ("{'a': 1}", None),
        ('{"outer": {"sufficient": true}', None),
        ('{"cut": "in a string', None),
    ],
)
def test_the_first_complete_object_is_read(text, expected):
    assert first_object(text) == expected


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.text(st.characters(exclude_characters="{")))
def test_whatever_stands_around_an_object_makes_no_difference(value, prose):
    assert first_object(f"{prose}\n```json\n{json.dumps(value)}\n```\n{prose}") == value


@given(st.text(alphabet='{}[]",:ab1\\ ', max_size=80))
def test_no_text_makes_it_fail(text):
    value = first_object(text)
    assert value is None or isinstance(value, dict)


@pytest.mark.parametrize("text", ["{" * 20_000, '{"a":' * 20_000, '{"a":' * 20_000 + "}", "{1" * 20_000])
def test_a_hostile_answer_takes_no_time(text):
    started = time.perf_counter()
    assert first_object(text) is None
    assert time.perf_counter() - started < 1.0

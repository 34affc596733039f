"""Typed metadata: kinds never cross, and what cannot be compared is refused."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import InvalidInputError, MetadataError
from ragstone.metadata import (
    MAX_INTEGER,
    check_filter,
    check_metadata,
    matches,
    metadata_from_json,
    metadata_to_json,
)
from ragstone.models import DocumentMetadata, TextChunk
from ragstone.options import RetrievalOptions

NOON = datetime(2025, 2, 3, 12, 45, 46, tzinfo=UTC)

values = st.one_of(
    st.sampled_from(["", "a", "true", "1", "1.0"]),
    st.sampled_from([0, 1, 3, -1, MAX_INTEGER]),
    st.sampled_from([0.0, -0.0, 1.0, 0.5]),
    st.booleans(),
    st.sampled_from([NOON, NOON.astimezone(timezone(timedelta(hours=2))), datetime(2025, 2, 3, 12, 45, 46)]),  # noqa: DTZ001
)
metadata = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def plain_match(held, wanted):
    """The definition again, by another road: a (kind, canonical value) pair for each entry."""

    def canonical(value):
        match value:
            case bool():
                return ("bool", value)
            case int() | float():
                return ("number", float(value))
            case datetime():
                return ("date", (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
            case _:
                return ("text", value)

    return all(key in held and canonical(held[key]) == canonical(value) for key, value in wanted.items())


@pytest.mark.row("G5")
@given(held=metadata, wanted=metadata)
def test_matching_is_typed_equality_of_every_entry(held, wanted):
    assert matches(held, wanted) == plain_match(held, wanted)


@pytest.mark.row("G5")
@pytest.mark.case("S-029")
@pytest.mark.parametrize(
    ("wanted", "matching"), [(True, {"p1"}), (1, {"p2", "p4"}), (1.0, {"p2", "p4"}), ("true", {"p3"})]
)
def test_true_is_not_one_and_not_its_spelling(wanted, matching):
    held = {"p1": True, "p2": 1, "p3": "true", "p4": 1.0}
    assert {name for name, flag in held.items() if matches({"flag": flag}, {"flag": wanted})} == matching


@pytest.mark.row("G5")
@pytest.mark.case("S-030")
def test_a_missing_key_matches_nothing_and_an_empty_filter_everything():
    assert not matches({"good": True}, {"missing_key": "x"})
    assert matches({"good": True}, {})
    assert matches({}, None)


@pytest.mark.case("S-032")
def test_dates_compare_as_instants_and_not_as_strings():
    held = {"at": NOON}
    assert matches(held, {"at": datetime(2025, 2, 3, 14, 45, 46, tzinfo=timezone(timedelta(hours=2)))})
    assert matches(held, {"at": datetime(2025, 2, 3, 12, 45, 46)})  # noqa: DTZ001  naive means UTC
    assert not matches(held, {"at": "2025-02-03T12:45:46Z"})
    assert not matches(held, {"at": NOON + timedelta(microseconds=1)})


@pytest.mark.case("S-031")
def test_none_is_left_out_of_metadata_and_refused_in_a_filter():
    assert check_metadata({"author": None, "year": 2020}) == {"year": 2020}
    with pytest.raises(MetadataError, match="'author' is None"):
        check_filter({"author": None})
    with pytest.raises(MetadataError, match="'author' is None"):
        RetrievalOptions(metadata_filter={"author": None})  # type: ignore[dict-item]


@pytest.mark.case("S-034")
@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, MAX_INTEGER + 1, -MAX_INTEGER - 1, ["a"], {"a": 1}, b"x"]
)
def test_what_no_store_can_hold_is_refused_by_key(value):
    for check in (check_metadata, check_filter):
        with pytest.raises(MetadataError, match="'w'"):
            check({"w": value})
    with pytest.raises(MetadataError, match="'w'"):
        TextChunk("t", "d", 0, metadata={"w": value})
    with pytest.raises(ValueError, match="'w'"):
        RetrievalOptions(metadata_filter={"w": value})


@pytest.mark.parametrize("key", ["", 3, None])
def test_a_key_is_a_string_with_something_in_it(key):
    with pytest.raises(MetadataError, match="key"):
        check_metadata({key: "x"})


@pytest.mark.row("H4")
@pytest.mark.parametrize(
    "key",
    [
        "document_id",
        "chunk_index",
        "text",
        "page",
        "page_end",
        "heading",
        "heading_level",
        "created_at",
        "source.store",
    ],
)
def test_a_tag_may_not_use_a_reserved_key(key):
    with pytest.raises(MetadataError, match=f"'{key}' is a reserved"):
        DocumentMetadata(document_id="d", tags={key: "x"})
    assert TextChunk("t", "d", 0, metadata={key: "x"}).metadata == {key: "x"}


@given(held=metadata)
def test_json_keeps_values_and_kinds(held):
    back = metadata_from_json(metadata_to_json(held))
    assert back.keys() == check_metadata(held).keys()
    assert matches(back, held)
    assert matches(held, back)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"a":[1]}', '{"a":{"$date":"soon"}}', '{"a":{"b":1}}', '{"a":NaN}']
)
def test_damaged_json_is_refused(text):
    with pytest.raises(MetadataError):
        metadata_from_json(text)


def test_metadata_is_copied_so_that_a_caller_cannot_change_a_chunk():
    tags = {"a": 1}
    chunk = TextChunk("t", "d", 0, metadata=tags)
    tags["a"] = 2
    assert chunk.metadata == {"a": 1}


@pytest.mark.parametrize("document_id", ["", None, 3])
def test_a_document_id_is_a_string_with_something_in_it(document_id):
    with pytest.raises(InvalidInputError, match="document_id"):
        DocumentMetadata(document_id=document_id)

"""How chunks are kept in Qdrant: ids, payload and filters."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import models

from ragstone.errors import StoreError
from ragstone.models import ChunkKey, TextChunk
from ragstone.stores.qdrant.points import chunk_of, document_filter, metadata_filter, payload_of, point_id

NOON = datetime(2025, 2, 3, 12, 45, 46, tzinfo=UTC)


@pytest.mark.row("K3")
@pytest.mark.case("S-069")
def test_ids_are_the_same_every_time_and_never_shared():
    keys = [ChunkKey(*key) for key in (("a1", 1), ("a", 11), ("a:1", 1), ("a", 1), ("A", 1))]
    assert len({point_id(key) for key in keys}) == 5
    assert point_id(ChunkKey("handbook", 3)) == "70cea0d1-2013-574b-9835-ab8e776d5728"
    assert UUID(point_id(ChunkKey("e\u0301", 0))) != UUID(point_id(ChunkKey("é", 0)))


@pytest.mark.row("K3")
@given(st.lists(st.tuples(st.text(), st.integers(0, 10**6)), unique=True, max_size=20))
def test_no_two_chunks_share_an_id(keys):
    assert len({point_id(ChunkKey(*key)) for key in keys}) == len(keys)


@pytest.mark.row("K3")
@pytest.mark.case("S-068")
def test_each_kind_has_its_condition():
    built = metadata_filter({"confidence": 0.75, "tag": "a", "ok": True, "page": 3})
    assert built is not None
    assert built.must == [
        models.FieldCondition(key="meta_confidence", range=models.Range(gte=0.75, lte=0.75)),
        models.FieldCondition(key="meta_tag", match=models.MatchValue(value="a")),
        models.FieldCondition(key="meta_ok", match=models.MatchValue(value=True)),
        models.FieldCondition(key="meta_page", range=models.Range(gte=3, lte=3)),
    ]
    assert metadata_filter({}) is None


@pytest.mark.row("K3")
def test_a_datetime_is_no_string():
    [condition] = metadata_filter({"at": NOON}).must
    assert condition == models.FieldCondition(
        key="meta_at.date", match=models.MatchValue(value="2025-02-03T12:45:46+00:00")
    )
    assert payload_of(TextChunk("t", "d", 0, metadata={"at": NOON}))["meta_at"] == {"date": "2025-02-03T12:45:46+00:00"}


@pytest.mark.row("K3")
@pytest.mark.parametrize("key", ["a.b", 'q"', "a b", "a[0]", "ключ", "a[]"])
def test_a_key_that_would_be_a_path_is_none(key):
    [condition] = metadata_filter({key: "x"}).must
    field = condition.key
    assert field == f"metax_{key.encode().hex()}"
    assert payload_of(TextChunk("t", "d", 0, metadata={key: "x"}))[field] == "x"


@pytest.mark.row("K3")
def test_a_document_is_matched_as_it_is():
    assert document_filter("it's").must == [
        models.FieldCondition(key="document_id", match=models.MatchValue(value="it's"))
    ]


@pytest.mark.row("K3")
def test_a_chunk_comes_back_with_every_kind():
    metadata = {"s": "3", "i": 3, "f": 3.0, "b": True, "at": NOON, "text": "fake", "document_id": 7}
    chunk = TextChunk("Überstunden 🦀", "it's", 4, 10, 23, metadata)
    payload = payload_of(chunk)
    assert chunk_of(payload) == chunk
    assert [type(chunk_of(payload).metadata[key]) for key in "sifb"] == [str, int, float, bool]
    assert payload["meta_text"] == "fake"


@pytest.mark.row("K3")
@pytest.mark.parametrize(
    "payload", [None, {}, {"text": "only"}, {**payload_of(TextChunk("t", "d", 0)), "metadata": "["}]
)
def test_a_point_of_something_else_is_an_error(payload):
    with pytest.raises(StoreError, match="Qdrant holds a point that Ragstone did not write"):
        chunk_of(payload)

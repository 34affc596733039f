"""Random histories of an index directory, reopened at will, against a dictionary."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.models import StoredDocument, TextChunk
from ragstone.persistence import IndexDirectory

DIMENSIONS = 2
names = st.sampled_from(["a", "b", "B", "ä", "a b", "人"])
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.one_of(texts, st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def documents(draw: st.DrawFn, name: str) -> StoredDocument:
    indices = sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=4)))
    metadata = st.dictionaries(texts.filter(bool), values, max_size=2)
    chunks = tuple(TextChunk(draw(texts), name, index, index, index + 5, draw(metadata)) for index in indices)
    rows = draw(st.lists(st.tuples(numbers, numbers), min_size=len(indices), max_size=len(indices)))
    return StoredDocument(
        document_id=name,
        fingerprint=draw(texts),
        source=draw(st.none() | texts),
        chunks=chunks,
        vectors=np.array(rows, dtype=np.float32),
    )


puts = names.flatmap(documents)
steps = st.lists(st.one_of(puts, st.tuples(st.just("delete"), names), st.just("reopen")), max_size=12)


def opened(path: Path) -> IndexDirectory:
    return IndexDirectory.open(path, embedder_identity="model", dimensions=DIMENSIONS)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_equals_a_dictionary(history) -> None:
    model: dict[str, StoredDocument] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        index = opened(path)
        for step in history:
            if isinstance(step, StoredDocument):
                index.put(step)
                model[step.document_id] = step
            elif step == "reopen":
                index.close()
                index = opened(path)
            else:
                assert index.delete(step[1]) == (model.pop(step[1], None) is not None)
            assert index.documents() == sorted(model)
        index.close()
        with opened(path) as reopened:
            loaded = {stored.document_id: stored for stored in reopened.load()}
    assert loaded == model
    for name, stored in model.items():
        assert loaded[name].vectors.tobytes() == stored.vectors.tobytes()

"""The vector index against numpy in double precision and `matches`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.dense import VectorIndex
from ragstone.metadata import matches
from ragstone.testing._samples import METADATA

DOCUMENTS = ("a", "b", "a:1", "Ω", 7, -7)


@st.composite
def collections(draw):
    """Chunks whose vectors come from a small pool, so that many tie, the zero vector among them."""
    dimensions = draw(st.sampled_from((1, 2, 31, 32, 33, 100)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = rng.standard_normal((6, dimensions)) * 10.0 ** rng.integers(-30, 30, (6, 1))
    pool[0] = 0
    key = st.tuples(st.sampled_from(DOCUMENTS), st.integers(0, 5))
    chunks = draw(st.dictionaries(key, st.tuples(st.integers(0, 5), METADATA), max_size=25))
    return pool, chunks, rng.standard_normal(dimensions)


def order(key):
    """Integer ids before strings, then by chunk index."""
    document_id, chunk_index = key
    return isinstance(document_id, str), document_id, chunk_index


@pytest.mark.row("D1", "D2", "G5", "E7", "A5", "A6")
@given(
    collection=collections(),
    top_k=st.integers(1, 30),
    min_score=st.sampled_from((0.0, 0.3, -0.3, -1.0)),
    metadata_filter=METADATA,
)
def test_pages_equal_a_scan_in_double_precision(collection, top_k, min_score, metadata_filter):
    pool, chunks, query = collection
    index = VectorIndex()
    rows = [pool[number] for number, _ in chunks.values()]
    index.upsert(
        [key[0] for key in chunks], [key[1] for key in chunks], rows, [entries for _, entries in chunks.values()]
    )

    units = dict(zip(chunks, index.vectors(list(chunks)), strict=True))
    unit_query = query.astype(np.float32).astype(np.float64)
    unit_query /= np.linalg.norm(unit_query)
    scores = {key: float(unit.astype(np.float64) @ unit_query) for key, unit in units.items()}
    wanted = [
        key
        for key in sorted(chunks, key=lambda key: (-round(scores[key], 13), order(key)))
        if matches(chunks[key][1], metadata_filter) and (min_score == 0 or scores[key] >= min_score)
    ][:top_k]

    hits = index.search(query, top_k=top_k, min_score=min_score, metadata_filter=metadata_filter)
    assert [(hit.document_id, hit.chunk_index) for hit in hits] == wanted
    assert [hit.score for hit in hits] == pytest.approx([scores[key] for key in wanted], abs=1e-12)


@pytest.mark.row("D1")
@given(collection=collections())
def test_scores_are_the_cosines_of_what_was_given(collection):
    pool, chunks, query = collection
    index = VectorIndex(len(query))
    index.upsert([key[0] for key in chunks], [key[1] for key in chunks], [pool[n] for n, _ in chunks.values()] or [])
    norms = np.linalg.norm(pool, axis=1)
    cosines = pool @ query / np.linalg.norm(query) / np.where(norms > 0, norms, 1)
    for hit in index.search(query, top_k=30):
        number = chunks[hit.document_id, hit.chunk_index][0]
        assert hit.score == pytest.approx(cosines[number], abs=1e-6)


@pytest.mark.row("D1", "G5")
@given(
    collection=collections(),
    quantization=st.sampled_from(("int8", "binary")),
    oversampling=st.integers(1, 3),
    top_k=st.integers(1, 12),
    options=st.fixed_dictionaries({"min_score": st.sampled_from((0.0, 0.3, -0.3)), "metadata_filter": METADATA}),
)
def test_codes_choose_and_cosines_decide(collection, quantization, oversampling, top_k, options):
    pool, chunks, query = collection
    exact, index = VectorIndex(), VectorIndex(quantization=quantization, oversampling=oversampling)
    rows = [pool[number] for number, _ in chunks.values()]
    for each in (exact, index):
        each.upsert(
            [key[0] for key in chunks], [key[1] for key in chunks], rows, [entries for _, entries in chunks.values()]
        )
    every = exact.search(query, top_k=len(chunks), **options)
    hits = index.search(query, top_k=top_k, **options)
    assert hits == [hit for hit in every if hit in hits]
    eligible = sum(matches(entries, options["metadata_filter"]) for _, entries in chunks.values())
    if top_k * oversampling >= eligible:
        assert hits == every[:top_k]
    elif options["min_score"] == 0:
        assert len(hits) == top_k

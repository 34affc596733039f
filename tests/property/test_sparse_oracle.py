"""Sparse search against the dot product in plain Python, and against an index built anew."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone import SparseHit, SparseIndex, SparseVector

Chunks = dict[tuple[str, int], tuple[SparseVector, int]]
"""By key: the vector, and the group that filters ask for."""

weights = st.sampled_from([0.5, 1.0, 2.0]) | st.floats(2.0**-149, 2.0**127, width=32)
terms = st.integers(0, 9) | st.sampled_from([30521, 2**32 - 1])
vectors = st.dictionaries(terms, weights, max_size=8).map(SparseVector.from_dict)
keys = st.tuples(st.sampled_from("pqrs"), st.integers(0, 3))
collections = st.dictionaries(keys, st.tuples(vectors, st.integers(0, 2)), max_size=20)


def build(chunks: Chunks) -> SparseIndex:
    index = SparseIndex()
    groups = [{"group": group} for _, group in chunks.values()]
    index.add_many(
        [key[0] for key in chunks], [key[1] for key in chunks], [vector for vector, _ in chunks.values()], groups
    )
    return index


def defined(chunks: Chunks, query: SparseVector, top_k: int, min_score: float, group: int | None) -> list[SparseHit]:
    hits = []
    for key, (vector, held) in chunks.items():
        weights, score = vector.to_dict(), 0.0
        for term, weight in query.to_dict().items():
            score += weight * weights.get(term, 0.0)
        if score > 0 and (min_score == 0 or score >= min_score) and group in (None, held):
            hits.append(SparseHit(*key, score))
    return sorted(hits, key=lambda hit: (-hit.score, hit.document_id, hit.chunk_index))[:top_k]


@pytest.mark.row("B2")
@given(collections, vectors, st.integers(0, 25), st.sampled_from([0.0, -1.0, 1.0, 4.5]), st.none() | st.integers(0, 3))
def test_pages_are_those_of_the_dot_product(
    chunks: Chunks, query: SparseVector, top_k: int, min_score: float, group: int | None
) -> None:
    metadata_filter = None if group is None else {"group": group}
    hits = build(chunks).search(query, top_k=top_k, min_score=min_score, metadata_filter=metadata_filter)
    assert hits == defined(chunks, query, top_k, min_score, group)  # scores bit for bit


@pytest.mark.row("B2")
@given(st.integers(0, 2**32).map(random.Random), st.lists(vectors, min_size=1, max_size=5))
@settings(max_examples=5)
def test_after_a_thousand_steps_pages_are_those_of_a_new_index(rng: random.Random, queries: list[SparseVector]) -> None:
    index, chunks = SparseIndex(), {}

    def vector() -> SparseVector:
        return SparseVector.from_dict(
            {rng.randrange(40): rng.choice([0.5, 1.0, rng.random() + 0.01]) for _ in range(rng.randrange(9))}
        )

    for step in range(1000):
        document_id = f"d{rng.randrange(25)}"
        match rng.randrange(4):
            case 0:
                key, chunk = (document_id, rng.randrange(4)), (vector(), rng.randrange(3))
                index.add(*key, chunk[0], {"group": chunk[1]})
                chunks[key] = chunk
            case 1:
                batch = [(vector(), rng.randrange(3)) for _ in range(rng.randrange(1, 4))]
                groups = [{"group": group} for _, group in batch]
                index.replace_document(document_id, range(len(batch)), [chunk[0] for chunk in batch], groups)
                chunks = {key: chunk for key, chunk in chunks.items() if key[0] != document_id}
                chunks |= {(document_id, number): chunk for number, chunk in enumerate(batch)}
            case 2:
                batch = {(f"d{rng.randrange(25)}", number): (vector(), 0) for number in range(3)}
                index.add_many(*zip(*batch, strict=True), [chunk[0] for chunk in batch.values()], [{"group": 0}] * 3)
                chunks |= batch
            case _:
                kept = {key: chunk for key, chunk in chunks.items() if key[0] != document_id}
                assert index.remove(document_id) == len(chunks) - len(kept)
                chunks = kept
        if step % 100 == 99:
            fresh = build(chunks)
            assert len(index) == len(chunks)
            for group in (None, 1):
                pages = index.search_many(
                    queries, top_k=50, metadata_filter=None if group is None else {"group": group}
                )
                assert pages == fresh.search_many(
                    queries, top_k=50, metadata_filter=None if group is None else {"group": group}
                )
                assert pages == [defined(chunks, query, 50, 0.0, group) for query in queries]


@pytest.mark.row("B2")
def test_ten_thousand_chunks_against_numpy() -> None:
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((10_000, 300)) < 0.1, rng.random((10_000, 300)) + 0.01, 0).astype(np.float32)
    vectors = [SparseVector(np.flatnonzero(row), row[row > 0]) for row in dense]
    index = SparseIndex()
    index.add_many(range(len(vectors)), [0] * len(vectors), vectors)
    for query in vectors[:20]:
        wide = np.zeros(300)
        wide[query.indices] = query.values
        scores = dense.astype(np.float64) @ wide
        hits = index.search(query, top_k=50)
        order = np.lexsort((np.arange(len(scores)), -scores))[:50]
        assert [hit.document_id for hit in hits] == order.tolist()
        np.testing.assert_allclose([hit.score for hit in hits], scores[order], rtol=1e-12)

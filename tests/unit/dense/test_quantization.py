"""Codes and half precision: exact scores, high recall, and the same live index otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from ragstone.engine.dense import VectorIndex
from ragstone.errors import ConfigurationError

DIMENSIONS = 384
CHUNKS = 20_000
QUANTIZATIONS = ("int8", "binary", "f16")


def embeddings(count: int, seed: int) -> np.ndarray:
    """Unit vectors as models give them: topics around a common direction, variance that falls with the dimension."""
    centre_rng, rng = np.random.default_rng(0), np.random.default_rng(seed)
    spectrum = 1 / np.sqrt(1 + np.arange(DIMENSIONS) / 24)
    common = centre_rng.standard_normal(DIMENSIONS) * spectrum
    topics = centre_rng.standard_normal((300, DIMENSIONS)) * spectrum
    vectors = 0.5 * common + topics[rng.integers(0, 300, count)] + rng.standard_normal((count, DIMENSIONS)) * spectrum
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def collection() -> tuple[np.ndarray, np.ndarray]:
    return embeddings(CHUNKS, 1), embeddings(100, 2)


def built(vectors: np.ndarray, quantization: str | None, **options) -> VectorIndex:
    index = VectorIndex(quantization=quantization, **options)
    metadata = [{"tenth": number % 10 == 0} for number in range(len(vectors))]
    index.upsert(range(len(vectors)), [0] * len(vectors), vectors, metadata)
    return index


def recall(found, wanted) -> float:
    pages = zip(found, wanted, strict=True)
    return float(np.mean([len({hit[:2] for hit in a} & {hit[:2] for hit in b}) / len(b) for a, b in pages]))


@pytest.mark.row("D1")
@pytest.mark.parametrize(("quantization", "least"), [("int8", 0.999), ("binary", 0.98), ("f16", 0.995)])
def test_recall_at_ten(collection, quantization, least):
    vectors, queries = collection
    wanted = built(vectors, None).search_many(queries)
    assert recall(built(vectors, quantization).search_many(queries), wanted) >= least


@pytest.mark.row("D1")
@pytest.mark.parametrize("quantization", ["int8", "binary"])
def test_scores_are_exact_cosines(collection, quantization):
    vectors, queries = collection
    exact, index = built(vectors, None), built(vectors, quantization, oversampling=1)
    for query in queries[:10]:
        every = {hit[:2]: hit.score for hit in exact.search(query, top_k=CHUNKS)}
        hits = index.search(query)
        assert [hit.score for hit in hits] == [every[hit[:2]] for hit in hits]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.row("D1")
@pytest.mark.parametrize("quantization", ["int8", "binary"])
def test_enough_candidates_make_the_page_exact(collection, quantization):
    vectors, queries = collection
    exact = built(vectors[:1000], None)
    index = built(vectors[:1000], quantization, oversampling=200)
    for options in ({"top_k": 10}, {"top_k": 5, "min_score": 0.4}, {"top_k": 5, "metadata_filter": {"tenth": True}}):
        assert index.search(queries[0], **options) == exact.search(queries[0], **options)


@pytest.mark.row("D1", "G5")
@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_filters_and_removals_hold(collection, quantization):
    vectors, queries = collection
    index = built(vectors, quantization)
    best = index.search(queries[0])[0]
    assert index.remove(best.document_id) == 1
    hits = index.search(queries[0], top_k=50, metadata_filter={"tenth": True})
    assert len(hits) == 50
    assert all(hit.document_id % 10 == 0 and hit.document_id != best.document_id for hit in hits)
    index.upsert([best.document_id], [0], queries[:1])
    assert index.search(queries[0])[0][:2] == (best.document_id, 0)


@pytest.mark.row("D1")
def test_half_precision_is_what_is_scored(collection):
    vectors, queries = collection
    index = built(vectors[:500], "f16")
    stored = np.stack(index.vectors([(number, 0) for number in range(500)]))
    assert np.array_equal(stored, vectors[:500].astype(np.float16).astype(np.float32))
    unit = queries[0].astype(np.float64) / np.linalg.norm(queries[0].astype(np.float64))
    cosines = stored.astype(np.float64) @ unit
    hits = index.search(queries[0])
    assert [hit.document_id for hit in hits] == np.argsort(-cosines)[:10].tolist()
    assert [hit.score for hit in hits] == pytest.approx(np.sort(cosines)[::-1][:10], abs=1e-12)


@pytest.mark.row("D1")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantization": "int4"}, "quantization must be 'int8', 'binary', 'f16' or None, not 'int4'"),
        ({"quantization": "int8", "oversampling": 0}, "oversampling must be at least 1"),
        ({"oversampling": 3}, "oversampling must be None where quantization is neither"),
        ({"quantization": "f16", "oversampling": 3}, "oversampling must be None where quantization is neither"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        VectorIndex(**options)

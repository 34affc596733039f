"""BM25 against the formula in plain Python, against an index built anew, and against bm25s."""

import json
import math
import random
from collections import Counter
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.engine.lexical import Bm25Hit, Bm25Index
from ragstone.engine.text import tokenize

K1, B = 1.5, 0.75
SCIFACT = Path(__file__).parents[2] / "examples" / "scifact"

Key = tuple[str, int]
Chunks = dict[Key, tuple[str, int]]
"""By key: the text, and the group that filters ask for."""

words = st.sampled_from(["a", "b", "c", "d", "rare", "naïve", "人工智", "한국"])
texts = st.lists(words, max_size=8).map(" ".join)
keys = st.tuples(st.sampled_from("pqrs"), st.integers(0, 3))
collections = st.dictionaries(keys, st.tuples(texts, st.integers(0, 2)), max_size=20)


def build(chunks: Chunks) -> Bm25Index:
    index = Bm25Index(k1=K1, b=B)
    document_ids, chunk_indices = [key[0] for key in chunks], [key[1] for key in chunks]
    groups = [{"group": group} for _, group in chunks.values()]
    index.add_many(document_ids, chunk_indices, [text for text, _ in chunks.values()], groups)
    return index


def defined(chunks: Chunks, query: str, top_k: int, group: int | None) -> list[Bm25Hit]:
    counts = {key: Counter(tokenize(text)) for key, (text, _) in chunks.items()}
    average = sum(count.total() for count in counts.values()) / max(1, len(counts))
    hits = []
    for key, count in counts.items():
        score = 0.0
        for term, frequency in Counter(tokenize(query)).items():
            if count[term]:
                holding = sum(term in other for other in counts.values())
                idf = math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
                norm = K1 * (1 - B + B * count.total() / average)
                score += frequency * idf * (count[term] / (count[term] + norm))
        if score > 0 and group in (None, chunks[key][1]):
            hits.append(Bm25Hit(*key, score))
    return sorted(hits, key=lambda hit: (-hit.score, hit.document_id, hit.chunk_index))[:top_k]


def close(hits: list[Bm25Hit], rel: float) -> list[Bm25Hit]:
    return [hit._replace(score=pytest.approx(hit.score, rel=rel)) for hit in hits]


@pytest.mark.row("A3", "A5", "A6", "A7")
@given(collections, texts, st.integers(0, 25), st.none() | st.integers(0, 3))
def test_pages_are_those_of_the_formula(chunks: Chunks, query: str, top_k: int, group: int | None) -> None:
    metadata_filter = None if group is None else {"group": group}
    hits = build(chunks).search(query, top_k=top_k, metadata_filter=metadata_filter)
    assert hits == close(defined(chunks, query, top_k, group), rel=1e-12)


@pytest.mark.row("A4", "A6")
@given(st.integers(0, 2**32).map(random.Random), st.lists(texts, min_size=1, max_size=5))
@settings(max_examples=5)
def test_after_a_thousand_steps_scores_are_those_of_a_new_index(rng: random.Random, queries: list[str]) -> None:
    index, chunks = Bm25Index(k1=K1, b=B), {}
    vocabulary = ["a", "b", "c", "d", "naïve", "人工智", *(f"w{number}" for number in range(40))]

    def text() -> str:
        return " ".join(rng.choices(vocabulary, k=rng.randrange(9)))

    for step in range(1000):
        document_id = f"d{rng.randrange(25)}"
        match rng.randrange(4):
            case 0:
                key, chunk = (document_id, rng.randrange(4)), (text(), rng.randrange(3))
                index.add(*key, chunk[0], {"group": chunk[1]})
                chunks[key] = chunk
            case 1:
                batch = [(text(), rng.randrange(3)) for _ in range(rng.randrange(1, 4))]
                groups = [{"group": group} for _, group in batch]
                index.replace_document(document_id, range(len(batch)), [chunk[0] for chunk in batch], groups)
                chunks = {key: chunk for key, chunk in chunks.items() if key[0] != document_id}
                chunks |= {(document_id, number): chunk for number, chunk in enumerate(batch)}
            case 2:
                batch = {(f"d{rng.randrange(25)}", number): (text(), 0) for number in range(3)}
                index.add_many(*zip(*batch, strict=True), [chunk[0] for chunk in batch.values()], [{"group": 0}] * 3)
                chunks |= batch
            case _:
                kept = {key: chunk for key, chunk in chunks.items() if key[0] != document_id}
                assert index.remove(document_id) == len(chunks) - len(kept)
                chunks = kept
        if step % 100 == 99:
            fresh = build(chunks)
            assert len(index) == len(chunks)
            for metadata_filter in (None, {"group": 1}):
                pages = index.search_many(queries, top_k=50, metadata_filter=metadata_filter)
                assert pages == fresh.search_many(queries, top_k=50, metadata_filter=metadata_filter)


@pytest.mark.row("A6", "A7")
@given(st.integers(0, 2**32).map(random.Random))
@settings(max_examples=3, deadline=None)
def test_what_a_search_leaves_out_is_never_missed(rng: random.Random) -> None:
    vocabulary = [f"w{int(rng.paretovariate(0.7))}" for _ in range(2000)]
    texts = [" ".join(rng.choices(vocabulary, k=rng.randrange(30))) for _ in range(10_000)]
    index = Bm25Index(k1=K1, b=B)
    index.add_many(range(10_000), [0] * 10_000, texts, [{"group": number % 10} for number in range(10_000)])
    for document_id in rng.sample(range(10_000), 1500):
        index.remove(document_id)
    for query in (" ".join(rng.choices(vocabulary, k=length)) for length in (1, 2, 5, 10, 40)):
        for metadata_filter in (None, {"group": 1}):
            everything = index.search(query, top_k=10_000, metadata_filter=metadata_filter)
            for top_k in (1, 10, 100):
                assert index.search(query, top_k=top_k, metadata_filter=metadata_filter) == everything[:top_k]


def read(name: str) -> list[dict[str, str]]:
    with (SCIFACT / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.row("A3", "A6")
def test_scores_equal_those_of_bm25s_on_scifact() -> None:
    corpus = {document["_id"]: f"{document['title']} {document['text']}" for document in read("corpus.jsonl")}
    index = Bm25Index(k1=K1, b=B)
    index.add_many(list(corpus), [0] * len(corpus), list(corpus.values()))
    peer = bm25s.BM25(method="lucene", k1=K1, b=B)
    peer.index([tokenize(text) for text in corpus.values()], show_progress=False)
    queries = [query["text"] for query in read("queries.jsonl")]
    assert (len(corpus), len(queries)) >= (1000, 300)
    for query in queries:
        terms = [term for term in tokenize(query) if term in peer.vocab_dict]
        expected = dict(zip(corpus, map(float, peer.get_scores(terms)), strict=True))
        hits = index.search(query, top_k=len(corpus))
        assert {hit.document_id for hit in hits} == {name for name, score in expected.items() if score > 0}
        np.testing.assert_allclose([hit.score for hit in hits], [expected[hit.document_id] for hit in hits], rtol=1e-5)

"""What an index says that it takes."""

import pytest

from ragstone.engine.lexical import Bm25Index, Bm25Memory


def filled(chunks: int) -> Bm25Index:
    """An index of so many chunks of 12 terms out of 2,000, ten of them distinct."""
    index = Bm25Index()
    texts = [
        " ".join(f"w{number * step % 1999}" for step in range(1, 11)) + " again again" * (number % 2 == 0)
        for number in range(1, chunks + 1)
    ]
    index.add_many(range(chunks), [0] * chunks, texts)
    return index


def test_an_empty_index_holds_nothing() -> None:
    usage = Bm25Index().memory_usage()
    assert (usage.chunks, usage.postings, usage.lists, usage.forward) == (0, 0, 0, 0)


def test_postings_are_pairs_of_a_chunk_and_a_distinct_term() -> None:
    index = Bm25Index()
    index.add_many(["a", "a", "b"], [0, 1, 0], ["red red kite", "", "kite"])
    usage = index.memory_usage()
    assert (usage.chunks, usage.postings) == (3, 3)
    assert usage.total == usage.lists + usage.forward + usage.documents + usage.vocabulary
    index.clear()
    assert index.memory_usage()[:2] == (0, 0)


def test_what_is_left_behind_is_given_back() -> None:
    index = filled(2000)
    full = index.memory_usage()
    for number in range(1400):
        index.remove(number)
    left = index.memory_usage()
    assert 600 <= left.chunks <= 800
    assert left.lists < full.lists
    assert left.forward < full.forward


@pytest.mark.row("A3")
def test_a_full_segment_takes_three_bytes_a_posting_and_a_few_for_bounds() -> None:
    usage: Bm25Memory = filled(65_536).memory_usage()
    assert usage.chunks == 65_536
    assert 3 <= usage.lists / usage.postings < 6
    assert usage.forward / usage.postings < 3
    assert usage.documents / usage.chunks < 200

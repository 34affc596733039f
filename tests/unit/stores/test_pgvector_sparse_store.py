"""Sparse vectors in PostgreSQL."""

from __future__ import annotations

from contextlib import asynccontextmanager

import numpy as np
import pytest

from ragstone.errors import ConfigurationError, InvalidInputError, StoreError
from ragstone.models import EmbeddedChunk, SearchOptions, TextChunk
from ragstone.ports import SparseSearchable
from ragstone.sparse_vector import SparseVector
from ragstone.stores import PgVectorSparseStore, PgVectorStore
from support.pgvector import ask, new_name, pretended_version, recording_pool

pytestmark = pytest.mark.row("K2")

ONE = np.array([1, 0], dtype=np.float32)
PAGE = SearchOptions(top_k=10)


def sparse(weights):
    return SparseVector.from_dict(weights)


def embedded(index, weights, metadata=None):
    chunk = TextChunk(f"text {index}", "d", index, metadata=metadata or {})
    return EmbeddedChunk(chunk, ONE, None if weights is None else sparse(weights))


@asynccontextmanager
async def opened(server, **options):
    async with PgVectorSparseStore(server, dimensions=2, collection=new_name(), **options) as store:
        try:
            yield store
        finally:
            await store.delete_collection(store.collection)


async def found(store, weights, options=PAGE):
    return [hit.chunk.chunk_index for hit in await store.sparse_search(sparse(weights), options)]


async def test_the_column_and_its_index(postgres_url):
    async with opened(postgres_url) as store:
        assert isinstance(store, SparseSearchable)
        assert store.vocabulary == 30_522
        await store.store([embedded(0, {0: 1.0, 30_521: 2.0})])
        [(kind,)] = await ask(
            postgres_url,
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attname = 'sparse_embedding'",
            store.collection,
        )
        assert kind == "sparsevec(30522)"
        [(definition,)] = await ask(
            postgres_url, "SELECT indexdef FROM pg_indexes WHERE indexname = %s", f"idx_{store.collection}_sparse"
        )
        assert "USING hnsw (sparse_embedding sparsevec_ip_ops)" in definition
        held = await ask(postgres_url, f"SELECT sparse_embedding::text FROM {store.collection}")
        assert held == [("{1:1,30522:2}/30522",)]  # written from 1 on


async def test_a_dense_table_gets_the_column(postgres_url):
    async with opened(postgres_url) as store:
        async with PgVectorStore(postgres_url, dimensions=2, collection=store.collection) as dense:
            await dense.store([embedded(0, {5: 1.0})])
            assert not isinstance(dense, SparseSearchable)
        assert await found(store, {5: 1.0}) == []
        await store.store([embedded(1, {5: 1.0})])
        assert await found(store, {5: 1.0}) == [1]
        assert len(await store.search(ONE, PAGE)) == 2


async def test_storing_again_without_a_sparse_vector_keeps_it(postgres_url):
    async with opened(postgres_url) as store:
        await store.store([embedded(0, {5: 1.0}), embedded(1, {5: 2.0})])
        await store.store([embedded(0, None)])
        async with PgVectorStore(postgres_url, dimensions=2, collection=store.collection) as dense:
            await dense.store([embedded(1, None)])
        assert await found(store, {5: 1.0}) == [1, 0]
        await store.store([embedded(0, {})])
        assert await found(store, {5: 1.0}) == [1]
        await store.replace_document("d", [embedded(1, None)])
        assert await found(store, {5: 1.0}) == []


async def test_a_thousand_terms_and_not_one_more(postgres_url):
    async with opened(postgres_url) as store:
        full = dict.fromkeys(range(1000), 0.5)
        await store.store([embedded(0, full)])
        assert await found(store, full) == [0]
        pool = recording_pool(postgres_url)
        async with pool:
            refusing = PgVectorSparseStore(pool, dimensions=2, collection=store.collection)
            batch = [embedded(1, {1: 1.0}), embedded(2, dict.fromkeys(range(1001), 0.5))]
            with pytest.raises(InvalidInputError, match=r"chunk 2 of document 'd'.*1001 terms.*1000.*max_terms"):
                await refusing.store(batch)
            assert pool.get_stats()["pool_size"] == 0
        assert await found(store, {1: 1.0}) == [0]
        with pytest.raises(InvalidInputError, match=r"the query .*1001 terms"):
            await store.sparse_search(sparse(dict.fromkeys(range(1001), 0.5)), PAGE)


async def test_a_term_beyond_the_vocabulary_is_refused(postgres_url):
    async with opened(postgres_url, vocabulary=100) as store:
        await store.store([embedded(0, {99: 1.0})])
        with pytest.raises(InvalidInputError, match=r"chunk 1 .* term 100.*vocabulary=100"):
            await store.store([embedded(1, {100: 1.0})])
        with pytest.raises(InvalidInputError, match=r"the query .* term 2147483648"):
            await store.sparse_search(sparse({2**31: 1.0}), PAGE)


async def test_another_vocabulary_than_the_columns_is_refused(postgres_url):
    async with opened(postgres_url, vocabulary=100) as store:
        await store.store([embedded(0, {5: 1.0})])
        async with PgVectorSparseStore(postgres_url, dimensions=2, collection=store.collection) as other:
            for _ in range(2):
                with pytest.raises(ConfigurationError, match=r"of 100, and .* 30522: set vocabulary=100, or run"):
                    await other.store([embedded(0, {5: 1.0})])
        assert await found(store, {5: 1.0}) == [0]


async def test_it_needs_pgvector_0_7(postgres_url):
    async with pretended_version(postgres_url, "0.6.2"), opened(postgres_url) as store:
        with pytest.raises(
            StoreError, match=r"0\.7\.0 or later, and 0\.6\.2 is installed.*ALTER EXTENSION vector UPDATE"
        ):
            await store.store([embedded(0, {5: 1.0})])
        async with PgVectorStore(postgres_url, dimensions=2, collection=store.collection) as dense:
            await dense.store([embedded(0, None)])


async def test_a_selective_filter_is_served_from_the_index(postgres_url):
    async with opened(postgres_url + "?options=-c%20enable_seqscan%3Doff", vocabulary=50) as store:
        random = np.random.default_rng(3)
        chunks = [
            embedded(n, {1: 5.0 + float(random.random()), 2 + int(random.integers(40)): 1.0}, {"rare": n % 200 == 7})
            for n in range(1000)
        ]
        await store.store(chunks)
        options = SearchOptions(top_k=5, metadata_filter={"rare": True})
        hits = await store.sparse_search(sparse({1: 1.0}), options)
        # An index by dot products may not reach every chunk; without the iterative scan it would reach none or one.
        assert {hit.chunk.chunk_index for hit in hits} <= {7, 207, 407, 607, 807}
        assert len(hits) >= 3
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_a_collection_that_it_makes_takes_sparse_vectors(postgres_url):
    async with opened(postgres_url, vocabulary=100) as store:
        name = new_name()
        await store.create_collection(name, 2)
        async with PgVectorSparseStore(postgres_url, dimensions=2, vocabulary=100, collection=name) as other:
            await other.store([embedded(0, {5: 1.0})])
            assert await found(other, {5: 1.0}) == [0]
        await store.delete_collection(name)


@pytest.mark.parametrize("vocabulary", [0, -1, 1.5, 2**31])
def test_a_vocabulary_that_cannot_be_is_refused(vocabulary):
    with pytest.raises(ConfigurationError, match="vocabulary"):
        PgVectorSparseStore("postgresql://localhost/db", dimensions=2, vocabulary=vocabulary)


async def test_what_is_no_sparse_vector_is_refused(postgres_url):
    async with opened(postgres_url) as store:
        with pytest.raises(InvalidInputError, match=r"chunk 0 .* dict"):
            await store.store([EmbeddedChunk(TextChunk("x", "d", 0), ONE, {5: 1.0})])
        with pytest.raises(InvalidInputError, match="the query is a dict"):
            await store.sparse_search({5: 1.0}, PAGE)

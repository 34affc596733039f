"""The store in PostgreSQL: its table, its searches, its connections."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from ragstone.errors import ConfigurationError, InvalidInputError, StoreError
from ragstone.models import EmbeddedChunk, SearchOptions, TextChunk
from ragstone.ports import CollectionManageable, HybridSearchable, SparseSearchable
from ragstone.stores import PgVectorStore
from support.pgvector import RecordingCursor, ask, new_name, pretended_version, recording_pool

pytestmark = pytest.mark.row("K2")

EXACT = "?options=-c%20enable_indexscan%3Doff"
BY_INDEX = "?options=-c%20enable_seqscan%3Doff"


def vector(*numbers):
    return np.array(numbers, dtype=np.float32)


def embedded(document_id, index, embedding, metadata=None):
    return EmbeddedChunk(TextChunk(f"text {index}", document_id, index, metadata=metadata or {}), embedding)


def at_distance(distance):
    """A unit vector at this cosine distance from (1, 0)."""
    cosine = 1 - distance
    return vector(cosine, np.sqrt(1 - cosine**2))


@asynccontextmanager
async def opened(server, dimensions=2, **options):
    async with PgVectorStore(server, dimensions=dimensions, collection=new_name(), **options) as store:
        try:
            yield store
        finally:
            await store.delete_collection(store.collection)


async def indexes(url, store):
    rows = await ask(url, "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", store.collection)
    return {name.removeprefix(f"idx_{store.collection}_"): definition for name, definition in rows}


async def test_the_quick_start_of_the_documentation_runs(postgres_url):
    page = (Path(__file__).parents[3] / "docs" / "stores" / "pgvector.md").read_text(encoding="utf-8")
    names = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    [hit] = await names["main"](postgres_url)
    assert hit.chunk.text == "Paid leave is 30 days."
    async with PgVectorStore(postgres_url, dimensions=384) as store:
        await store.delete_collection("rag_chunks")


# --- the table


async def test_the_table_and_its_indexes(postgres_url):
    async with opened(postgres_url, 3) as store:
        await store.initialize()
        rows = await ask(
            postgres_url,
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attnum > 0 ORDER BY attnum",
            store.collection,
        )
        assert dict(rows) == {
            "id": "bigint",
            "document_id": "text",
            "chunk_index": "integer",
            "text": "text",
            "metadata": "jsonb",
            "embedding": "vector(3)",
            "start_offset": "bigint",
            "end_offset": "bigint",
        }
        held = await indexes(postgres_url, store)
        assert "USING btree (document_id)" in held["document_id"]
        assert "UNIQUE" in held["doc_chunk"]
        assert "USING btree (document_id, chunk_index)" in held["doc_chunk"]
        assert "USING hnsw (embedding vector_cosine_ops)" in held["embedding"]


async def test_an_index_up_to_2000_dimensions_and_none_beyond(postgres_url):
    for dimensions, indexed in ((2000, True), (2001, False)):
        async with opened(postgres_url, dimensions) as store:
            one = np.eye(1, dimensions, 0, dtype=np.float32)[0]
            await store.store([embedded("a", 0, one)])
            assert ("embedding" in await indexes(postgres_url, store)) == indexed
            [hit] = await store.search(one, SearchOptions(top_k=1))
            assert hit.score == pytest.approx(1)


async def test_other_dimensions_than_the_tables_are_refused(postgres_url):
    async with opened(postgres_url, 2) as store:
        await store.store([embedded("a", 0, vector(1, 0))])
        async with PgVectorStore(postgres_url, dimensions=3, collection=store.collection) as other:
            for _ in range(2):
                with pytest.raises(ConfigurationError, match=r"2 dimensions.*set to 3.*dimensions=2.*drop the table"):
                    await other.store([embedded("a", 0, vector(1, 0, 0))])
        with pytest.raises(ConfigurationError, match=r"2 dimensions.*set to 4"):
            await store.create_collection(store.collection, 4)
        assert len(await store.search(vector(1, 0), SearchOptions(top_k=5))) == 1


async def make_older_table(url, name, *rows):
    """A table as it was before chunks had a unique key and offsets."""
    await ask(url, "CREATE EXTENSION IF NOT EXISTS vector")
    await ask(
        url,
        f"CREATE TABLE {name} (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, document_id TEXT NOT NULL,"
        " chunk_index INTEGER NOT NULL, text TEXT NOT NULL, metadata JSONB NOT NULL DEFAULT '{}',"
        " embedding vector(2) NOT NULL)",
    )
    for document_id, index in rows:
        await ask(
            url,
            f"INSERT INTO {name} (document_id, chunk_index, text, embedding) VALUES (%s, %s, 'old', '[1,0]')",
            document_id,
            index,
        )


async def test_an_older_table_is_completed(postgres_url):
    async with opened(postgres_url) as store:
        await make_older_table(postgres_url, store.collection, ("a", 0), ("a", 1))
        await store.store([embedded("a", 1, vector(0, 1), {"new": True})])
        hits = await store.search(vector(1, 0), SearchOptions(top_k=5))
        assert [(hit.chunk.text, hit.chunk.start, dict(hit.chunk.metadata)) for hit in hits] == [
            ("old", 0, {}),
            ("text 1", 0, {"new": True}),
        ]
        assert "doc_chunk" in await indexes(postgres_url, store)


async def test_duplicate_keys_are_refused_and_none_is_deleted(postgres_url):
    async with opened(postgres_url) as store:
        keys = [("a", 0), ("a", 0), ("a", 0), ("a", 1), ("b", 7), ("b", 7)]
        await make_older_table(postgres_url, store.collection, *keys)
        for _ in range(2):
            with pytest.raises(StoreError, match=r"2 pairs.*GROUP BY 1, 2 HAVING count") as caught:
                await store.store([embedded("a", 5, vector(1, 0))])
        query = str(caught.value).split("See them with  ")[1].split(", keep one row")[0]
        assert sorted(await ask(postgres_url, query)) == [("a", 0, 3), ("b", 7, 2)]
        assert await ask(postgres_url, f"SELECT count(*) FROM {store.collection}") == [(6,)]
        await ask(postgres_url, f"DELETE FROM {store.collection} WHERE id IN (1, 2, 5)")
        await store.store([embedded("a", 5, vector(1, 0))])
        assert await ask(postgres_url, f"SELECT count(*) FROM {store.collection}") == [(4,)]


async def test_a_relation_of_the_keys_name_is_told(postgres_url):
    async with opened(postgres_url) as store:
        await make_older_table(postgres_url, store.collection)
        await ask(postgres_url, f"CREATE INDEX idx_{store.collection}_doc_chunk ON {store.collection} (document_id)")
        with pytest.raises(StoreError, match="is there but is no unique index"):
            await store.initialize()


async def test_a_key_that_was_dropped_is_told(postgres_url):
    async with opened(postgres_url) as store:
        await store.initialize()
        await ask(postgres_url, f"DROP INDEX idx_{store.collection}_doc_chunk")
        with pytest.raises(StoreError, match=r"no unique index on exactly \(document_id, chunk_index\)"):
            await store.store([embedded("a", 0, vector(1, 0))])


async def test_a_server_without_pgvector_is_told(postgres_url):
    class BareCursor(RecordingCursor):
        async def fetchall(self):
            rows = await super().fetchall()
            return [] if "pg_available_extensions" in self.sent[-1].statement else rows

    database = new_name()
    await ask(postgres_url, f"CREATE DATABASE {database}")
    pool = recording_pool(postgres_url.removesuffix("postgres") + database)
    pool.kwargs["cursor_factory"] = BareCursor
    async with pool:
        with pytest.raises(StoreError, match="does not have the extension pgvector: install it"):
            await PgVectorStore(pool, dimensions=2).initialize()
    await ask(postgres_url, f"DROP DATABASE {database}")


async def test_a_table_of_somebody_else_is_left_alone(postgres_url):
    async with opened(postgres_url) as store:
        await ask(postgres_url, f"CREATE TABLE {store.collection} (id int, text text)")
        with pytest.raises(StoreError, match="not one of Ragstone's"):
            await store.initialize()


async def test_a_ready_table_needs_no_right_to_change_it(postgres_url):
    async with opened(postgres_url) as store:
        await store.store([embedded("a", 0, vector(1, 0))])
        reader = new_name()
        await ask(postgres_url, f"CREATE ROLE {reader} LOGIN PASSWORD 'r'")
        await ask(postgres_url, f"GRANT SELECT ON {store.collection} TO {reader}")
        url = postgres_url.replace(postgres_url.split("//")[1].split("@")[0], f"{reader}:r")
        async with PgVectorStore(url, dimensions=2, collection=store.collection) as other:
            assert len(await other.search(vector(1, 0), SearchOptions(top_k=5))) == 1
            with pytest.raises(StoreError, match="lacks a right"):
                await other.store([embedded("b", 0, vector(1, 0))])
        await ask(postgres_url, f"DROP OWNED BY {reader}")
        await ask(postgres_url, f"DROP ROLE {reader}")


# --- collections and their names


async def test_collections(postgres_url):
    async with opened(postgres_url) as store:
        assert isinstance(store, CollectionManageable)
        name = new_name()
        assert not await store.collection_exists(name)
        await store.delete_collection(name)
        for _ in range(2):
            await store.create_collection(name, 5)
        assert await store.collection_exists(name)
        await store.delete_collection(name)
        assert not await store.collection_exists(name)


async def test_a_dropped_collection_is_made_again(postgres_url):
    async with opened(postgres_url) as store:
        await store.delete_by_document_id("a")
        assert not await store.collection_exists(store.collection)
        await store.store([embedded("a", 0, vector(1, 0))])
        await store.delete_collection(store.collection)
        await store.delete_by_document_id("a")
        assert await store.search(vector(1, 0), SearchOptions(top_k=5)) == []
        await ask(postgres_url, f"DROP TABLE {store.collection}")
        with pytest.raises(StoreError, match="behind the store's back: the next call makes it again"):
            await store.store([embedded("a", 0, vector(1, 0))])
        await store.store([embedded("a", 0, vector(1, 0))])


@pytest.mark.case("S-065")
async def test_names_that_would_be_cut_are_refused_before_anything_is_sent(postgres_url):
    async with recording_pool(postgres_url) as pool:
        store = PgVectorStore(pool, dimensions=2)
        await store.create_collection("a" * 47, 2)
        held = await ask(postgres_url, "SELECT indexname FROM pg_indexes WHERE tablename = %s", "a" * 47)
        wanted = {f"idx_{'a' * 47}_{suffix}" for suffix in ("document_id", "doc_chunk", "embedding")}
        assert wanted <= {name for (name,) in held}
        await store.delete_collection("a" * 47)
        RecordingCursor.sent.clear()
        for use in (store.create_collection, lambda name, _: PgVectorStore(pool, dimensions=2, collection=name)):
            with pytest.raises(ValueError, match=r"at most 47 characters.*has 48"):
                await use("a" * 48, 2)
            with pytest.raises(ValueError, match="ASCII letters, digits and underscores"):
                await use("bad-name; DROP TABLE rag_chunks", 2)
        for use in (store.delete_collection, store.collection_exists):
            with pytest.raises(ValueError, match="ASCII letters"):
                await use('x"; DROP TABLE rag_chunks; --')
        assert RecordingCursor.sent == []


@pytest.mark.case("S-088")
async def test_a_set_up_that_failed_half_way_is_completed_by_the_next_call(postgres_url, monkeypatch):
    async with opened(postgres_url) as store:
        with pytest.raises(ValueError, match="ASCII"):
            await store.create_collection("é" * 30, 2)
        await store.create_collection("C" * 40, 2)
        held = await ask(postgres_url, "SELECT indexname FROM pg_indexes WHERE tablename = %s", "C" * 40)
        assert len({name for (name,) in held if name.startswith("idx_") and len(name.encode()) <= 63}) == 3
        await store.delete_collection("C" * 40)

    class FailingCursor(RecordingCursor):
        async def execute(self, query, params=None, **options):
            done = await super().execute(query, params, **options)
            if self.sent[-1].statement.startswith("CREATE TABLE"):
                await super().execute("SELECT 1 / 0")
            return done

    name = new_name()
    pool = recording_pool(postgres_url)
    pool.kwargs["cursor_factory"] = FailingCursor
    async with pool:
        store = PgVectorStore(pool, dimensions=2, collection=name)
        with pytest.raises(StoreError, match="DivisionByZero"):
            await store.initialize()
    async with PgVectorStore(postgres_url, dimensions=2, collection=name) as store:
        assert not await store.collection_exists(name)
        await store.store([embedded("a", 0, vector(1, 0))])
        assert {"document_id", "doc_chunk", "embedding"} <= (await indexes(postgres_url, store)).keys()
        await store.delete_collection(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": 0}, "dimensions must be between 1 and 16000, not 0"),
        ({"dimensions": 16_001}, "dimensions must be between 1 and 16000"),
        ({"dimensions": 2.5}, "dimensions must be an integer"),
        ({"dimensions": 2, "max_connections": 0}, "max_connections must be at least 1"),
        ({"dimensions": 2, "timeout": 0}, "timeout"),
        ({"dimensions": 2, "collection": ""}, "collection's name"),
        ({"dimensions": 2, "collection": "1st"}, "does not begin with a digit"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(options, message):
    with pytest.raises(ConfigurationError, match=message):
        PgVectorStore("postgresql://localhost/db", **options)


@pytest.mark.parametrize("server", ["", "http://localhost/hunter2", "hunter2", "host"])
def test_what_is_no_address_of_postgresql_is_refused(server):
    with pytest.raises(ConfigurationError, match="server must be a URL") as caught:
        PgVectorStore(server, dimensions=2)
    assert "hunter2" not in str(caught.value)


# --- searching


def test_what_it_can_do_is_declared_honestly():
    store = PgVectorStore("postgresql://localhost/db", dimensions=2)
    assert not isinstance(store, SparseSearchable)
    assert not isinstance(store, HybridSearchable)


@pytest.mark.case("S-064")
async def test_keys_of_a_filter_travel_as_parameters(postgres_url):
    async with recording_pool(postgres_url) as pool, opened(pool) as store:
        await store.store([embedded("a", index, vector(1, index)) for index in range(3)])
        for wanted in ({"a' = 'b' OR '1'='1' --": "zzz"}, {'a\\"b': "c"}):
            options = SearchOptions(top_k=5, metadata_filter=wanted)
            assert await store.search(vector(1, 0), options) == []
            [key] = wanted
            sent = RecordingCursor.sent[-1]
            assert key not in sent.statement
            assert "OR '1'" not in sent.statement
            assert key.replace("\\", "\\\\").replace('"', '\\"') in sent.parameters["filter"]
        await store.store([embedded("b", 0, vector(1, 0), {'a\\"b': "c"})])
        [hit] = await store.search(vector(1, 0), SearchOptions(top_k=5, metadata_filter={'a\\"b': "c"}))
        assert hit.chunk.document_id == "b"


@pytest.mark.case("S-066")
@pytest.mark.parametrize(("version", "iterative"), [("0.8.0", True), ("0.7.4", False)])
async def test_a_page_is_ordered_whatever_the_scan_gives(postgres_url, version, iterative):
    async with recording_pool(postgres_url) as pool, opened(pool) as store:
        async with pretended_version(postgres_url, version):
            distances = (0.1, 0.3, 0.2)
            await store.store([embedded("d", n, at_distance(far), {"k": 1}) for n, far in enumerate(distances)])
        RecordingCursor.sent.clear()
        RecordingCursor.order = [0, 2, 1]  # distances of 0.10, 0.30, 0.20, as a relaxed scan may give them
        hits = await store.search(vector(1, 0), SearchOptions(top_k=3, metadata_filter={"k": 1}))
        assert [hit.score for hit in hits] == pytest.approx([0.90, 0.80, 0.70], abs=1e-6)
        assert [hit.chunk.chunk_index for hit in hits] == [0, 2, 1]
        setting = "SET LOCAL hnsw.iterative_scan = relaxed_order"
        *before, search = RecordingCursor.sent
        assert [sent.statement for sent in before] == ([setting] if iterative else [])
        assert all(sent.in_transaction and sent.connection == search.connection for sent in RecordingCursor.sent)


@pytest.mark.case("S-066")
async def test_a_selective_filter_fills_its_page_from_the_index(postgres_url):
    async with opened(postgres_url + BY_INDEX, 8) as store:
        numbers = np.random.default_rng(7).normal(size=(2000, 8)).astype(np.float32)
        rare = set(np.argsort(numbers[:, 0])[:5].tolist())
        await store.store([embedded("d", n, row, {"rare": n in rare}) for n, row in enumerate(numbers)])
        query = np.eye(1, 8, 0, dtype=np.float32)[0]
        options = SearchOptions(top_k=5, metadata_filter={"rare": True})
        hits = await store.search(query, options)
        assert {hit.chunk.chunk_index for hit in hits} == rare
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        plan = await ask(
            postgres_url + BY_INDEX,
            f"EXPLAIN SELECT * FROM {store.collection} ORDER BY embedding <=> '[1,0,0,0,0,0,0,0]' LIMIT 5",
        )
        assert f"idx_{store.collection}_embedding" in str(plan)


async def test_a_zero_vector_reaches_no_floor_above_zero(postgres_url):
    async with opened(postgres_url + EXACT) as store:
        await store.store([embedded("zero", 0, vector(0, 0)), embedded("back", 0, vector(-1, 0))])
        for floor, wanted in ((0.0, {"zero": 0.0, "back": -1.0}), (0.5, {}), (-0.5, {"zero": 0.0})):
            hits = await store.search(vector(1, 0), SearchOptions(top_k=5, min_score=floor))
            assert {hit.chunk.document_id: hit.score for hit in hits} == wanted


async def test_equal_scores_are_ordered_by_key(postgres_url):
    async with opened(postgres_url) as store:
        names = ["b", "a", "B", "é"]
        await store.store([embedded(name, index, vector(2, 0)) for index in (1, 0) for name in names])
        hits = await store.search(vector(1, 0), SearchOptions(top_k=10))
        assert [hit.chunk.key for hit in hits] == sorted((name, index) for name in names for index in (0, 1))


async def test_metadata_comes_back_exactly(postgres_url):
    metadata = {"int": 2, "float": 2.0, "large": 1e300, "small": 5e-324, "edge": 2**53, "beyond": 1e16, "third": 1 / 3}
    async with opened(postgres_url) as store:
        await store.store([embedded("a", 0, vector(1, 0), metadata)])
        [hit] = await store.search(vector(1, 0), SearchOptions(top_k=1, metadata_filter=metadata))
        assert dict(hit.chunk.metadata) == metadata
        assert {key: type(value) for key, value in hit.chunk.metadata.items()} == {
            key: type(value) for key, value in metadata.items()
        }


@pytest.mark.parametrize("bad", ["nul \0", "half \ud83e"])
async def test_what_postgresql_cannot_hold_is_named(postgres_url, bad):
    good = embedded("good", 0, vector(1, 0))
    for chunk, field in (
        (TextChunk(bad, "x", 1), "text"),
        (TextChunk("x", bad, 1), "document_id"),
        (TextChunk("x", "x", 1, metadata={bad: 1}), "metadata"),
        (TextChunk("x", "x", 1, metadata={"k": bad}), "metadata"),
    ):
        async with opened(postgres_url) as store:
            with pytest.raises(InvalidInputError, match=f"chunk 1 of document .* in its {field}"):
                await store.store([good, EmbeddedChunk(chunk, vector(1, 0))])
            await store.store([good])
            assert await store.search(vector(1, 0), SearchOptions(top_k=5, metadata_filter={"k": bad})) == []
            await store.delete_by_document_id(bad)
            assert await store.embeddings([chunk.key]) == [None] if bad in chunk.document_id else True
            assert len(await store.search(vector(1, 0), SearchOptions(top_k=5))) == 1


async def test_an_index_beyond_an_integer_is_refused(postgres_url):
    async with opened(postgres_url) as store:
        with pytest.raises(InvalidInputError, match="2147483647"):
            await store.store([embedded("a", 2**31, vector(1, 0))])


async def test_options_that_cannot_be_are_refused(postgres_url):
    async with opened(postgres_url) as store:
        assert await store.search(vector(1, 0), SearchOptions(top_k=0)) == []
        for options in (SearchOptions(top_k=-1), SearchOptions(top_k=1, min_score=float("nan"))):
            with pytest.raises(ConfigurationError):
                await store.search(vector(1, 0), options)
        with pytest.raises(InvalidInputError, match="shape"):
            await store.search(np.ones((1, 2), dtype=np.float32), SearchOptions(top_k=1))


# --- writers at the same time


async def test_replacements_at_the_same_time_leave_one_version(postgres_url):
    async with opened(postgres_url) as store:
        versions = [
            [EmbeddedChunk(TextChunk(f"v{v}", "d", n), vector(1, v)) for n in range(v, v + 5)] for v in range(8)
        ]
        await store.initialize()
        for _ in range(3):
            await asyncio.gather(*(store.replace_document("d", version) for version in versions))
            page = await store.search(vector(1, 0), SearchOptions(top_k=100))
            assert len(page) == 5
            assert len({hit.chunk.text for hit in page}) == 1


async def test_writers_of_the_same_chunks_do_not_lock_each_other_out(postgres_url):
    async with opened(postgres_url) as store:
        chunks = [embedded(f"d{n}", n, vector(1, n)) for n in range(50)]
        await asyncio.gather(*(store.store(chunks[:: (-1) ** turn]) for turn in range(12)))
        assert len(await store.search(vector(1, 0), SearchOptions(top_k=100))) == 50


async def test_writers_and_deleters_of_one_document_do_not_lock_each_other_out(postgres_url):
    async with opened(postgres_url) as store:
        chunks = [embedded("d", n, vector(1, n)) for n in range(40)]
        await store.store(chunks[::-1])
        for _ in range(5):
            await asyncio.gather(
                *(store.store(chunks) for _ in range(3)),
                *(store.delete_by_document_id("d") for _ in range(3)),
                *(store.replace_document("d", chunks[turn:]) for turn in range(3)),
            )
        await store.replace_document("d", chunks[:3])
        assert await ask(postgres_url, f"SELECT count(*) FROM {store.collection}") == [(3,)]


@pytest.mark.parametrize("times", [4, 5])
async def test_a_write_that_is_broken_off_as_a_deadlock_is_tried_again(postgres_url, times):
    class BrokenOffCursor(RecordingCursor):
        left = times

        async def executemany(self, query, rows, **options):
            if type(self).left:
                type(self).left -= 1
                await self.execute("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")
            await super().executemany(query, rows, **options)

    pool = recording_pool(postgres_url)
    pool.kwargs["cursor_factory"] = BrokenOffCursor
    async with pool, opened(pool) as store:
        writing = store.store([embedded("a", 0, vector(1, 0))])
        if times == 4:
            await writing
        else:
            with pytest.raises(StoreError, match=r"DeadlockDetected.*try again"):
                await writing
        assert len(await store.search(vector(1, 0), SearchOptions(top_k=5))) == (1 if times == 4 else 0)


async def test_what_is_stored_just_so_is_not_written_again(postgres_url):
    async with opened(postgres_url) as store:
        chunks = [embedded("d", n, vector(1, n), {"n": n, "at": 0.5}) for n in range(40)]
        await store.store(chunks)
        versions = await ask(postgres_url, f"SELECT ctid::text, xmin::text FROM {store.collection}")
        for _ in range(15):
            await store.store(chunks)
            await store.replace_document("d", chunks)
        assert await ask(postgres_url, f"SELECT ctid::text, xmin::text FROM {store.collection}") == versions
        await store.replace_document("d", [*chunks[:2], embedded("d", 2, vector(1, 2), {"n": 2.0, "at": 0.5})])
        async with PgVectorStore(postgres_url + BY_INDEX, dimensions=2, collection=store.collection) as other:
            hits = await other.search(vector(1, 0), SearchOptions(top_k=100))
        assert [repr(hit.chunk.metadata["n"]) for hit in hits] == ["0", "1", "2.0"]


async def test_the_last_of_a_batch_wins(postgres_url):
    async with opened(postgres_url) as store:
        await store.store([embedded("a", 0, vector(1, 0), {"n": n}) for n in range(3)])
        [hit] = await store.search(vector(1, 0), SearchOptions(top_k=5))
        assert hit.chunk.metadata == {"n": 2}

"""The record of documents: whole or not at all, across threads, processes and crashes."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from ragstone.errors import (
    DimensionMismatchError,
    IndexCorruptedError,
    IndexMismatchError,
    InvalidInputError,
    InvalidVectorError,
    PersistenceError,
)
from ragstone.models import StoredDocument, TextChunk
from ragstone.persistence import IndexDirectory, IndexInfo
from ragstone.ports import DocumentJournal

MODEL = "some/model@1"


def document(name: str, *texts: str, fingerprint: str = "f", source: str | None = None, dimensions: int = 0):
    chunks = tuple(
        TextChunk(text, name, number, 10 * number, 10 * number + len(text), {"part": number})
        for number, text in enumerate(texts or ("text",))
    )
    vectors = None
    if dimensions:
        vectors = np.arange(len(chunks) * dimensions, dtype=np.float32).reshape(len(chunks), dimensions) + 0.1
    return StoredDocument(document_id=name, fingerprint=fingerprint, source=source, chunks=chunks, vectors=vectors)


def keywords(path: Path, **options) -> IndexDirectory:
    return IndexDirectory.open(path, embedder_identity=None, dimensions=None, **options)


def embedded(path: Path, identity: str = MODEL, dimensions: int | None = 3) -> IndexDirectory:
    return IndexDirectory.open(path, embedder_identity=identity, dimensions=dimensions)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "handbook.rag"


@pytest.mark.row("G8")
def test_each_transaction_gives_the_content_another_name_and_copies_share_it(path: Path, tmp_path: Path) -> None:
    with keywords(path) as index:
        revisions = [index.revision()]
        for change in (lambda: index.put(document("a")), lambda: index.put(document("a")), lambda: index.delete("a")):
            change()
            revisions.append(index.revision())
    assert revisions[0] is None
    assert len(set(revisions)) == 4
    shutil.copytree(path, tmp_path / "copy.rag")
    with keywords(tmp_path / "copy.rag") as copy, keywords(path) as again:
        assert copy.revision() == again.revision() == revisions[-1]
        copy.put(document("b"))
        again.put(document("b"))
        assert copy.revision() != again.revision()


@pytest.mark.row("G8")
def test_a_reader_names_what_it_has_loaded_and_not_what_others_wrote_since(path: Path) -> None:
    with keywords(path) as writer:
        writer.put(document("a"))
        with keywords(path) as reader:
            opened = reader.revision()
            writer.put(document("b"))
            assert reader.revision() == opened
            assert len(list(reader.load())) == 2
            assert reader.revision() == writer.revision() != opened


def test_is_a_journal(path: Path) -> None:
    with keywords(path) as index:
        assert isinstance(index, DocumentJournal)
        assert index.path == path


def test_everything_of_a_document_comes_back(path: Path) -> None:
    metadata = {
        "text": "naïve 人工 🎉",
        "whole": 2**53,
        "real": 0.1,
        "flag": True,
        "when": datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
        "key 'quoted\" \x00": "x",
    }
    chunks = (
        TextChunk("first\x00 人工 🎉", "id/ü '\"", 0, 3, 14, metadata),
        TextChunk("", "id/ü '\"", 7, 14, 14),
    )
    vectors = np.array([[1e-45, -0.0, 3.5], [np.float32(1 / 3), 2.0, -1e38]], dtype=np.float32)
    stored = StoredDocument(
        document_id="id/ü '\"", fingerprint="ab12", source="ö/a b.md", chunks=chunks, vectors=vectors
    )
    with embedded(path) as index:
        index.put(stored)
    with embedded(path) as index:
        (loaded,) = index.load()
    assert loaded == stored
    assert [type(value) for value in loaded.chunks[0].metadata.values()] == [type(v) for v in metadata.values()]
    assert loaded.vectors is not None
    assert loaded.vectors.tobytes() == vectors.tobytes()
    assert loaded.vectors.dtype == np.float32
    assert loaded.vectors.flags.writeable


def test_documents_come_in_order_of_their_ids(path: Path) -> None:
    with keywords(path) as index:
        for name in ("b", "ä", "a", "B", "人", "10", "9"):
            index.put(document(name))
        assert index.documents() == sorted(["b", "ä", "a", "B", "人", "10", "9"])
        assert [loaded.document_id for loaded in index.load()] == index.documents()


@pytest.mark.row("H6")
def test_put_replaces_every_trace(path: Path) -> None:
    with keywords(path) as index:
        index.put(document("a", "one", "two", "three", fingerprint="old", source="old.md"))
        index.put(document("b", "other"))
        index.put(document("a", "new", fingerprint="new"))
        assert list(index.load()) == [document("a", "new", fingerprint="new"), document("b", "other")]
        assert index.fingerprint("a") == "new"
        assert index.info().chunks == 2


@pytest.mark.row("H6")
def test_delete_leaves_no_trace(path: Path) -> None:
    with keywords(path) as index:
        index.put(document("a", "one", "two"))
        assert index.delete("a") is True
        assert index.delete("a") is False
        assert index.fingerprint("a") is None
        assert list(index.load()) == []
        assert (index.info().documents, index.info().chunks) == (0, 0)


def test_load_is_a_snapshot(path: Path) -> None:
    with keywords(path) as index:
        for name in "abc":
            index.put(document(name))
        documents = index.load()
        assert next(documents).document_id == "a"
        index.delete("b")
        index.put(document("d"))
        assert [loaded.document_id for loaded in documents] == ["b", "c"]
        assert index.documents() == ["a", "c", "d"]


def test_info(path: Path) -> None:
    with embedded(path) as index:
        index.put(document("a", "one", "two", dimensions=3))
        info = index.info()
    assert info == IndexInfo(
        path=path,
        format_version=2,
        analyzer=info.analyzer,
        embedder=MODEL,
        dimensions=3,
        documents=1,
        chunks=2,
        bytes_on_disk=info.bytes_on_disk,
    )
    assert info.analyzer
    assert info.bytes_on_disk >= (path / "index.db").stat().st_size
    assert IndexDirectory.inspect(path).chunks == 2


def test_closed_index_says_so(path: Path) -> None:
    index = keywords(path)
    index.close()
    index.close()
    for use in (index.documents, lambda: index.put(document("a")), lambda: list(index.load())):
        with pytest.raises(PersistenceError, match="closed"):
            use()


@pytest.mark.parametrize(
    ("stored", "error"),
    [
        (document("a"), InvalidInputError),
        (document("a", dimensions=4), DimensionMismatchError),
        (StoredDocument(document_id="a", fingerprint="f", source=None, chunks=()), InvalidInputError),
        (
            StoredDocument(
                document_id="a",
                fingerprint="f",
                source=None,
                chunks=document("a").chunks,
                vectors=np.ones((2, 3), np.float32),
            ),
            InvalidInputError,
        ),
        (
            StoredDocument(
                document_id="a",
                fingerprint="f",
                source=None,
                chunks=document("a").chunks,
                vectors=np.full((1, 3), np.nan, np.float32),
            ),
            InvalidVectorError,
        ),
        (
            StoredDocument(
                document_id="b",
                fingerprint="f",
                source=None,
                chunks=document("a").chunks,
                vectors=np.ones((1, 3), np.float32),
            ),
            InvalidInputError,
        ),
        (
            StoredDocument(
                document_id="a",
                fingerprint="f",
                source=None,
                chunks=document("a").chunks * 2,
                vectors=np.ones((2, 3), np.float32),
            ),
            InvalidInputError,
        ),
    ],
    ids=["no vectors", "dimensions", "no chunks", "count", "nan", "another's chunks", "repeated chunk"],
)
def test_what_does_not_fit_is_refused_and_nothing_changes(path: Path, stored, error) -> None:
    with embedded(path) as index:
        index.put(document("a", "kept", dimensions=3))
        with pytest.raises(error, match=f"document '{stored.document_id}'"):
            index.put(stored)
        assert list(index.load()) == [document("a", "kept", dimensions=3)]


def test_vectors_are_refused_by_a_keyword_index(path: Path) -> None:
    with keywords(path) as index, pytest.raises(InvalidInputError, match="without vectors"):
        index.put(document("a", dimensions=3))


def test_lone_surrogates_are_refused_without_quoting_the_text(path: Path) -> None:
    with keywords(path) as index:
        with pytest.raises(InvalidInputError, match="surrogates") as caught:
            index.put(document("a", "secret \ud800"))
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__
        assert index.documents() == []


def test_dimensions_are_learnt_from_the_first_vectors(path: Path) -> None:
    with embedded(path, dimensions=None) as index:
        assert index.info().dimensions is None
        index.put(document("a", dimensions=5))
        with pytest.raises(DimensionMismatchError):
            index.put(document("b", dimensions=6))
    with embedded(path, dimensions=None) as index:
        assert index.info().dimensions == 5
    with pytest.raises(IndexMismatchError, match=r"\(5 dimensions\).*\(6 dimensions\)"):
        embedded(path, dimensions=6)


# --- what is not an index, or not this one ---------------------------------------------------------------------------


def test_another_model_is_refused_by_name(path: Path) -> None:
    embedded(path).close()
    with pytest.raises(IndexMismatchError) as caught:
        embedded(path, "other/model")
    message = str(caught.value)
    assert MODEL in message
    assert "other/model" in message
    assert "ingest the documents into a new directory" in message


def test_no_model_is_another_model(tmp_path: Path) -> None:
    embedded(tmp_path / "vectors").close()
    keywords(tmp_path / "words").close()
    with pytest.raises(IndexMismatchError, match=f"made with the embedding model '{MODEL}'.*with no embedding model"):
        keywords(tmp_path / "vectors")
    with pytest.raises(IndexMismatchError, match="made with no embedding model"):
        embedded(tmp_path / "words")


def test_newer_format_is_refused(path: Path) -> None:
    with keywords(path) as index:
        index._connection.execute("UPDATE rag_metadata SET value = '3' WHERE key = 'format_version'")
    with pytest.raises(IndexMismatchError, match="newer Ragstone"):
        keywords(path)


def test_missing_index_without_create(path: Path) -> None:
    with pytest.raises(PersistenceError, match="there is no index here"):
        keywords(path, create=False)
    with pytest.raises(PersistenceError, match="there is no index here"):
        IndexDirectory.inspect(path)
    assert not path.exists()
    assert not IndexDirectory.exists(path)
    keywords(path).close()
    assert IndexDirectory.exists(path)


def test_a_file_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PersistenceError, match="a file, not an index directory"):
        keywords(tmp_path / "file")
    with pytest.raises(PersistenceError, match="Not a directory"):
        keywords(tmp_path / "file" / "below")


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("x")
    with pytest.raises(PersistenceError, match="not an index directory"):
        keywords(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["letter.txt"]


def test_a_lost_database_is_not_made_anew(path: Path) -> None:
    keywords(path).close()
    (path / "index.db").rename(path / "moved.db")
    with pytest.raises(PersistenceError, match=r"holds no index\.db"):
        keywords(path)


def test_an_interrupted_creation_is_begun_again(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "index.db.new").write_bytes(b"half a file")
    with keywords(path) as index:
        index.put(document("a"))
        assert index.documents() == ["a"]


# --- damage ----------------------------------------------------------------------------------------------------------


def filled(path: Path) -> None:
    with embedded(path) as index:
        for number in range(50):
            index.put(document(f"document-{number:02}", f"some text {number} " * 30, "more", dimensions=3))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE chunks SET text = 'forged' WHERE document = 8 AND chunk_index = 1", "document-07.*chunk 1"),
        ("UPDATE chunks SET metadata = '{}' WHERE document = 8 AND chunk_index = 0", "document-07.*chunk 0"),
        ("UPDATE chunks SET vector = zeroblob(12) WHERE document = 8 AND chunk_index = 1", "document-07.*chunk 1"),
        ("UPDATE chunks SET vector = NULL WHERE document = 8 AND chunk_index = 1", "document-07.*chunk 1"),
        ("UPDATE chunks SET start_offset = 1 WHERE document = 8 AND chunk_index = 1", "document-07.*chunk 1"),
        ("DELETE FROM chunks WHERE document = 8 AND chunk_index = 1", "document-07"),
        ("DELETE FROM chunks WHERE document = 8", "document-07"),
        ("UPDATE documents SET fingerprint = 'forged' WHERE number = 8", "document-07"),
        ("UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE document = 8 AND chunk_index = 1", "document-07.*chunk 1"),
        ("UPDATE documents SET source = CAST(x'ff' AS TEXT) WHERE number = 8", "documents after 'document-05'"),
    ],
)
def test_a_checksum_that_does_not_hold_names_the_document(path: Path, damage: str, named: str) -> None:
    filled(path)
    with embedded(path) as index:
        index._connection.execute(damage)
        with pytest.raises(IndexCorruptedError, match=named) as caught:
            list(index.load())
    assert str(path / "index.db") in str(caught.value)
    assert "restore the directory from a backup" in str(caught.value)


def test_pages_of_garbage_are_found(path: Path) -> None:
    filled(path)
    file = path / "index.db"
    content = bytearray(file.read_bytes())
    content[8192:-8192] = b"\xa5" * (len(content) - 16384)
    file.write_bytes(content)
    with pytest.raises(IndexCorruptedError, match=r"index\.db.*restore"), embedded(path) as index:
        list(index.load())


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100], ids=["empty", "foreign"])
def test_a_file_that_is_no_database_is_found(path: Path, content: bytes) -> None:
    filled(path)
    (path / "index.db").write_bytes(content)
    with pytest.raises(IndexCorruptedError, match=r"index\.db"):
        embedded(path)
    with pytest.raises(IndexCorruptedError, match=r"index\.db"):
        IndexDirectory.inspect(path)


def test_a_truncated_file_is_found(path: Path) -> None:
    filled(path)
    file = path / "index.db"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(IndexCorruptedError, match=r"index\.db"), embedded(path) as index:
        list(index.load())


def test_a_lost_stamp_is_found(path: Path) -> None:
    with keywords(path) as index:
        index._connection.execute("DELETE FROM rag_metadata WHERE key = 'generation'")
    with pytest.raises(IndexCorruptedError, match="generation"):
        keywords(path)


# --- writing that fails ----------------------------------------------------------------------------------------------


def test_a_full_disk_changes_nothing(path: Path) -> None:
    with keywords(path) as index:
        index.put(document("a", "kept"))
        (pages,) = index._connection.execute("PRAGMA page_count").fetchone()
        index._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(PersistenceError, match=r"disk is full while storing document 'a'.*free some space"):
            index.put(document("a", *(["a long text " * 50] * 100)))
        assert list(index.load()) == [document("a", "kept")]
        index._connection.execute("PRAGMA max_page_count = 100000")
        index.put(document("b", "after"))
    with keywords(path) as index:
        assert list(index.load()) == [document("a", "kept"), document("b", "after")]


def test_an_interrupted_write_is_rolled_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with keywords(path) as index:
        index.put(document("a", "kept"))

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr("ragstone.persistence.directory.write_stamps", interrupt)
            with pytest.raises(KeyboardInterrupt):
                index.put(document("a", "lost"))
        assert list(index.load()) == [document("a", "kept")]
        index.put(document("b"))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX's here")
def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(PersistenceError, match="Permission denied"):
        keywords(tmp_path / "new")


# --- threads and processes -------------------------------------------------------------------------------------------


@pytest.mark.case("S-079")
async def test_any_thread_may_use_it(path: Path) -> None:
    index = keywords(path)
    await asyncio.to_thread(index.put, document("a", "hit"))
    assert await asyncio.to_thread(index.fingerprint, "a") == "f"
    assert await asyncio.to_thread(lambda: list(index.load())) == [document("a", "hit")]
    index.close()


def test_many_threads_at_once(path: Path) -> None:
    with keywords(path) as index:

        def work(worker: int) -> None:
            for number in range(10):
                index.put(document(f"{worker}-{number}", "one", "two"))
                assert index.fingerprint(f"{worker}-{number}") == "f"
                if number % 2:
                    index.delete(f"{worker}-{number}")
                assert all(len(loaded.chunks) == 2 for loaded in index.load())

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert index.documents() == sorted(f"{worker}-{number}" for worker in range(4) for number in range(0, 10, 2))


def test_one_writer_many_readers(path: Path) -> None:
    with keywords(path) as writer, keywords(path) as reader:
        writer.put(document("a"))
        assert reader.documents() == ["a"]
        with pytest.raises(PersistenceError, match="another process or pipeline is writing"):
            reader.put(document("b"))
        writer.put(document("c"))
        writer.close()
        with pytest.raises(PersistenceError, match="open it again"):
            reader.delete("a")
    with keywords(path) as index:
        assert index.documents() == ["a", "c"]
        index.put(document("b"))


WRITER = """
import sys
sys.path.insert(0, {tests!r})
from test_index_directory import document, embedded
from pathlib import Path

with embedded(Path(sys.argv[1])) as index:
    for number in range(1_000_000):
        name = f"document-{{number % 40:02}}"
        index.put(document(name, *(["version %d" % number] * 20), fingerprint=str(number), dimensions=3))
        print(number, flush=True)
"""


@pytest.mark.row("J3")
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("acknowledged", [0, 7, 90])
def test_kill_9_loses_nothing_acknowledged(path: Path, acknowledged: int) -> None:
    code = WRITER.format(tests=str(Path(__file__).parent))
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        while int(writer.stdout.readline()) < acknowledged:
            pass
        writer.send_signal(signal.SIGKILL)
        last = max([acknowledged, *map(int, writer.stdout.read().split())])
    with embedded(path) as index:
        loaded = {stored.document_id: stored for stored in index.load()}
        assert len(loaded) >= min(last + 1, 40)
        newest = max(int(stored.fingerprint) for stored in loaded.values())
        assert newest in (last, last + 1)
        for stored in loaded.values():
            assert {chunk.text for chunk in stored.chunks} == {f"version {stored.fingerprint}"}
            assert len(stored.chunks) == 20
        index.put(document("after", dimensions=3))


def test_a_second_process_gets_a_clear_error(path: Path) -> None:
    code = WRITER.format(tests=str(Path(__file__).parent))
    with embedded(path) as index:
        index.put(document("a", dimensions=3))
        finished = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
        )
    assert finished.returncode == 1
    assert "another process or pipeline is writing to this index" in finished.stderr
    assert not finished.stdout

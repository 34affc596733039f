"""Sparse vectors and parents on disk, and indexes of the format before them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ragstone.errors import IndexCorruptedError, InvalidInputError, PersistenceError
from ragstone.models import StoredDocument, TextChunk
from ragstone.persistence import IndexDirectory
from ragstone.persistence.lock import WriterLock
from ragstone.sparse_vector import SparseVector

MODEL = "some/model@1"
FORMAT_1 = Path(__file__).with_name("format_1.sql")

WHOLE = StoredDocument(
    document_id="leave",
    fingerprint="f",
    source=None,
    chunks=(TextChunk("Paid leave.", "leave", 0, 0, 11), TextChunk("Ask first.", "leave", 1, 12, 22, {"page": 2})),
    vectors=np.array([[1, 0, 0], [0, 1, 0]], dtype=np.float32),
    sparse=(SparseVector.from_dict({2**32 - 1: 0.1, 7: 2.5}), SparseVector.from_dict({})),
    sparse_encoder="splade:small",
    parents=(
        TextChunk("Paid leave. Ask", "leave", 0, 0, 15, {"heading": "Leave"}),
        TextChunk("Ask first.", "leave", 1, 12, 22),
    ),
)


def opened(path: Path) -> IndexDirectory:
    return IndexDirectory.open(path, embedder_identity=MODEL, dimensions=3)


@pytest.mark.row("B4")
@pytest.mark.row("G1")
def test_they_come_back_as_they_were(tmp_path: Path) -> None:
    with opened(tmp_path / "x") as index:
        index.put(WHOLE)
        index.put(
            replace(
                WHOLE, document_id="plain", chunks=_renamed(WHOLE.chunks), sparse=None, sparse_encoder=None, parents=()
            )
        )
    with opened(tmp_path / "x") as index:
        leave, plain = index.load()
    assert leave == WHOLE
    assert [dict(parent.metadata) for parent in leave.parents] == [{"heading": "Leave"}, {}]
    assert (plain.sparse, plain.sparse_encoder, plain.parents) == (None, None, ())


@pytest.mark.row("B4")
@pytest.mark.row("G1")
def test_they_are_replaced_and_deleted_with_their_document(tmp_path: Path) -> None:
    with opened(tmp_path / "x") as index:
        index.put(WHOLE)
        index.put(replace(WHOLE, sparse=None, sparse_encoder=None, parents=WHOLE.parents[:1]))
        [document] = index.load()
        assert (document.sparse, document.parents) == (None, WHOLE.parents[:1])
        index.delete("leave")
        with sqlite3.connect(tmp_path / "x" / "index.db") as database:
            assert database.execute("SELECT count(*) FROM parents").fetchone() == (0,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sparse_encoder": None}, "one sparse vector a chunk and their encoder, or with neither"),
        ({"sparse": None}, "one sparse vector a chunk and their encoder, or with neither"),
        ({"sparse": (SparseVector.from_dict({1: 1.0}),)}, "one sparse vector a chunk"),
        ({"parents": (TextChunk("x", "other", 0, 0, 1),)}, "all of them its own, and so its parents"),
        ({"parents": WHOLE.parents[::-1]}, r"its parents in rising order of chunk_index, not \[1, 0\]"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changes(tmp_path: Path, changes, message) -> None:
    with opened(tmp_path / "x") as index:
        index.put(WHOLE)
        with pytest.raises(InvalidInputError, match=message):
            index.put(replace(WHOLE, fingerprint="g", **changes))
        assert list(index.load()) == [WHOLE]


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE chunks SET sparse = X'00' WHERE chunk_index = 0", "checksum of chunk 0"),
        ("UPDATE chunks SET sparse = NULL WHERE chunk_index = 0", "checksum of chunk 0"),
        ("UPDATE parents SET text = 'other' WHERE parent_index = 1", "checksum of parent 1"),
        ("DELETE FROM parents WHERE parent_index = 1", "the document's checksum"),
        ("DELETE FROM parents", "the document's checksum"),
        ("UPDATE documents SET sparse_encoder = 'another'", "the document's checksum"),
        ("UPDATE documents SET sparse_encoder = NULL", "the document's checksum"),
    ],
)
def test_damage_is_found_where_it_is_read(tmp_path: Path, damage: str, named: str) -> None:
    with opened(tmp_path / "x") as index:
        index.put(WHOLE)
    with sqlite3.connect(tmp_path / "x" / "index.db") as database:
        database.execute(damage)
    with opened(tmp_path / "x") as index, pytest.raises(IndexCorruptedError, match=f"'leave' is damaged.*{named}"):
        list(index.load())


# --- the format before


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """An index as format 1 wrote it."""
    path = tmp_path / "older.rag"
    path.mkdir()
    with sqlite3.connect(path / "index.db") as database:
        database.executescript(FORMAT_1.read_text(encoding="utf-8"))
    database.close()
    return path


def test_an_older_index_is_brought_to_this_format_with_all_that_is_in_it(older: Path) -> None:
    assert IndexDirectory.inspect(older).format_version == 1
    with opened(older) as index:
        fox, leave = index.load()
        assert [chunk.text for chunk in leave.chunks] == ["Paid leave is 16 weeks.", "Ask your manager."]
        assert dict(leave.chunks[0].metadata) == {"lang": "en", "year": 2026}
        assert leave.vectors is not None
        assert leave.vectors.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert (fox.fingerprint, fox.sparse, fox.parents) == ("f2", None, ())
        index.put(WHOLE)
    with opened(older) as index:
        assert list(index.load())[1] == WHOLE
    info = IndexDirectory.inspect(older)
    assert (info.format_version, info.documents) == (2, 2)


def test_an_older_index_that_another_process_writes_to_is_left_alone(older: Path) -> None:
    writer = WriterLock(older / "writer.lock")
    writer.acquire()
    try:
        with pytest.raises(PersistenceError, match="another process or pipeline is writing"):
            opened(older)
        assert IndexDirectory.inspect(older).format_version == 1
    finally:
        writer.release()
    opened(older).close()


def test_a_failed_upgrade_changes_nothing(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr("ragstone.persistence.schema.write_stamps", fail)
        with pytest.raises(PersistenceError):
            opened(older)
    with sqlite3.connect(older / "index.db") as database:
        assert "sparse" not in {row[1] for row in database.execute("PRAGMA table_info(chunks)")}
    with opened(older) as index:
        assert index.documents() == ["fox", "leave"]


def _renamed(chunks: tuple[TextChunk, ...]) -> tuple[TextChunk, ...]:
    return tuple(replace(chunk, document_id="plain") for chunk in chunks)

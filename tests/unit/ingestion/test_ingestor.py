import asyncio
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest

from ragstone.errors import (
    ConfigurationError,
    DimensionMismatchError,
    DocumentExistsError,
    EmbeddingError,
    EmptyDocumentError,
    IngestionError,
    InvalidInputError,
    MetadataError,
    ParseError,
    PersistenceError,
    RagError,
    StoreError,
    UnsupportedContentTypeError,
)
from ragstone.ingestion import Ingestor, MarkdownChunker, RecursiveChunker, TextParser, default_parsers
from ragstone.models import EmbeddedChunk, IngestionStatus, ParsedDocument, SearchOptions, TextChunk, Vectors
from ragstone.options import IngestionOptions
from ragstone.stores import InMemoryBm25Index, InMemoryVectorStore
from ragstone.testing import FailingEmbedder, HangingEmbedder, HashEmbedder
from support.documents import MemoryJournal, Shelf, about, pdf, plain, texts, writing_docx

FIVE = "\n\n".join(f"Paragraph number {word} of five." for word in ("one", "two", "three", "four", "five"))
FIVE_CHUNKS = FIVE.split("\n\n")
BY_PARAGRAPH = RecursiveChunker(max_size=34, overlap=0)


class Answering(HashEmbedder):
    """An embedder whose answer the test makes up."""

    def __init__(self, answer: object, dimensions: int = 2) -> None:
        super().__init__(dimensions)
        self.answer = answer

    async def embed(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        return self.answer(texts) if callable(self.answer) else self.answer  # type: ignore[return-value]


class BrokenIndex(InMemoryBm25Index):
    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        raise RuntimeError("the index broke")


class BrokenStore(InMemoryVectorStore):
    """Fails to store, as a whole, as a store must."""

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        raise StoreError("the store is away")


class PlainStore:
    """A store without a step that replaces a document; `fail_at` chunks it breaks."""

    def __init__(self) -> None:
        self.inner = InMemoryVectorStore()
        self.broken = False

    async def initialize(self) -> None: ...

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        if self.broken:
            raise StoreError("the store is away")
        await self.inner.store(chunks)

    async def search(self, embedding: Vectors, options: SearchOptions) -> list[object]:
        return []

    async def delete_by_document_id(self, document_id: str) -> None:
        await self.inner.delete_by_document_id(document_id)


# What goes in


@pytest.mark.row("H1")
async def test_a_document_goes_through_every_step() -> None:
    shelf = Shelf(HashEmbedder(), chunker=MarkdownChunker())
    result = await shelf.ingestor.ingest(
        b"# Leave\n\n16 weeks.", about("handbook", content_type="text/markdown", tags={"dept": "hr", "year": 2026})
    )
    assert (result.document_id, result.status, result.chunks_stored) == ("handbook", IngestionStatus.STORED, 1)
    (chunk,) = shelf.index.chunks("handbook")
    assert chunk == shelf.store.chunks("handbook")[0]
    assert (chunk.text, chunk.start, chunk.end) == ("# Leave\n\n16 weeks.", 0, 18)
    assert chunk.metadata == {
        "heading": "Leave",
        "heading_level": "1",
        "heading_breadcrumb": "Leave",
        "dept": "hr",
        "year": 2026,
    }
    (hit,) = await shelf.store.search(HashEmbedder().vectors([chunk.text])[0], SearchOptions(top_k=5))
    assert hit.score == pytest.approx(1.0)
    assert [hit.chunk for hit in shelf.index.search("weeks", 5)] == [chunk]


async def test_paths_bytes_and_open_files(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"from a file")
    shelf = Shelf()
    result = await shelf.ingestor.ingest(path, about("path"))
    assert result.source == str(path)
    await shelf.ingestor.ingest(str(path), about("string"))
    await shelf.ingestor.ingest(bytearray(b"from bytes"), about("bytes", file_name="x.txt"))
    await shelf.ingestor.ingest(BytesIO(b"from a stream"), about("stream", content_type="text/plain"))
    with path.open("rb") as file:
        await shelf.ingestor.ingest(file, about("open"))
    assert [texts(shelf.index.chunks(name))[0] for name in ("path", "string", "bytes", "stream", "open")] == [
        "from a file",
        "from a file",
        "from bytes",
        "from a stream",
        "from a file",
    ]


async def test_every_format_reaches_the_index() -> None:
    with writing_docx() as (document, file):
        document.add_paragraph("A letter.")
    shelf = Shelf(HashEmbedder())
    for name, content in (
        ("a.html", b"<h1>Page</h1><p>A page."),
        ("a.pdf", pdf("A paper.")),
        ("a.docx", file.getvalue()),
    ):
        await shelf.ingestor.ingest(content, about(name, file_name=name))
    assert shelf.texts("a.html") == ["Page\n\nA page."]
    assert shelf.texts("a.pdf") == ["A paper."]
    assert shelf.texts("a.docx") == ["A letter."]


async def test_text_at_hand_keeps_its_offsets_whatever_the_parsers_encoding() -> None:
    shelf = Shelf(parsers=(TextParser(encoding="latin-1"), *default_parsers()))
    await shelf.ingestor.ingest_text("\ufeffmötley 漢字", about("text"))
    await shelf.ingestor.ingest_text("# A\nb", about("markdown", file_name="x.md"))
    assert shelf.index.chunks("text")[0].text == "\ufeffmötley 漢字"
    assert shelf.index.chunks("markdown")[0].metadata["heading"] == "A"


@pytest.mark.row("H4")
async def test_dates_are_iso_text_and_only_there_when_set() -> None:
    shelf = Shelf()
    created = datetime(2026, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    await shelf.ingestor.ingest_text("x", about("both", created_at=created, updated_at=datetime(2026, 4, 1)))  # noqa: DTZ001
    await shelf.ingestor.ingest_text("x", about("none", tags={"when": datetime(2026, 5, 1, tzinfo=UTC), "ok": True}))
    assert shelf.index.chunks("both")[0].metadata == {
        "created_at": "2026-03-01T12:30:00+02:00",
        "updated_at": "2026-04-01T00:00:00+00:00",
    }
    assert shelf.index.chunks("none")[0].metadata == {"when": datetime(2026, 5, 1, tzinfo=UTC), "ok": True}


@pytest.mark.case("S-031", "S-083")
async def test_a_tag_of_none_is_left_out() -> None:
    shelf = Shelf(HashEmbedder())
    await shelf.ingestor.ingest_text("hello", about("doc", tags={"author": None, "year": 2020, "score": None}))
    assert shelf.store.chunks("doc")[0].metadata == {"year": 2020}
    assert shelf.index.chunks("doc")[0].metadata == {"year": 2020}
    with pytest.raises(MetadataError, match="'author' is None"):
        shelf.index.search("hello", 5, {"author": None})  # type: ignore[dict-item]


@pytest.mark.case("S-034")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2**53 + 1, [1], {"a": 1}])
async def test_a_tag_that_no_store_can_hold_is_refused(value: object) -> None:
    with pytest.raises(MetadataError, match="'w'"):
        about("doc", tags={"w": value})


@pytest.mark.parametrize(
    "key", ["document_id", "chunk_index", "text", "page", "page_end", "heading_level", "created_at"]
)
async def test_reserved_keys_are_refused(key: str) -> None:
    with pytest.raises(MetadataError, match=f"'{key}' is a reserved"):
        about("doc", tags={key: "x"})


# Bad input: a clear error, and nothing stored


@pytest.mark.row("H2", "L3")
@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0", ParseError, "not utf-8 text"),
        ("a.txt", b"abc\0def", ParseError, "a NUL character at character offset 3"),
        ("a.md", "größe".encode("latin-1"), ParseError, "byte offset 2"),
        ("a.txt", b"", EmptyDocumentError, "holds no text"),
        ("a.txt", b" \n\t ", EmptyDocumentError, "holds no text"),
        ("a.md", b"---\ntitle: x\n---\n", EmptyDocumentError, "holds no text"),
        ("a.pdf", pdf(""), EmptyDocumentError, "needs text recognition"),
        ("a.pdf", b"%PDF-1.4 broken", ParseError, "not a readable PDF"),
        ("a.docx", b"PK\x03\x04", ParseError, "not a readable DOCX"),
        ("a.mp4", b"x", UnsupportedContentTypeError, "text/markdown"),
        ("Makefile", b"x", UnsupportedContentTypeError, "'Makefile' does not tell its type"),
    ],
)
async def test_bad_input_is_an_error_and_nothing_is_stored(
    name: str, content: bytes, error: type[IngestionError], message: str
) -> None:
    shelf = Shelf(embedder := HashEmbedder(), journal=(journal := MemoryJournal()))
    with pytest.raises(error, match=re.escape(message)) as caught:
        await shelf.ingestor.ingest(content, about("bad", file_name=name))
    assert caught.value.document_id == "bad"
    assert shelf.is_empty
    assert journal.documents == {}
    assert embedder.calls == 0


@pytest.mark.row("L3")
async def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    shelf = Shelf()
    for source, message in (
        (tmp_path / "missing.txt", "No such file"),
        (tmp_path, "is a directory: take it in with ingest_many"),
        ("a\0b.txt", "not a path"),
        ("SECRET text " * 500, "a path of 6000 characters"),
        ("SECRET\ntext", "a path of 11 characters"),
    ):
        with pytest.raises(IngestionError, match=message) as caught:
            await shelf.ingestor.ingest(source, about("bad"))
        assert "SECRET" not in str(caught.value)
    for wrong in (StringIO("text"), 7, None):
        with pytest.raises(InvalidInputError):
            await shelf.ingestor.ingest(wrong, about("bad", content_type="text/plain"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="bytes and files go to ingest"):
        await shelf.ingestor.ingest_text(b"x", about("bad"))  # type: ignore[arg-type]
    assert shelf.is_empty


async def test_an_id_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="not valid Unicode"):
        about("caf\udce9")


async def test_parts_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs a store"):
        Ingestor(store=None, keyword_index=InMemoryBm25Index(), embedder=HashEmbedder())
    with pytest.raises(ConfigurationError, match="at least one parser"):
        Ingestor(store=None, keyword_index=InMemoryBm25Index(), embedder=None, parsers=())


async def test_a_chunker_that_numbers_wrongly_is_refused() -> None:
    class Twice:
        identity = "twice"

        def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
            return [TextChunk("a", document_id, 0), TextChunk("b", document_id, 0)]

    shelf = Shelf(chunker=Twice())
    with pytest.raises(InvalidInputError, match="chunker twice must give"):
        await shelf.ingestor.ingest_text("x", about("doc"))
    assert shelf.is_empty


# Embedding


@pytest.mark.case("S-057")
async def test_every_chunk_gets_its_own_vector_or_nothing_is_stored() -> None:
    text = "\n\n".join(f"{'Chunk':>15} {number:0>14}" for number in range(250))
    calls: list[int] = []

    class Limited(Answering):
        """Splits what it is given into calls of 100, as an adapter of a limited service does."""

        fails = False

        async def embed(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
            for first in range(0, len(texts), 100):
                calls.append(len(texts[first : first + 100]))
                if self.fails and len(calls) == 2:
                    raise EmbeddingError("call 2 failed")
            return np.array([(int(text.split()[1]), 1) for text in texts], dtype=np.float32)

    embedder = Limited(None)
    shelf = Shelf(embedder, chunker=RecursiveChunker(max_size=34, overlap=0))
    await shelf.ingestor.ingest_text(text, about("doc"))
    assert calls == [100, 100, 50]
    vectors = await shelf.store.embeddings([chunk.key for chunk in shelf.store.chunks("doc")])
    for number, (chunk, vector) in enumerate(zip(shelf.store.chunks("doc"), vectors, strict=True)):
        assert int(chunk.text.split()[1]) == number
        assert vector is not None
        assert vector[0] == pytest.approx(number * vector[1])

    embedder.fails = True
    calls.clear()
    with pytest.raises(EmbeddingError, match="document 'other': call 2 failed"):
        await shelf.ingestor.ingest_text(text, about("other"))
    assert shelf.texts("other") == []


@pytest.mark.case("S-058")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.ones((2, 2), np.float32), ["3", "2"]),
        (np.ones((4, 2), np.float32), ["3", "4"]),
        (np.ones((3, 5), np.float32), ["2", "5", "dimensions"]),
        ([[1.0, 0.0], [1.0], [0.0, 1.0]], ["different lengths"]),
        (np.array([[1, 0], [np.nan, 1], [0, 1]], np.float32), ["chunk 1", "NaN"]),
    ],
)
async def test_a_wrong_answer_of_the_embedder_is_an_error(answer: object, words: list[str]) -> None:
    shelf = Shelf(Answering(answer), chunker=BY_PARAGRAPH)
    with pytest.raises(EmbeddingError) as caught:
        await shelf.ingestor.ingest_text("\n\n".join(FIVE_CHUNKS[:3]), about("doc"))
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    assert shelf.is_empty


@pytest.mark.case("S-087")
async def test_one_bad_text_fails_the_document_and_is_named() -> None:
    def refuse(texts: Sequence[str]) -> Vectors:
        if any("three" in text for text in texts):
            raise ValueError("too long")
        return np.ones((len(texts), 2), np.float32)

    shelf = Shelf(Answering(refuse), chunker=BY_PARAGRAPH)
    with pytest.raises(EmbeddingError, match="document 'doc', chunk 2: ") as caught:
        await shelf.ingestor.ingest_text(FIVE, about("doc"))
    assert caught.value.text_index == 2
    assert "three" not in str(caught.value)
    assert shelf.is_empty
    assert shelf.index.search("one", 5) == []


async def test_without_an_embedder_a_document_is_found_by_keywords() -> None:
    shelf = Shelf(journal=(journal := MemoryJournal()))
    await shelf.ingestor.ingest_text("hello world", about("doc"))
    assert len(shelf.store) == 0
    assert [hit.chunk.text for hit in shelf.index.search("hello", 5)] == ["hello world"]
    assert journal.documents["doc"].vectors is None


# Overwriting, unchanged documents, deleting


@pytest.mark.row("H6")
async def test_ingesting_again_replaces_every_trace() -> None:
    shelf = Shelf(HashEmbedder(), chunker=BY_PARAGRAPH, journal=(journal := MemoryJournal()))
    await shelf.ingestor.ingest_text(FIVE, about("doc", tags={"old": True}))
    await shelf.ingestor.ingest_text("Something else.", about("doc"))
    assert shelf.texts("doc") == ["Something else."]
    assert shelf.index.search("paragraph", 5) == []
    assert len(shelf.store) == len(shelf.index) == 1
    assert texts(journal.documents["doc"].chunks) == ["Something else."]


@pytest.mark.row("H6")
async def test_deleting_removes_every_trace() -> None:
    shelf = Shelf(HashEmbedder(), journal=(journal := MemoryJournal()))
    await shelf.ingestor.ingest_text(FIVE, about("doc"))
    await shelf.ingestor.ingest_text(FIVE, about("other"))
    assert await shelf.ingestor.delete("doc") is True
    assert shelf.texts("doc") == []
    assert shelf.texts("other") != []
    assert set(journal.documents) == {"other"}
    assert await shelf.ingestor.delete("doc") is False


async def test_a_deleted_document_is_not_unchanged() -> None:
    shelf = Shelf()
    await shelf.ingestor.ingest_text("x", about("doc"))
    assert await shelf.ingestor.delete("doc") is True
    assert (await shelf.ingestor.ingest_text("x", about("doc"))).status is IngestionStatus.STORED


@pytest.mark.row("H7")
@pytest.mark.parametrize("journal", [None, MemoryJournal()], ids=["in memory", "journal"])
async def test_an_unchanged_document_is_not_worked_on(journal: MemoryJournal | None) -> None:
    embedder = HashEmbedder()
    shelf = Shelf(embedder, journal=journal)
    assert (await shelf.ingestor.ingest_text("x", about("doc", tags={"a": 1}))).status is IngestionStatus.STORED
    again = await shelf.ingestor.ingest_text("x", about("doc", tags={"a": 1}))
    assert (again.status, again.chunks_stored) == (IngestionStatus.UNCHANGED, 0)
    assert embedder.calls == 1
    forced = IngestionOptions(skip_unchanged=False)
    assert (
        await shelf.ingestor.ingest_text("x", about("doc", tags={"a": 1}), options=forced)
    ).status is IngestionStatus.STORED
    assert embedder.calls == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"tags": {"a": 2}},
        {"tags": {"a": "1"}},
        {"tags": {"a": True}},
        {"tags": {}},
        {"updated_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"created_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"content_type": "text/markdown"},
    ],
)
async def test_whatever_shapes_the_chunks_is_a_change(changed: dict[str, object]) -> None:
    shelf = Shelf()
    first = {"tags": {"a": 1}, "content_type": "text/plain"}
    await shelf.ingestor.ingest_text("x", about("doc", **first))
    assert (
        await shelf.ingestor.ingest_text("x", about("doc", **{**first, **changed}))
    ).status is IngestionStatus.STORED


async def test_other_parts_are_a_change() -> None:
    journal = MemoryJournal()
    for parts in (
        {"chunker": RecursiveChunker()},
        {"chunker": RecursiveChunker(overlap=49)},
        {"chunker": MarkdownChunker()},
        {"parsers": (TextParser(encoding="ascii"),)},
    ):
        for embedder in (None, HashEmbedder(8), HashEmbedder(16)):
            shelf = Shelf(embedder, journal=journal, **parts)
            assert (await shelf.ingestor.ingest_text("x", about("doc"))).status is IngestionStatus.STORED
            assert (await shelf.ingestor.ingest_text("x", about("doc"))).status is IngestionStatus.UNCHANGED


async def test_the_order_of_tags_is_no_change() -> None:
    shelf = Shelf()
    await shelf.ingestor.ingest_text("x", about("doc", tags={"a": 1, "b": 2}))
    again = await shelf.ingestor.ingest_text("x", about("doc", tags={"b": 2, "a": 1}))
    assert again.status is IngestionStatus.UNCHANGED


@pytest.mark.row("H6")
async def test_overwriting_can_be_refused() -> None:
    shelf = Shelf(HashEmbedder())
    careful = IngestionOptions(overwrite=False)
    await shelf.ingestor.ingest_text("first", about("doc"), options=careful)
    assert (
        await shelf.ingestor.ingest_text("first", about("doc"), options=careful)
    ).status is IngestionStatus.UNCHANGED
    with pytest.raises(DocumentExistsError, match="'doc' is stored already and overwrite=False"):
        await shelf.ingestor.ingest_text("second", about("doc"), options=careful)
    assert shelf.texts("doc") == ["first"]


# One document is one unit


async def test_a_failing_embedder_leaves_the_earlier_version() -> None:
    shelf = Shelf(FailingEmbedder(after=1), journal=(journal := MemoryJournal()))
    await shelf.ingestor.ingest_text("first", about("doc"))
    with pytest.raises(EmbeddingError):
        await shelf.ingestor.ingest_text("second", about("doc"))
    assert shelf.texts("doc") == ["first"]
    assert texts(journal.documents["doc"].chunks) == ["first"]


async def test_a_failing_journal_leaves_the_earlier_version() -> None:
    journal = MemoryJournal()
    shelf = Shelf(HashEmbedder(), journal=journal)
    await shelf.ingestor.ingest_text("first", about("doc"))
    journal.fail = PersistenceError("disk full")
    with pytest.raises(PersistenceError, match="disk full"):
        await shelf.ingestor.ingest_text("second", about("doc"))
    assert shelf.texts("doc") == ["first"]


async def test_a_store_that_fails_whole_leaves_the_earlier_version() -> None:
    shelf = Shelf(HashEmbedder())
    await shelf.ingestor.ingest_text("first", about("doc"))
    shelf.store.__class__ = BrokenStore
    with pytest.raises(StoreError):
        await shelf.ingestor.ingest_text("second", about("doc"))
    assert shelf.texts("doc") == ["first"]
    assert (await shelf.ingestor.ingest_text("first", about("doc"))).status is IngestionStatus.UNCHANGED


@pytest.mark.row("H6")
async def test_a_store_that_fails_behind_a_journal_leaves_no_trace() -> None:
    journal = MemoryJournal()
    shelf = Shelf(HashEmbedder(), journal=journal)
    await shelf.ingestor.ingest_text("first", about("doc"))
    shelf.store.__class__ = BrokenStore
    with pytest.raises(StoreError) as caught:
        await shelf.ingestor.ingest_text("second", about("doc"))
    assert any("was removed" in note for note in caught.value.__notes__)
    assert journal.documents == {}
    assert shelf.is_empty


async def test_a_failing_keyword_index_leaves_no_trace() -> None:
    shelf = Shelf(HashEmbedder(), index=BrokenIndex(), journal=(journal := MemoryJournal()))
    with pytest.raises(RuntimeError, match="the index broke"):
        await shelf.ingestor.ingest_text("text", about("doc"))
    assert shelf.is_empty
    assert journal.documents == {}


async def test_a_store_without_replacement_that_fails_leaves_no_trace() -> None:
    store, index = PlainStore(), InMemoryBm25Index()
    ingestor = Ingestor(store=store, keyword_index=index, embedder=HashEmbedder())  # type: ignore[arg-type]
    await ingestor.ingest_text("first", about("doc"))
    assert texts(store.inner.chunks("doc")) == texts(index.chunks("doc")) == ["first"]
    await ingestor.ingest_text("other", about("doc"))
    assert texts(store.inner.chunks("doc")) == texts(index.chunks("doc")) == ["other"]
    store.broken = True
    with pytest.raises(StoreError):
        await ingestor.ingest_text("second", about("doc"))
    assert len(store.inner) == len(index) == 0
    store.broken = False
    assert (await ingestor.ingest_text("other", about("doc"))).status is IngestionStatus.STORED


async def test_another_dimension_than_the_store_holds_changes_nothing() -> None:
    store = InMemoryVectorStore()
    shelf = Shelf(HashEmbedder(8), store=store)
    await shelf.ingestor.ingest_text("first", about("doc"))
    other = Shelf(HashEmbedder(16), store=store, index=shelf.index)
    with pytest.raises(DimensionMismatchError):
        await other.ingestor.ingest_text("second", about("doc"))
    assert shelf.texts("doc") == ["first"]


async def test_deleting_tries_every_place() -> None:
    class Stuck(InMemoryVectorStore):
        async def delete_by_document_id(self, document_id: str) -> None:
            raise StoreError("away")

    shelf = Shelf(HashEmbedder(), store=Stuck())
    await shelf.ingestor.ingest_text("text", about("doc"))
    with pytest.raises(StoreError, match="away"):
        await shelf.ingestor.delete("doc")
    assert len(shelf.index) == 0


# Concurrency and cancellation


async def test_of_ingestions_of_one_id_the_last_one_wins_whole() -> None:
    shelf = Shelf(HashEmbedder(), chunker=BY_PARAGRAPH)
    versions = [FIVE.replace("Paragraph", f"V{number}") for number in range(8)]
    await asyncio.gather(*(shelf.ingestor.ingest_text(text, about("doc")) for text in versions))
    assert shelf.texts("doc") == versions[-1].split("\n\n")


async def test_documents_do_not_wait_for_each_other() -> None:
    together = asyncio.Barrier(2)

    class Meeting(HashEmbedder):
        async def embed(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
            await together.wait()
            return self.vectors(texts)

    shelf = Shelf(Meeting())
    async with asyncio.timeout(10):
        await asyncio.gather(*(shelf.ingestor.ingest_text("x", about(name)) for name in ("a", "b")))


@pytest.mark.row("L4")
async def test_cancelled_while_embedding_nothing_is_stored_and_the_id_is_free() -> None:
    embedder = HangingEmbedder()
    shelf = Shelf(embedder, journal=(journal := MemoryJournal()))
    task = asyncio.create_task(shelf.ingestor.ingest_text("x", about("doc")))
    await embedder.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert embedder.cancelled == 1
    assert shelf.is_empty
    assert journal.documents == {}
    embedder.release.set()
    assert (await shelf.ingestor.ingest_text("x", about("doc"))).status is IngestionStatus.STORED


class SlowStore(InMemoryVectorStore):
    """Waits in the middle of a commit."""

    def __init__(self, *, fail: bool = False) -> None:
        super().__init__()
        self.started, self.release, self.fail = asyncio.Event(), asyncio.Event(), fail

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        self.started.set()
        await self.release.wait()
        if self.fail:
            raise StoreError("away")
        await super().replace_document(document_id, chunks)


@pytest.mark.row("L4")
@pytest.mark.parametrize("times", [1, 2])
async def test_cancelled_while_committing_the_document_is_whole(times: int) -> None:
    store = SlowStore()
    shelf = Shelf(HashEmbedder(), store=store, journal=(journal := MemoryJournal()))
    task = asyncio.create_task(shelf.ingestor.ingest_text("x", about("doc")))
    await store.started.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.01)
    assert not task.done()
    store.release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shelf.texts("doc") == ["x"]
    assert set(journal.documents) == {"doc"}


@pytest.mark.row("L4")
async def test_cancelled_while_a_commit_fails_no_trace_is_left() -> None:
    store = SlowStore(fail=True)
    shelf = Shelf(HashEmbedder(), store=store, journal=(journal := MemoryJournal()))
    task = asyncio.create_task(shelf.ingestor.ingest_text("x", about("doc")))
    await store.started.wait()
    task.cancel()
    store.release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shelf.is_empty
    assert journal.documents == {}


async def test_no_error_of_the_package_is_outside_its_tree() -> None:
    shelf = Shelf()
    for content in (b"", b"\0", b"\xff", b"x"):
        try:
            await shelf.ingestor.ingest(content, about("doc", content_type="text/plain"))
        except RagError:
            continue
        assert plain(content.decode()).text == "x"

import asyncio
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragstone.errors import InvalidInputError
from ragstone.models import (
    DocumentMetadata,
    IngestionProgress,
    IngestionReport,
    IngestionStatus,
    ParsedDocument,
    TextChunk,
)
from ragstone.options import IngestionOptions
from ragstone.testing import HangingEmbedder, HashEmbedder
from support.documents import MemoryJournal, Shelf, about, pdf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name, content in (
        ("index.md", b"# Index\nHello."),
        ("guide/start.txt", b"Start here."),
        ("guide/deep/page.html", b"<h1>Page</h1>text"),
        ("guide/paper.pdf", pdf("A paper.")),
        ("guide/binary.txt", b"\x00\xff\x00"),
        ("guide/empty.md", b""),
        ("guide/code.rs", b"fn main() {}"),
        ("picture.png", b"\x89PNG"),
        (".hidden.md", b"hidden"),
        (".git/config.txt", b"hidden"),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


READ = {"index.md", "guide/start.txt", "guide/deep/page.html", "guide/paper.pdf"}


@pytest.mark.row("H7")
async def test_a_directory(folder: Path) -> None:
    shelf = Shelf(HashEmbedder())
    report = await shelf.ingestor.ingest_many(folder)
    assert set(shelf.index.documents()) == set(shelf.store.documents()) == READ
    assert (report.stored, report.unchanged, report.failed, report.skipped, report.chunks_stored) == (4, 0, 2, 2, 4)
    failures = {failure.document_id: failure for failure in report.failures}
    assert set(failures) == {"guide/binary.txt", "guide/empty.md"}
    for document_id, words in (("guide/binary.txt", "byte offset 1"), ("guide/empty.md", "holds no text")):
        failure = failures[document_id]
        assert failure.status is IngestionStatus.FAILED
        assert failure.error is not None
        assert words in failure.error
        assert "\n" not in failure.error
        assert failure.source == str(folder / document_id)


@pytest.mark.row("H7")
async def test_again_only_what_has_changed_is_worked_on(folder: Path) -> None:
    journal = MemoryJournal()
    await Shelf(HashEmbedder(), journal=journal).ingestor.ingest_many(folder)
    (folder / "index.md").write_bytes(b"# Index\nChanged.")
    embedder = HashEmbedder()
    report = await Shelf(embedder, journal=journal).ingestor.ingest_many(folder)
    assert (report.stored, report.unchanged, report.failed) == (1, 3, 2)
    assert [request.texts for request in embedder.requests] == [("# Index\nChanged.",)]


@pytest.mark.row("H7")
@pytest.mark.parametrize(
    ("pattern", "ids", "skipped"),
    [
        ("*.md", {"index.md"}, 0),
        ("**/*.txt", {"guide/start.txt"}, 0),
        ("guide/*.*", {"start.txt", "paper.pdf"}, 1),
        ("g*e/deep/page.htm?", {"guide/deep/page.html"}, 0),
        ("**/*", READ, 2),
    ],
)
async def test_a_pattern(folder: Path, pattern: str, ids: set[str], skipped: int) -> None:
    shelf = Shelf()
    report = await shelf.ingestor.ingest_many(str(folder / pattern))
    assert set(shelf.index.documents()) == ids
    assert report.skipped == skipped


async def test_a_relative_pattern(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    shelf = Shelf()
    await shelf.ingestor.ingest_many("*.md")
    await shelf.ingestor.ingest_many("guide/start.txt")
    assert set(shelf.index.documents()) == {"index.md", "guide/start.txt"}


async def test_a_pattern_without_a_match_and_a_missing_path_are_failures(tmp_path: Path) -> None:
    shelf = Shelf()
    report = await shelf.ingestor.ingest_many([str(tmp_path / "*.md"), tmp_path / "missing.md"])
    assert [failure.error for failure in report.failures] == [
        f"no file matches '{tmp_path}/*.md'",
        f"cannot read '{tmp_path}/missing.md': No such file or directory (a text goes to ingest_text)",
    ]


async def test_a_file_with_wildcards_in_its_name_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "what[1]?.md").write_bytes(b"text")
    shelf = Shelf()
    report = await shelf.ingestor.ingest_many(str(tmp_path / "what[1]?.md"))
    assert report.stored == 1


@pytest.mark.row("H7")
async def test_an_unknown_type_is_an_error_only_for_a_file_that_is_named(folder: Path) -> None:
    report = await Shelf().ingestor.ingest_many([folder / "picture.png"])
    assert (report.failed, report.skipped) == (1, 0)
    assert "image/png" in str(report.failures[0].error)


async def test_pairs_and_paths_together(folder: Path) -> None:
    shelf = Shelf()
    pairs = [
        folder / "index.md",
        (b"bytes", about("bytes", content_type="text/plain", tags={"kind": "b"})),
        (folder / "guide/start.txt", about("start")),
        folder / "guide/deep",
    ]
    report = await shelf.ingestor.ingest_many(pairs)
    assert report == IngestionReport(stored=4, chunks_stored=4)
    assert set(shelf.index.documents()) == {(folder / "index.md").as_posix(), "bytes", "start", "page.html"}
    assert shelf.index.chunks("bytes")[0].metadata == {"kind": "b"}


async def test_two_files_of_one_id_in_a_run_are_noticed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.md").write_text(name)
    shelf = Shelf()
    report = await shelf.ingestor.ingest_many([tmp_path / "a", tmp_path / "b"])
    assert (report.stored, report.failed) == (1, 1)
    assert "has the same id in this run" in str(report.failures[0].error)
    assert shelf.index.chunks("index.md")[0].text == "a"


@pytest.mark.parametrize("sources", [b"bytes", 7, None, ["a.md", 7], [("a.md", "id")], [(b"x", about("a"), 1)]])
async def test_what_cannot_be_ingested_is_refused(sources: object) -> None:
    with pytest.raises(InvalidInputError, match="path"):
        await Shelf().ingestor.ingest_many(sources)  # type: ignore[arg-type]


async def test_a_closed_directory_is_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def closed(path: Path) -> Iterator[os.DirEntry[str]]:
        if path.name == "guide":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    report = await Shelf().ingestor.ingest_many(folder)
    assert report.stored == 1
    assert [failure.error for failure in report.failures] == [
        f"cannot list the directory '{folder / 'guide'}': Permission denied"
    ]


async def test_links_that_lead_round_or_nowhere_are_left_out(folder: Path) -> None:
    (folder / "round").symlink_to(folder, target_is_directory=True)
    (folder / "nowhere.md").symlink_to(folder / "gone.md")
    (folder / "link.md").symlink_to(folder / "index.md")
    os.mkfifo(folder / "pipe.md")
    shelf = Shelf()
    async with asyncio.timeout(30):
        report = await shelf.ingestor.ingest_many(folder)
    assert set(shelf.index.documents()) == {*READ, "link.md"}
    assert report.skipped == 4


async def test_a_file_name_that_is_no_text_is_a_failure(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"text")
    except OSError:
        pytest.skip("this file system has only Unicode names")
    report = await Shelf().ingestor.ingest_many(tmp_path)
    assert "not valid Unicode" in str(report.failures[0].error)


async def test_an_error_that_is_not_ours_is_reported_by_its_kind() -> None:
    class Broken:
        identity = "broken"

        def chunk(self, document: ParsedDocument, document_id: str) -> list[object]:
            raise KeyError(document.text)

    report = await Shelf(chunker=Broken()).ingestor.ingest_many([(b"SECRET", about("a", content_type="text/plain"))])
    assert report.failures[0].error == "KeyError, see the log"


# Progress


@pytest.mark.row("H5")
async def test_progress_comes_after_each_document(folder: Path) -> None:
    seen: list[IngestionProgress] = []
    report = await Shelf().ingestor.ingest_many(folder, progress=seen.append)
    assert [step.documents_done for step in seen] == [1, 2, 3, 4, 5, 6]
    assert {step.documents_total for step in seen} == {6}
    assert seen[-1].chunks_stored == report.chunks_stored == 4
    assert {step.result.document_id for step in seen} == {*READ, "guide/binary.txt", "guide/empty.md"}


@pytest.mark.row("H5")
async def test_an_iterator_has_no_total() -> None:
    seen: list[IngestionProgress] = []
    pairs = ((b"x", about(str(number), content_type="text/plain")) for number in range(3))
    await Shelf().ingestor.ingest_many(pairs, progress=seen.append)
    assert [step.documents_total for step in seen] == [None, None, None]


async def test_what_the_callback_raises_stops_the_run(folder: Path) -> None:
    def stop(_: IngestionProgress) -> None:
        raise LookupError("stop")

    with pytest.raises(LookupError, match="stop"):
        await Shelf().ingestor.ingest_many(folder, progress=stop)


async def test_what_the_iterable_raises_stops_the_run() -> None:
    def documents() -> Iterator[tuple[bytes, DocumentMetadata]]:
        yield b"x", about("a", content_type="text/plain")
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        await Shelf().ingestor.ingest_many(documents())


# Bounds


@pytest.mark.row("H7")
@pytest.mark.parametrize("concurrency", [1, 3])
async def test_never_more_documents_in_flight_than_allowed(concurrency: int) -> None:
    running = listed = most = done = 0

    def documents() -> Iterator[tuple[bytes, DocumentMetadata]]:
        nonlocal listed
        for number in range(40):
            listed += 1
            # One more is at hand, waiting for its turn.
            assert listed - done <= concurrency + 1
            yield f"text {number}".encode(), about(str(number), content_type="text/plain")

    class Counting(HashEmbedder):
        async def embed(self, texts: object, *, input_type: object = "document") -> object:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return self.vectors(texts)  # type: ignore[arg-type]

    def count(step: IngestionProgress) -> None:
        nonlocal done
        done = step.documents_done

    report = await Shelf(Counting()).ingestor.ingest_many(
        documents(), options=IngestionOptions(concurrency=concurrency), progress=count
    )
    assert report.stored == 40
    assert most == concurrency


@pytest.mark.row("L4", "H7")
async def test_a_cancelled_run_keeps_what_is_done_and_leaves_no_task(folder: Path) -> None:
    embedder = HangingEmbedder()
    shelf = Shelf(embedder)
    task = asyncio.create_task(shelf.ingestor.ingest_many(folder))
    await embedder.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shelf.is_empty
    assert asyncio.all_tasks() == {asyncio.current_task()}
    embedder.release.set()
    assert (await shelf.ingestor.ingest_many(folder)).stored == 4


@pytest.mark.row("H7")
async def test_thousands_of_files_in_bounded_memory(tmp_path: Path) -> None:
    """Of each file only its first words are indexed, so that what is held beyond them would show."""
    size, count = 10_000, 3000
    for number in range(count):
        folder = tmp_path / f"{number % 30:02}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{'word ' * (size // 5)}")

    class FirstOnly:
        identity = "first only"

        def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
            return [TextChunk(document.text[:40], document_id, 0, 0, 40)]

    shelf = Shelf(HashEmbedder(8), chunker=FirstOnly())
    tracemalloc.start()
    report = await shelf.ingestor.ingest_many(tmp_path, options=IngestionOptions(concurrency=4))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (report.stored, report.failed) == (count, 0)
    # The files are 30 MB together; the indexes keep some 2 kB of Python objects a document.
    assert peak < 15_000_000, peak

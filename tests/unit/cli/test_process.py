"""The command as a process of its own: what a shell sees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ragstone
from ragstone.persistence import IndexDirectory

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(ragstone.__file__).parent.parent), "PYTHONUTF8": "1"}
COMMAND = [sys.executable, "-m", "ragstone"]
NEVER_FOR_KEYWORDS = ("onnxruntime", "tokenizers", "httpx", "bs4", "pypdf", "docx", "tiktoken")


def run(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=check)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "leave.md").write_text("# Leave\n\nNew parents stay at home for sixteen weeks.\n")
    (folder / "train.md").write_text("# Travel\n\nRailway tickets are booked by the front desk.\n")
    (folder / "人工.txt").write_text("人工智能是未来", encoding="utf-8")
    return folder


def test_version() -> None:
    assert run("--version").stdout == f"ragstone {ragstone.__version__}\n"


def test_with_the_real_model(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    done = run("ingest", folder, "--index", index)
    assert done.stderr == ""
    assert "3 documents stored" in done.stdout
    page = json.loads(run("search", "maternity", "--index", index, "--top-k", 1, "--json").stdout)
    assert page["results"][0]["document_id"].endswith("leave.md")
    hybrid = run("search", "how do I get a rail ticket", "--index", index, "--hybrid", "--explain").stdout
    assert "train.md#0" in hybrid.split("  2.")[0]
    assert "dense rank 1" in hybrid
    assert "384" in run("info", "--index", index).stdout


def test_keyword_search_imports_no_model(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    run("ingest", folder, "--index", index, "--no-embed")
    code = (
        "import sys; from ragstone.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {NEVER_FOR_KEYWORDS!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "search", "人工", "--index", str(index)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=True)
    assert "人工智能是未来" in done.stdout
    assert done.stderr == "[]\n"


def test_help_imports_no_model() -> None:
    code = (
        "import sys; from ragstone.cli import main\n"
        "try: main(['--help'])\n"
        f"except SystemExit: print([n for n in ('rich', *{NEVER_FOR_KEYWORDS!r}) if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=True
    )
    assert done.stderr == "[]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's here")
def test_ctrl_c_ends_with_130_and_a_sound_index(tmp_path: Path) -> None:
    folder, index = tmp_path / "documents", tmp_path / "index"
    folder.mkdir()
    for number in range(3000):
        (folder / f"{number}.txt").write_text(f"document {number} " * 200)
    command = [*COMMAND, "ingest", str(folder), "--index", str(index), "--no-embed"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        deadline = time.monotonic() + 60
        while not (index / "index.db").exists() or not IndexDirectory.inspect(index).documents:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.startswith("ragstone: interrupted")
    assert err.count("\n") == 1
    with IndexDirectory.open(index, embedder_identity=None, dimensions=None) as opened:
        assert 0 < len(list(opened.load())) < 3000


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX's here")
def test_a_reader_that_leaves_early_is_no_error(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    run("ingest", folder, "--index", index, "--no-embed")
    command = " ".join(COMMAND) + f" search front --index {index} | true"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=True
    )
    assert done.stderr == ""

"""The public API is usable under the strictest settings of two type checkers."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
USE = "tests/typing/public_api.py"


@pytest.mark.parametrize(
    "checker", [("mypy", "--strict", "--no-incremental"), ("basedpyright",)], ids=lambda command: command[0]
)
def test_typed_use_is_accepted(checker: tuple[str, ...]) -> None:
    done = run(checker, USE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", [("mypy", "--strict"), ("basedpyright",)], ids=lambda command: command[0])
def test_wrong_use_is_refused(checker: tuple[str, ...], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import ragstone as rs\n\nrs.RetrievalOptions(top_k="five")\n', encoding="utf-8")
    done = run(checker, str(wrong))
    assert done.returncode != 0
    assert "top_k" in done.stdout


def run(checker: tuple[str, ...], file: str) -> subprocess.CompletedProcess[str]:
    module, *options = checker
    return subprocess.run(
        [sys.executable, "-m", module, *options, file], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )

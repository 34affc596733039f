"""`--rows` tells the rows without a passing test, and only those."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
CONFTEST = REPOSITORY / "tests" / "conftest.py"
PAGE = """\
# Behaviours

| ID | Behaviour | Page |
|---|---|---|
| A1 | One. | [x](x.md) |
| A2 | Two. | [x](x.md) |

## Planned

| ID | Behaviour |
|---|---|
| B1 | Three. |
"""


def run(folder: Path, body: str, *options: str) -> tuple[int, str]:
    (folder / "docs").mkdir()
    (folder / "tests").mkdir()
    (folder / "docs" / "behaviours.md").write_text(PAGE, encoding="utf-8")
    shutil.copy(CONFTEST, folder / "tests" / "conftest.py")
    (folder / "tests" / "test_it.py").write_text(f"import pytest\n{body}", encoding="utf-8")
    markers = "[pytest]\nmarkers =\n  row(id)\n  case(id)\n"
    (folder / "pytest.ini").write_text(markers, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "tests"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_row_without_a_test_fails_the_run(tmp_path: Path) -> None:
    code, printed = run(tmp_path, '@pytest.mark.row("A1")\ndef test_one(): pass\n', "--rows")
    assert code == 1
    assert "1 of 2 rows have a passing test; 1 are planned" in printed
    assert "A2: no test" in printed
    assert "A1:" not in printed


def test_a_row_is_not_proven_while_one_of_its_tests_fails(tmp_path: Path) -> None:
    body = '@pytest.mark.row("A1", "A2")\ndef test_one(): pass\n@pytest.mark.row("A2")\ndef test_two(): assert False\n'
    code, printed = run(tmp_path, body, "--rows")
    assert code == 1
    assert "A2: 1 of 2 tests fail" in printed


def test_a_skipped_test_proves_nothing(tmp_path: Path) -> None:
    body = '@pytest.mark.row("A1", "A2")\ndef test_one(): pytest.skip()\n'
    code, printed = run(tmp_path, body, "--rows")
    assert code == 1
    assert "0 of 2 rows" in printed


def test_planned_rows_may_wait(tmp_path: Path) -> None:
    body = '@pytest.mark.row("A1", "A2")\n@pytest.mark.case("S-001")\ndef test_one(): pass\n'
    code, printed = run(tmp_path, body, "--rows")
    assert code == 0
    assert "1 of 1 known cases pass" in printed
    assert "planned: B1" in printed


def test_an_unknown_row_is_refused(tmp_path: Path) -> None:
    code, printed = run(tmp_path, '@pytest.mark.row("Z9")\ndef test_one(): pass\n')
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "Z9" in printed


def test_without_the_option_rows_are_nobody_s_business(tmp_path: Path) -> None:
    code, printed = run(tmp_path, "def test_one(): pass\n")
    assert code == 0
    assert "have a passing test" not in printed


def test_every_row_that_holds_links_to_a_section_that_exists() -> None:
    page = (REPOSITORY / "docs" / "behaviours.md").read_text(encoding="utf-8")
    holding, _, _ = page.partition("\n## Planned\n")
    rows = re.findall(r"^\| [A-Z]\d+ \|.*$", holding, re.MULTILINE)
    assert rows
    for row in rows:
        link = re.search(r"\]\(([^)#]+)(?:#([^)]+))?\) \|$", row)
        assert link is not None, row
        target = (REPOSITORY / "docs" / link[1]).read_text(encoding="utf-8")
        anchors = {
            re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)$", target, re.MULTILINE)
        }
        assert link[2] is None or link[2] in anchors, row

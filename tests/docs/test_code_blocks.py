"""Every example in README.md and docs/ runs and prints what the page says it prints.

- A `python` block is executed; the blocks of a page share their names and an empty working folder, and may `await`.
- A `text title="Output"` block right after it is what it prints; `...` stands for anything.
- A `console` block holds commands `$ ragstone …`, each followed by what it prints, which is checked where it is given.
- An `sh` block is shown only: installing is not ours to test here.
"""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
KINDS = {"python", "text", 'text title="Output"', "console", "sh", "make", "toml", "json"}
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    kind: str
    body: str
    line: int


def blocks_of(page: str) -> Iterator[Block]:
    for fence in FENCE.finditer(page):
        indent = len(fence["indent"])
        body = "".join(line[indent:] or "\n" for line in fence["body"].splitlines(keepends=True))
        yield Block(fence["kind"].strip(), body, page[: fence.start("body")].count("\n") + 1)


def agrees(expected: str, printed: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected, printed, flags)


def run_python(block: Block, page: Path, names: dict[str, Any], runner: asyncio.Runner) -> str:
    # Padding makes the line numbers of a traceback those of the page.
    source = "\n" * (block.line - 1) + block.body
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        outcome = eval(code, names)
        if inspect.iscoroutine(outcome):
            runner.run(outcome)
    return printed.getvalue()


def run_console(block: Block) -> None:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONWARNINGS": "error"}
    for session in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "ragstone", f"a console block runs ragstone and nothing else, not {command!r}"
        done = subprocess.run(
            [sys.executable, "-m", "ragstone", *arguments], capture_output=True, text=True, check=False, env=environment
        )
        printed = done.stdout + done.stderr
        if expected.strip():
            assert agrees(expected, printed), f"line {block.line}: {command}\nprints:\n{printed}\nnot:\n{expected}"
        else:
            assert done.returncode == 0, f"line {block.line}: {command}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    with asyncio.Runner() as runner:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            if block.kind == "python":
                printed = run_python(block, page, names, runner)
            elif block.kind == 'text title="Output"':
                assert agrees(block.body, printed), f"line {block.line}: printed\n{printed}\nnot\n{block.body}"
            elif block.kind == "console":
                run_console(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_block_is_of_a_known_kind(page: Path) -> None:
    """A misspelt kind would quietly never run."""
    text = page.read_text(encoding="utf-8")
    blocks = list(blocks_of(text))
    assert {block.kind for block in blocks} <= KINDS
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(blocks)


def test_a_wrong_output_is_noticed() -> None:
    assert agrees("1 ... 3\n", "1 2 3\n")
    assert not agrees("1 ... 4\n", "1 2 3\n")


def test_indented_blocks_are_found_and_dedented() -> None:
    page = "- item\n\n    ```python\n    if True:\n\n        x = 1\n    ```\n"
    assert list(blocks_of(page)) == [Block("python", "if True:\n\n    x = 1\n", 4)]

"""The examples in docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import ragstone

MODULES = sorted(module.name for module in pkgutil.walk_packages(ragstone.__path__, "ragstone."))
EXAMPLES = [
    pytest.param(example, id=example.name)
    for module in MODULES
    if module != "ragstone._core"
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_docstring_example(
    example: doctest.DocTest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("docstring"))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)

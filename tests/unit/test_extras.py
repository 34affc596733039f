import sys
from pathlib import Path

import pytest

from ragstone.errors import MissingDependencyError
from ragstone.extras import require


def test_an_installed_package_is_imported() -> None:
    assert require("json.decoder", extra="none", purpose="x").JSONDecoder


@pytest.mark.row("L3")
@pytest.mark.parametrize("package", ["no_such_package", "no_such_package.part"])
def test_a_missing_package_names_the_command(package: str) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        require(package, extra="pdf", purpose="Reading PDF")
    assert str(caught.value) == "Reading PDF needs the package 'no_such_package': run  pip install 'ragstone[pdf]'"
    assert (caught.value.package, caught.value.extra) == ("no_such_package", "pdf")
    assert isinstance(caught.value, ImportError)


def test_a_package_that_lacks_something_of_its_own_says_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_installed.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package") as caught:
        require("half_installed", extra="pdf", purpose="Reading PDF")
    assert not isinstance(caught.value, MissingDependencyError)
    assert "half_installed" not in sys.modules

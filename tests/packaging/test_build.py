"""What is installed is one thing: one version, one stable-interface module, types included."""

import importlib.machinery
import importlib.metadata
import tomllib
from pathlib import Path

import ragstone

REPOSITORY = Path(__file__).parent.parent.parent


def test_the_core_uses_the_stable_interface() -> None:
    spec = importlib.machinery.PathFinder.find_spec("ragstone._core", ragstone.__path__)
    assert spec is not None
    assert spec.origin is not None
    assert spec.origin.endswith((".abi3.so", ".pyd"))


def test_the_types_are_part_of_the_package() -> None:
    root = Path(ragstone.__file__).parent
    assert (root / "py.typed").exists()
    assert (root / "_core.pyi").exists()


def test_every_version_is_that_of_the_workspace() -> None:
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    assert ragstone.__version__ == workspace


def test_the_installed_distribution_has_the_same_version() -> None:
    assert importlib.metadata.version("ragstone") == ragstone.__version__


def test_extras_add_up() -> None:
    """`all` is every other extra, so that a new one cannot be forgotten."""
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]

    def flat(name: str) -> set[str]:
        plain = {item for item in extras[name] if not item.startswith("ragstone[")}
        nested = [item.removeprefix("ragstone[").removesuffix("]").split(",") for item in set(extras[name]) - plain]
        return plain.union(*(flat(inner) for group in nested for inner in group))

    assert flat("all") == set().union(*(flat(name) for name in extras))

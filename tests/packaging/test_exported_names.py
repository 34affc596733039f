"""What a module exports is what it defines, and the package's own door leads only to what is documented."""

import ast
import importlib
from pathlib import Path

import pytest

import ragstone

ROOT = Path(ragstone.__file__).parent
MODULES = sorted(
    ".".join(("ragstone", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if not any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(ROOT).parts)
)


def is_type_parameter(node: ast.Assign) -> bool:
    call = node.value
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"TypeVar", "ParamSpec"}


def defined_names(source: str) -> set[str]:
    """The public names that a module's top level defines, imports and type parameters aside."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets) if not is_type_parameter(node):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_exports_what_it_defines(name: str) -> None:
    module = importlib.import_module(name)
    exported: list[str] = getattr(module, "__all__", [])
    assert len(set(exported)) == len(exported)
    assert [item for item in exported if not hasattr(module, item)] == []
    missing = defined_names(Path(module.__file__ or "").read_text(encoding="utf-8")) - set(exported)
    assert missing == set(), f"{name} defines {sorted(missing)}: export them, or name them with an underscore"


def test_defined_names_sees_each_way_of_defining_one() -> None:
    source = (
        "import os\nA: int = 1\nB = C = 2\n_D = 3\nT = TypeVar('T')\ndef f(): ...\nasync def g(): ...\nclass H: ...\n"
    )
    assert defined_names(source) == {"A", "B", "C", "f", "g", "H"}


def test_the_door_exports_only_names_of_public_modules() -> None:
    for name in ragstone.__all__:
        value = getattr(ragstone, name)
        home = getattr(value, "__module__", None) or getattr(value, "__name__", "ragstone")
        assert "._" not in home, f"ragstone.{name} comes from {home}"

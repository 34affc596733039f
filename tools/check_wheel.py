"""Install a wheel into clean environments without a Rust toolchain and use it, on every Python at hand.

Run as `python tools/check_wheel.py dist/ragstone-….whl`. A Python is at hand when `python3.N`, N ≥ 11, is on PATH or is
one of pyenv's versions, and starts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

OLDEST, NEWEST = 11, 20
USE = """
import sys
import ragstone as rs
import ragstone._core as core

assert core.__file__.endswith((".abi3.so", ".pyd")), core.__file__
assert "site-packages" in core.__file__, core.__file__

index = rs.Bm25Index()
index.add("tea", 0, "green tea is brewed below boiling", {"kind": "drink"})
index.add("kite", 0, "a red kite over the hill", {"kind": "bird"})
assert [hit.document_id for hit in index.search("red kite", top_k=5)] == ["kite"]
assert not index.search("red kite", top_k=5, metadata_filter={"kind": "drink"})
assert rs.count_tokens("hello world") == 2

with rs.sync(rs.RagPipeline()) as rag:
    rag.ingest_text("Parental leave is sixteen weeks.", rs.DocumentMetadata(document_id="handbook"))
    assert [hit.chunk.document_id for hit in rag.retrieve("parental leave")] == ["handbook"]
print("works on Python", sys.version.split()[0])
"""


def interpreters() -> list[Path]:
    """Return one working interpreter for each minor version of Python at hand, this one's first."""
    found = {sys.version_info.minor: Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")}
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for minor in range(OLDEST, NEWEST):
        name = f"python3.{minor}"
        candidates = [*sorted(versions.glob(f"3.{minor}.*/bin/{name}")), *filter(None, [shutil.which(name)])]
        working = (Path(candidate) for candidate in candidates if starts(candidate, minor))
        if minor not in found and (first := next(working, None)):
            found[minor] = first
    return list(found.values())


def starts(python: Path | str, minor: int) -> bool:
    """Whether the interpreter starts and is of this version; a version manager's shim may be neither."""
    probe = [python, "-c", f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, {minor}))"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def without_rust() -> dict[str, str]:
    """Return the environment without PATH's folders that hold a Rust toolchain and without Python's own settings."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    kept = [folder for folder in folders if not any(shutil.which(tool, path=folder) for tool in ("cargo", "rustc"))]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return environment | {"PATH": os.pathsep.join(kept)}


def try_out(wheel: Path, python: Path) -> None:
    """Make an environment, install the wheel and what it depends on, use it from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        environment = without_rust()
        subprocess.run([python, "-m", "venv", "env"], check=True, cwd=folder, env=environment)
        own = Path(folder, "env", "bin", "python")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", wheel]
        subprocess.run([own, *install], check=True, cwd=folder, env=environment)
        subprocess.run([own, "-W", "error", "-c", USE], check=True, cwd=folder, env=environment)
        subprocess.run(
            [own.with_name("ragstone"), "--help"], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL
        )


def check_contents(wheel: Path) -> None:
    """Fail unless the wheel's tag and its compiled module are those of the stable interface from Python 3.11 on."""
    if not re.search(r"-cp311-abi3-", wheel.name):
        sys.exit(f"{wheel.name} is not tagged cp311-abi3")
    names = zipfile.ZipFile(wheel).namelist()
    compiled = [name for name in names if name.endswith((".so", ".pyd", ".dylib"))]
    if not re.fullmatch(r"ragstone/_core(\.abi3\.so|\.pyd)", "".join(compiled)):
        sys.exit(f"{wheel.name} holds {compiled}, not one ragstone/_core.abi3.so")
    if "ragstone/py.typed" not in names or "ragstone/_core.pyi" not in names:
        sys.exit(f"{wheel.name} holds no types")


def main() -> None:
    """Check the wheel named on the command line."""
    wheel = Path(sys.argv[1]).resolve()
    check_contents(wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    for python in interpreters():
        try_out(wheel, python)


if __name__ == "__main__":
    main()

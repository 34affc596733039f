"""The environment that everything is measured in: a virtual environment with the peers and Ragstone's release wheel.

Made under `.bench/` at the first run and used again; Ragstone itself is built and installed anew each time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["prepare", "versions"]

ROOT = Path(__file__).parent.parent
_REQUIREMENTS = Path(__file__).parent / "requirements.txt"
_OPTIONAL = Path(__file__).parent / "requirements-optional.txt"
# Of litellm only the copy of the cl100k_base ranks is read, so that tiktoken needs no download of its own; what
# splade-index asks for beside numpy and numba (torch) is the model that makes the vectors, which here are given.
_WITHOUT_DEPENDENCIES = ("litellm==1.110.2", "splade-index==0.2.0")


def prepare(folder: Path) -> str:
    """Bring the environment up to date; return its interpreter."""
    home = folder / "venv"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = home / "requirements.txt"
    wanted = "\n".join((sys.version, *_lines(_REQUIREMENTS), *_WITHOUT_DEPENDENCIES, *_lines(_OPTIONAL)))
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(home, clear=True, with_pip=True)
        _pip(python, "install", "--requirement", str(_REQUIREMENTS))
        for line in _lines(_OPTIONAL):
            _install_optional(python, line)
        _pip(python, "install", "--no-deps", *_WITHOUT_DEPENDENCIES)
        stamp.write_text(wanted, encoding="utf-8")
    _install_ragstone(python, folder / "dist")
    return str(python)


def versions(python: str) -> dict[str, str]:
    """Return name and version of Ragstone and of each peer that is installed."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    )
    installed = {_normal(entry["name"]): entry["version"] for entry in json.loads(listed.stdout)}
    lines = (*_lines(_REQUIREMENTS), *_WITHOUT_DEPENDENCIES[1:], *_lines(_OPTIONAL))
    peers = [_normal(pinned.partition("==")[0]) for line in lines for pinned in line.split()]
    return {name: installed[name] for name in ("ragstone", *peers) if name in installed}


def _lines(requirements: Path) -> list[str]:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _install_optional(python: Path, line: str) -> None:
    try:
        _pip(python, "install", "--constraint", str(_REQUIREMENTS), "--only-binary", ":all:", *line.split())
    except subprocess.CalledProcessError:
        sys.stderr.write(f"bench: left out, since it does not install here: {line}\n")


def _install_ragstone(python: Path, dist: Path) -> None:
    for old in dist.glob("*.whl"):
        old.unlink()
    _pip(python, "wheel", "--no-deps", "--wheel-dir", str(dist), str(ROOT))
    wheel = str(next(dist.glob("ragstone-*.whl")))
    _pip(python, "install", wheel)
    # The version may be the one that is installed already: only this replaces its files.
    _pip(python, "install", "--no-deps", "--force-reinstall", wheel)


def _pip(python: Path, *arguments: str) -> None:
    subprocess.run([str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)

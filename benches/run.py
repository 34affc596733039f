"""Measure Ragstone beside its peers and print tables: the command behind `make bench`.

    python -m benches.run                       # everything: about half an hour
    python -m benches.run --quick               # ten thousand documents, one round: under three minutes
    python -m benches.run bm25 tokens           # some tasks
    python -m benches.run bm25 --corpus FILE    # other documents, one a line: names it in every figure

The first run downloads the peers and the corpus, 1.5 GB; everything lives under `.bench/`. Run it with Python 3.12 to
have every peer: bm25x has wheels for no other. Each run builds and installs the release wheel of this tree and writes
its results, a JSON line each, to `.bench/results/`; `python -m benches.report` makes the documentation page of them.
Exits with 1 when a peer's answers are not what they must be.

What the tasks cover stands at the top of their scripts: bm25.py, sparse.py, dense.py, codes.py, fusion.py, tokens.py,
chain.py, pipeline.py.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from benches import corpus, environment, machine, report
from benches.harness import ROOT, PeerError, Session, Settings

__all__ = ["main"]

TASKS = ("bm25", "sparse", "dense", "codes", "fusion", "tokens", "chain", "pipeline")
ON_OTHER_DOCUMENTS = ("bm25",)


def main() -> int:
    """Prepare, measure, print; return the exit code."""
    arguments = _parse()
    home = ROOT / ".bench"
    if not arguments.here:
        _say("preparing the environment: peers, then the release wheel of this tree (minutes, the first time)")
        python = environment.prepare(home)
        return subprocess.run([python, "-m", "benches.run", "--here", *sys.argv[1:]], cwd=ROOT, check=False).returncode
    _say("preparing the corpus")
    settings = _settings(arguments, _corpus(arguments.corpus, home / "corpus"))
    started = datetime.now(UTC)
    results = home / "results" / f"{started:%Y%m%dT%H%M%SZ}{'-quick' if settings.quick else ''}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("w", encoding="utf-8", newline="\n") as file:
        _write(file, {"run": _circumstances(settings, started)})
        failed = [task for task in arguments.tasks if not _measured(task, settings, file)]
    print(report.tables(report.Run.load(results)))
    _say(f"results in {results.relative_to(ROOT)}")
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"what to measure: {', '.join(TASKS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="10,000 documents, one short round")
    parser.add_argument("--documents", type=int, help="documents of the BM25 index (default: the corpus)")
    parser.add_argument("--vectors", type=int, help="vectors of the dense index (default: 1,000,000)")
    parser.add_argument("--chunks", type=int, help="of the hybrid index; sparse: twice as many (default: 50,000)")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="BM25 on other documents, one a line")
    parser.add_argument("--repeats", type=int, help="rounds a figure (default: 5)")
    parser.add_argument("--budget", type=float, help="seconds a round (default: 1.5)")
    parser.add_argument("--threads", type=int, default=machine.cores(), help="default: one a core")
    parser.add_argument(
        "--patience", type=float, default=10.0, help="seconds to wait for a quiet machine (default: 10)"
    )
    parser.add_argument("--tries", type=int, help="measure a disturbed round this often, at most (default: 3)")
    parser.add_argument("--here", action="store_true", help="in this interpreter's environment, which has everything")
    arguments = parser.parse_args()
    if unknown := set(arguments.tasks) - set(TASKS):
        parser.error(f"no such task: {', '.join(sorted(unknown))}")
    arguments.tasks = arguments.tasks or list(ON_OTHER_DOCUMENTS if arguments.corpus else TASKS)
    if arguments.corpus and (other := set(arguments.tasks) - set(ON_OTHER_DOCUMENTS)):
        parser.error(f"--corpus does not go with {', '.join(sorted(other))}")
    return arguments


def _corpus(file: Path | None, folder: Path) -> Path:
    """Prepare the documents, those of `file` or the harness's own; return their folder."""
    if file is None:
        corpus.prepare(folder, sys.executable)
        return folder
    corpus.prepare_from(file, folder / file.stem)
    return folder / file.stem


def _settings(arguments: argparse.Namespace, data: Path) -> Settings:
    quick = arguments.quick
    return Settings(
        python=sys.executable,
        data=data,
        corpus=arguments.corpus.stem if arguments.corpus else "",
        documents=arguments.documents or (10_000 if quick else corpus.size(data)),
        vectors=arguments.vectors or (10_000 if quick else 1_000_000),
        chunks=arguments.chunks or (5_000 if quick else 50_000),
        repeats=arguments.repeats or (1 if quick else 5),
        budget=arguments.budget or (0.3 if quick else 1.5),
        threads=arguments.threads,
        patience=1.0 if quick else arguments.patience,
        tries=arguments.tries or (1 if quick else 3),
        quick=quick,
    )


def _circumstances(settings: Settings, started: datetime) -> dict[str, Any]:
    return {
        "command": " ".join(["python -m benches.run", *(word for word in sys.argv[1:] if word != "--here")]),
        "date": f"{started:%Y-%m-%d}",
        "machine": machine.describe(),
        "versions": environment.versions(settings.python),
        "sources": {} if settings.corpus else corpus.SOURCES,
        "corpus": settings.corpus,
        "documents": settings.documents,
        "repeats": settings.repeats,
        "budget": settings.budget,
        "threads": settings.threads,
        "patience": settings.patience,
        "tries": settings.tries,
    }


def _measured(task: str, settings: Settings, file: IO[str]) -> bool:
    _say(f"measuring {task}")
    start = time.monotonic()
    try:
        with Session(task, settings, lambda line: _write(file, line)) as session:
            importlib.import_module(f"benches.{task}").run(session)
    except PeerError as error:
        _say(f"{task} failed: {error}")
        return False
    _say(f"{task}: {time.monotonic() - start:.0f} s")
    return True


def _write(file: IO[str], line: dict[str, Any]) -> None:
    file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()


def _say(message: str) -> None:
    sys.stderr.write(f"bench: {message}\n")


if __name__ == "__main__":
    sys.exit(main())

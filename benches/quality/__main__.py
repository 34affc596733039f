"""Measure how well Ragstone ranks on judged corpora, through the pipeline as a user has it.

    python -m benches.quality FOLDER …                            # corpora in BEIR's layout; prints the tables
    python -m benches.quality FOLDER … --output docs/quality.md   # writes the page as well

A folder holds `corpus.jsonl` ({"_id", "title", "text"} a line), `queries.jsonl` ({"_id", "text"}) and `qrels.tsv`
(query-id, corpus-id, score). Indexes are kept under `.bench/quality-index/`, so that only the first run embeds.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from benches.quality.corpora import Judged
from benches.quality.methods import measured
from benches.quality.page import page, table

HOME = Path(".bench") / "quality-index"


def main() -> None:
    """Measure each corpus, print its table, and write the page where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--output", type=Path, help="the page to write")
    arguments = parser.parse_args()
    found = []
    for folder in arguments.folders:
        corpus = Judged.load(folder)
        found.append((corpus, asyncio.run(measured(corpus, HOME))))
        print(f"\n{corpus.name}\n\n{table(found[-1][1])}")
    if arguments.output is not None:
        arguments.output.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()

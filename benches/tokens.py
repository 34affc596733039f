"""Counting cl100k_base tokens: documents one by one, all at once, and program code.

Ragstone beside tiktoken, whose quickest way to a count is the length of `encode_ordinary`.

    python -m benches.run tokens
"""

from __future__ import annotations

import importlib.util
import os
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benches import corpus
from benches.extraction import chunks_of
from benches.figures import percentile
from benches.harness import OURS, PeerError, Session, Worker
from benches.worker import seconds_each, threads

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "Tokens"
ABOUT = """\
- Every count is checked to be the same first. tiktoken has no call that counts: it makes the list of tokens, whose
  length is taken.
- MB are 10⁶ bytes of UTF-8. The texts are English and Python source; other languages are not measured.
- All at once is one call on 2,000 documents with all threads: `count_tokens_many`, `encode_ordinary_batch`."""

PAGE = 20
CHUNK_CHARACTERS = 2270
MOST_DOCUMENTS = 20_000
BATCH = 2000


class Peer:
    """What the peers share: the texts and how a round is timed."""

    def load(self, folder: str, documents: int) -> None:
        self.texts = {
            "english": corpus.documents(Path(folder), documents),
            "code": corpus.program_code(Path(folder)),
        }
        # A token of English has about 4.5 characters here.
        self.texts["chunks"] = list(chunks_of(" ".join(self.texts["english"]), CHUNK_CHARACTERS))[:-1]
        self.threads = threads()
        self.prepare()

    def prepare(self) -> None:
        raise NotImplementedError

    def count(self, text: str) -> int:
        raise NotImplementedError

    def count_many(self, texts: list[str]) -> list[int]:
        raise NotImplementedError

    def counts(self, kind: str) -> list[int]:
        return [self.count(text) for text in self.texts[kind]]

    def time_each(self, kind: str, budget: float) -> float:
        """Return MB/s over as many texts as the budget allows, one call a text."""
        texts = self.texts[kind]
        seconds = seconds_each(self.count, cycle(texts), budget=budget)
        return _megabytes(list(islice(cycle(texts), len(seconds)))) / sum(seconds)

    def time_all(self, budget: float) -> float:
        texts = self.texts["english"]
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        seconds = seconds_each(self.count_many, cycle(batches), budget=budget)
        return sum(map(_megabytes, islice(cycle(batches), len(seconds)))) / sum(seconds)

    def time_page(self, kind: str, budget: float) -> list[float]:
        texts = self.texts[kind]
        pages = [texts[start : start + PAGE] for start in range(0, len(texts), PAGE)]
        return seconds_each(self.count_many, pages, budget=budget)


class Ragstone(Peer):
    def prepare(self) -> None:
        from ragstone.engine.tokens import count_tokens, count_tokens_many

        self.count_tokens, self.count_tokens_many = count_tokens, count_tokens_many

    def count(self, text: str) -> int:
        return self.count_tokens(text)

    def count_many(self, texts: list[str]) -> list[int]:
        return self.count_tokens_many(texts)


class Tiktoken(Peer):
    def prepare(self) -> None:
        # litellm carries the rank file under the name by which tiktoken looks for it in this folder.
        spec: Any = importlib.util.find_spec("litellm")
        folder = Path(spec.submodule_search_locations[0])
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder / "litellm_core_utils" / "tokenizers")
        import tiktoken

        self.encoding = tiktoken.get_encoding("cl100k_base")

    def count(self, text: str) -> int:
        return len(self.encoding.encode_ordinary(text))

    def count_many(self, texts: list[str]) -> list[int]:
        if len(texts) <= PAGE:  # its pool of threads costs more than so few texts
            return [self.count(text) for text in texts]
        return list(map(len, self.encoding.encode_ordinary_batch(texts, num_threads=self.threads)))


PEERS = {OURS: Ragstone, "tiktoken": Tiktoken}


def run(session: Session) -> None:
    """Count everything once to compare, then time."""
    settings = session.settings
    documents = min(settings.documents // 5, MOST_DOCUMENTS)
    workers = session.loaded(PEERS, folder=str(settings.data), documents=documents)
    for kind in ("english", "code", "chunks"):
        _check(session, workers, kind)
    for kind, name in (("english", "English"), ("code", "Python source")):
        each = session.rounds(workers, "time_each", kind=kind, budget=settings.budget)
        session.record(f"{name}, one text a call", "MB/s", each, float, more_is_better=True, goals={"tiktoken": 10.0})
    everything = session.rounds(workers, "time_all", budget=settings.budget)
    session.record(f"English, {BATCH:,} texts at once, all threads", "MB/s", everything, float, more_is_better=True)
    for kind, name in (("english", "documents"), ("chunks", "chunks of about 500 tokens")):
        page = session.rounds(workers, "time_page", kind=kind, budget=settings.budget)
        session.record(
            f"{PAGE} {name}, as a token budget does",
            "µs",
            page,
            lambda seconds: percentile(seconds, 50) * 1e6,
            goals={"tiktoken": 10.0} if kind == "chunks" else None,
        )


def _check(session: Session, workers: dict[str, Worker], kind: str) -> None:
    ours, theirs = (workers[peer].call("counts", kind=kind).result for peer in PEERS)
    if ours != theirs:
        differing = sum(a != b for a, b in zip(ours, theirs, strict=True))
        raise PeerError(f"{differing} of {len(ours)} counts of {kind} differ from tiktoken's")
    session.check("tiktoken", f"counts of {len(ours):,} texts, {kind}", f"all equal, {sum(ours):,} tokens in all")


def _megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6

"""BM25 over real short documents: building, asking, filtering, changing.

Ragstone beside bm25s (numba) and tantivy-py (in memory). Every peer starts from Python strings and answers with ids and
scores; tokenizing counts, of documents and of questions. No stop words, no stemming, ten hits a question.

    python -m benches.run bm25
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benches import corpus
from benches.figures import overlap, percentile, rate, same_ranking
from benches.harness import OURS, PeerError, Round, Session, Worker
from benches.worker import built, seconds_each

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "BM25"
ABOUT = """\
- bm25s is its method `lucene` on numba with k1 = 1.5 and b = 0.75, the formula and the settings of Ragstone. On equal
  tokens the two give equal scores, which is checked first. Timed, each reads text its own way: bm25s drops words of
  one letter, so that it has a little less to do. Its index cannot change: adding a document is building anew.
- tantivy has k1 = 1.2 built in and keeps a document's length in one byte, so its ranking differs a little even on
  equal tokens; it is asked without counting all matches, which lets it prune. It commits to make a document visible.
- One question at a time is one call, a string in, ids and scores out. In batches, each engine takes 200 questions at
  once, in its own way: `search_many`, `retrieve` with all threads, and for tantivy, which has none, a pool of
  threads.
- The filter lets one document in ten through, before the cut to ten hits. bm25s multiplies the scores with a mask.
- Every peer has built a small index before, so that loading its code is not counted. Memory is what the process grew
  by while the index was built, the texts not counted; what an allocator freed but kept for later is in it."""

K = 10
PARTS = 10
ALLOWED_PART = 3
CHECKED = 200
BATCH = 200
WARM_UP = 100
ORACLE = "bm25s on Ragstone's tokens"

_PLAIN = re.compile(r"[\W_]+")


class Peer:
    """What the peers share: the corpus and how a round is timed."""

    def load(self, folder: str, documents: int, threads: int) -> None:
        texts = corpus.documents(Path(folder), documents)
        self.questions = corpus.questions(Path(folder))
        self.threads = threads
        self.texts = texts[:WARM_UP]
        self.build()
        self.search(self.questions[0])
        self.texts = texts

    def build(self) -> None:
        raise NotImplementedError

    def search(self, question: str) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def search_part(self, question: str) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def search_many(self, questions: list[str]) -> object:
        raise NotImplementedError

    def add(self, number: int, text: str) -> None:
        raise NotImplementedError

    def time_build(self) -> dict[str, float | None]:
        return built(self.build)

    def answers(self) -> list[list[tuple[Any, float]]]:
        return [self.search(question) for question in self.questions[:CHECKED]]

    def time_search(self, budget: float) -> list[float]:
        return seconds_each(self.search, self.questions, budget=budget)

    def time_search_part(self, budget: float) -> list[float]:
        return seconds_each(self.search_part, self.questions, budget=budget)

    def time_search_many(self, budget: float) -> float:
        starts = range(0, len(self.questions), BATCH)
        blocks = [self.questions[start : start + BATCH] for start in starts] * 100
        return BATCH * rate(seconds_each(self.search_many, blocks, budget=budget))

    def time_add(self, times: int) -> list[float]:
        spent = []
        for text in self.texts[:times]:
            number = len(self.texts)
            word = f"added{number}"
            self.texts.append(f"{text} {word}")
            start = time.perf_counter()
            self.add(number, self.texts[-1])
            found = self.search(word)
            spent.append(time.perf_counter() - start)
            if [document for document, _ in found] != [number]:
                raise AssertionError(f"asked for document {number}, got {found}")
        return spent


class Ragstone(Peer):
    def build(self) -> None:
        from ragstone.engine.lexical import Bm25Index

        self.index = Bm25Index()
        numbers = range(len(self.texts))
        self.index.add_many(
            numbers, [0] * len(self.texts), self.texts, [{"part": number % PARTS} for number in numbers]
        )

    def search(self, question: str) -> list[tuple[Any, float]]:
        return [(hit.document_id, hit.score) for hit in self.index.search(question, top_k=K)]

    def search_part(self, question: str) -> list[tuple[Any, float]]:
        hits = self.index.search(question, top_k=K, metadata_filter={"part": ALLOWED_PART})
        return [(hit.document_id, hit.score) for hit in hits]

    def search_many(self, questions: list[str]) -> object:
        return self.index.search_many(questions, top_k=K)

    def add(self, number: int, text: str) -> None:
        self.index.add(number, 0, text, {"part": number % PARTS})


class Bm25s(Peer):
    def build(self) -> None:
        import bm25s
        import numpy as np

        self.tokenizer = bm25s.tokenization.Tokenizer(stopwords=None, stemmer=None)
        self.index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numba")
        self.index.index(
            self.tokenizer.tokenize(self.texts, return_as="tuple", show_progress=False), show_progress=False
        )
        self.part = (np.arange(len(self.texts)) % PARTS == ALLOWED_PART).astype(np.float32)

    def tokens(self, questions: list[str]) -> Any:
        return self.tokenizer.tokenize(questions, update_vocab=False, return_as="ids", show_progress=False)

    def retrieve(self, questions: list[str], **options: Any) -> list[tuple[Any, float]]:
        documents, scores = self.index.retrieve(self.tokens(questions), k=K, show_progress=False, **options)
        return list(zip(documents[0].tolist(), scores[0].tolist(), strict=True))

    def search(self, question: str) -> list[tuple[Any, float]]:
        return self.retrieve([question])

    def search_part(self, question: str) -> list[tuple[Any, float]]:
        return self.retrieve([question], weight_mask=self.part)

    def search_many(self, questions: list[str]) -> object:
        return self.index.retrieve(self.tokens(questions), k=K, show_progress=False, n_threads=self.threads)

    def add(self, number: int, text: str) -> None:  # noqa: ARG002  it has no other way
        self.build()


class Bm25sOnOurTokens(Bm25s):
    """bm25s given Ragstone's terms: the oracle of the scores, never timed."""

    def build(self) -> None:
        import bm25s

        self.index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numba")
        self.index.index(self.tokens(self.texts), show_progress=False)

    def tokens(self, questions: list[str]) -> Any:
        from ragstone.engine.text import tokenize

        return [tokenize(question) for question in questions]

    def search(self, question: str) -> list[tuple[Any, float]]:
        return [(document, score) for document, score in self.retrieve([question]) if score > 0]


class Tantivy(Peer):
    def build(self) -> None:
        import tantivy

        self.tantivy = tantivy
        schema = tantivy.SchemaBuilder()
        schema.add_unsigned_field("number", indexed=True, fast=True)
        schema.add_unsigned_field("part", indexed=True)
        schema.add_text_field("text", stored=False, index_option="freq")
        self.schema = schema.build()
        self.index = tantivy.Index(self.schema)
        self.writer: Any = self.index.writer(heap_size=256_000_000, num_threads=self.threads)
        for number, text in enumerate(self.texts):
            self.write(number, text)
        self.publish()
        self.writer.wait_merging_threads()
        self.writer = None

    def write(self, number: int, text: str) -> None:
        document = self.tantivy.Document()
        document.add_unsigned("number", number)
        document.add_unsigned("part", number % PARTS)
        document.add_text("text", text)
        self.writer.add_document(document)

    def publish(self) -> None:
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    def query(self, question: str) -> Any:
        # An underscore within a word would make a phrase, which needs the positions that this index leaves out.
        return self.index.parse_query(_PLAIN.sub(" ", question), ["text"])

    def run(self, query: Any) -> list[tuple[Any, float]]:
        hits = self.searcher.search(query, K, count=False).hits
        numbers = self.searcher.fast_field_values("number", [address for _, address in hits])
        return [(number, score) for number, (score, _) in zip(numbers, hits, strict=True)]

    def search(self, question: str) -> list[tuple[Any, float]]:
        return self.run(self.query(question))

    def search_part(self, question: str) -> list[tuple[Any, float]]:
        query, occur = self.tantivy.Query, self.tantivy.Occur
        part = query.const_score_query(query.term_query(self.schema, "part", ALLOWED_PART), 0.0)
        return self.run(query.boolean_query([(occur.Must, self.query(question)), (occur.Must, part)]))

    def search_many(self, questions: list[str]) -> object:
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self.search, questions))

    def add(self, number: int, text: str) -> None:
        if self.writer is None:
            self.writer = self.index.writer(heap_size=50_000_000, num_threads=1)
        self.write(number, text)
        self.publish()


PEERS = {OURS: Ragstone, "bm25s": Bm25s, "tantivy": Tantivy, ORACLE: Bm25sOnOurTokens}
TIMED = (OURS, "bm25s", "tantivy")


def run(session: Session) -> None:
    """Build every peer afresh once a repeat, check the last builds' answers, time them."""
    settings = session.settings
    workers, builds = _build(session)
    size = f"{settings.documents:,} documents"
    session.record(
        f"building from {size}",
        "documents/s",
        builds,
        lambda result: settings.documents / result["seconds"],
        more_is_better=True,
    )
    session.record(f"memory of {size}", "MiB", builds, lambda result: result["mib"])
    _check(session, workers)
    one = session.rounds(workers, "time_search", budget=settings.budget)
    session.record("one question at a time", "questions/s", one, rate, more_is_better=True)
    session.record("one question, median", "µs", one, lambda seconds: percentile(seconds, 50) * 1e6)
    session.record("one question, 99th percentile", "µs", one, lambda seconds: percentile(seconds, 99) * 1e6)
    many = session.rounds(workers, "time_search_many", budget=settings.budget)
    session.record("questions in batches, all threads", "questions/s", many, float, more_is_better=True)
    part = session.rounds(workers, "time_search_part", budget=settings.budget)
    session.record("one question, filter of 10 %", "questions/s", part, rate, more_is_better=True)
    live = {peer: worker for peer, worker in workers.items() if peer != "bm25s"}
    added = session.rounds(live, "time_add", times=10)
    added["bm25s"] = [Round([taken.result["seconds"]], taken.foreign) for taken in builds["bm25s"]]
    session.record(
        "adding one document and finding it",
        "ms",
        added,
        lambda seconds: percentile(seconds, 50) * 1e3,
        notes={"bm25s": "a new build"},
    )


def _build(session: Session) -> tuple[dict[str, Worker], dict[str, list[Round]]]:
    """Measure builds in fresh processes, in turn; keep the last process of each peer."""
    workers: dict[str, Worker] = {}
    builds: dict[str, list[Round]] = {}
    for _ in range(session.settings.repeats):
        for peer in TIMED:
            if peer in workers:
                workers.pop(peer).close()
            workers[peer] = _loaded(session, peer)
            builds.setdefault(peer, []).append(session.measure_once(workers[peer], "time_build"))
    return workers, builds


def _loaded(session: Session, peer: str) -> Worker:
    settings = session.settings
    worker = session.start(peer)
    worker.call("load", folder=str(settings.data), documents=settings.documents, threads=settings.threads)
    return worker


def _check(session: Session, workers: dict[str, Worker]) -> None:
    answers = {peer: worker.call("answers").result for peer, worker in workers.items()}
    with _loaded(session, ORACLE) as oracle:
        oracle.call("build")
        expected = oracle.call("answers").result
    same = sum(same_ranking(a, b, tolerance=1e-5) for a, b in zip(answers[OURS], expected, strict=True))
    if same != CHECKED:
        raise PeerError(f"only {same} of {CHECKED} rankings equal those of bm25s on the same tokens")
    session.check("bm25s", "on Ragstone's tokens", f"all {CHECKED} rankings equal, scores within 1e-5")
    ids = {peer: [[document for document, _ in hits] for hits in found] for peer, found in answers.items()}
    for peer in TIMED[1:]:
        session.check(peer, "on its own tokens", f"{overlap(ids[OURS], ids[peer]):.1%} of the ten hits are the same")

"""The engines that benches/bm25.py measures, each with the same methods."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benches import corpus
from benches.figures import rate
from benches.harness import OURS
from benches.worker import built, seconds_each, threads

__all__ = ["ALLOWED", "BATCH", "ORACLE", "PARTS", "PEERS", "WARM_UP", "Bm25s", "K"]

K = 10
PARTS = (10, 1000)
"""One document in so many passes a filter."""
ALLOWED = 3
BATCH = 200
WARM_UP = 2000
ORACLE = "bm25s on Ragstone's tokens"

_PLAIN = re.compile(r"[\W_]+")


class Peer:
    """What the peers share: the corpus and how a round is timed."""

    renumbers = False
    """Whether removing a document gives another one its number."""

    def load(self, folder: str, documents: int) -> None:
        texts = corpus.documents(Path(folder), documents)
        self.questions = corpus.questions(Path(folder))
        self.threads = threads()
        self.texts = texts[:WARM_UP]
        self.build()
        self.search(self.questions[0])
        self.texts = texts

    def build(self) -> None:
        raise NotImplementedError

    def search(self, question: str, k: int = K) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def search_part(self, question: str, part: int) -> list[tuple[Any, float]]:
        raise NotImplementedError

    def search_many(self, questions: list[str]) -> object:
        raise NotImplementedError

    def add(self, number: int, text: str) -> None:
        raise NotImplementedError

    def remove(self, number: int) -> None:
        raise NotImplementedError

    def time_build(self) -> dict[str, float | None]:
        return built(self.build)

    def answers(self, count: int, k: int) -> list[list[tuple[Any, float]]]:
        return [self.search(question, k) for question in self.questions[:count]]

    def part_answers(self, count: int, part: int) -> list[list[tuple[Any, float]]]:
        return [self.search_part(question, part) for question in self.questions[:count]]

    def time_search(self, budget: float, k: int = K) -> list[float]:
        return seconds_each(lambda question: self.search(question, k), self.questions, budget=budget)

    def time_search_part(self, budget: float, part: int) -> list[float]:
        return seconds_each(lambda question: self.search_part(question, part), self.questions, budget=budget)

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

    def time_remove(self, times: int) -> list[float]:
        spent = []
        for question in self.questions[:times]:
            best, _ = self.search(question)[0]
            start = time.perf_counter()
            self.remove(best)
            found = self.search(question)
            spent.append(time.perf_counter() - start)
            if not self.renumbers and best in dict(found):
                raise AssertionError(f"removed document {best}, and it is found")
        return spent


class Ragstone(Peer):
    def build(self) -> None:
        from ragstone.engine.lexical import Bm25Index

        self.index = Bm25Index()
        numbers = range(len(self.texts))
        self.index.add_many(numbers, [0] * len(self.texts), self.texts, list(map(self.metadata, numbers)))

    def metadata(self, number: int) -> dict[str, int]:
        return {f"part{part}": number % part for part in PARTS}

    def search(self, question: str, k: int = K) -> list[tuple[Any, float]]:
        return [(hit.document_id, hit.score) for hit in self.index.search(question, top_k=k)]

    def search_part(self, question: str, part: int) -> list[tuple[Any, float]]:
        hits = self.index.search(question, top_k=K, metadata_filter={f"part{part}": ALLOWED})
        return [(hit.document_id, hit.score) for hit in hits]

    def search_many(self, questions: list[str]) -> object:
        return self.index.search_many(questions, top_k=K)

    def add(self, number: int, text: str) -> None:
        self.index.add(number, 0, text, self.metadata(number))

    def remove(self, number: int) -> None:
        self.index.remove(number)


class Bm25s(Peer):
    def build(self) -> None:
        import bm25s

        self.tokenizer = bm25s.tokenization.Tokenizer(stopwords=None, stemmer=None)
        self.index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numba")
        self.index.index(
            self.tokenizer.tokenize(self.texts, return_as="tuple", show_progress=False), show_progress=False
        )
        self.make_masks()

    def make_masks(self) -> None:
        import numpy as np

        numbers = np.arange(len(self.texts))
        self.masks = {part: (numbers % part == ALLOWED).astype(np.float32) for part in PARTS}

    def tokens(self, questions: list[str]) -> Any:
        return self.tokenizer.tokenize(questions, update_vocab=False, return_as="ids", show_progress=False)

    def retrieve(self, question: str, k: int, **options: Any) -> list[tuple[Any, float]]:
        documents, scores = self.index.retrieve(self.tokens([question]), k=k, show_progress=False, **options)
        return list(zip(documents[0].tolist(), scores[0].tolist(), strict=True))

    def search(self, question: str, k: int = K) -> list[tuple[Any, float]]:
        return self.retrieve(question, k)

    def search_part(self, question: str, part: int) -> list[tuple[Any, float]]:
        return self.retrieve(question, K, weight_mask=self.masks[part])

    def search_many(self, questions: list[str]) -> object:
        return self.index.retrieve(self.tokens(questions), k=K, show_progress=False, n_threads=self.threads)


class Bm25sOnOurTokens(Bm25s):
    """bm25s given Ragstone's terms: the oracle of the scores, never timed."""

    def build(self) -> None:
        import bm25s

        self.index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numba")
        self.index.index(self.tokens(self.texts), show_progress=False)
        self.make_masks()

    def tokens(self, questions: list[str]) -> Any:
        from ragstone.engine.text import tokenize

        return [tokenize(question) for question in questions]

    def retrieve(self, question: str, k: int, **options: Any) -> list[tuple[Any, float]]:
        # Short of matches, and where a mask hides them, it fills up with scores of 0.
        return [(document, score) for document, score in super().retrieve(question, k, **options) if score > 0]


class Bm25x(Peer):
    renumbers = True

    def build(self) -> None:
        import bm25x

        self.index = bm25x.BM25(k1=1.5, b=0.75, tokenizer="unicode", use_stopwords=False)
        self.index.add(self.texts)
        self.parts = {part: list(range(ALLOWED, len(self.texts), part)) for part in PARTS}

    def search(self, question: str, k: int = K) -> list[tuple[Any, float]]:
        found: list[tuple[Any, float]] = self.index.search(question, k=k)
        return found

    def search_part(self, question: str, part: int) -> list[tuple[Any, float]]:
        found: list[tuple[Any, float]] = self.index.search(question, k=K, subset=self.parts[part])
        return found

    def search_many(self, questions: list[str]) -> object:
        return self.index.search(questions, k=K)

    def add(self, number: int, text: str) -> None:  # noqa: ARG002  it numbers by itself
        self.index.add([text])

    def remove(self, number: int) -> None:
        self.index.delete([number])


class Tantivy(Peer):
    def build(self) -> None:
        import tantivy

        self.tantivy = tantivy
        schema = tantivy.SchemaBuilder()
        schema.add_unsigned_field("number", indexed=True, fast=True)
        for part in PARTS:
            schema.add_unsigned_field(f"part{part}", indexed=True)
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
        for part in PARTS:
            document.add_unsigned(f"part{part}", number % part)
        document.add_text("text", text)
        self.writer.add_document(document)

    def publish(self) -> None:
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    def query(self, question: str) -> Any:
        # An underscore within a word would make a phrase, which needs the positions that this index leaves out.
        return self.index.parse_query(_PLAIN.sub(" ", question), ["text"])

    def run(self, query: Any, k: int) -> list[tuple[Any, float]]:
        hits = self.searcher.search(query, k, count=False).hits
        numbers = self.searcher.fast_field_values("number", [address for _, address in hits])
        return [(number, score) for number, (score, _) in zip(numbers, hits, strict=True)]

    def search(self, question: str, k: int = K) -> list[tuple[Any, float]]:
        return self.run(self.query(question), k)

    def search_part(self, question: str, part: int) -> list[tuple[Any, float]]:
        query, occur = self.tantivy.Query, self.tantivy.Occur
        allowed = query.const_score_query(query.term_query(self.schema, f"part{part}", ALLOWED), 0.0)
        return self.run(query.boolean_query([(occur.Must, self.query(question)), (occur.Must, allowed)]), K)

    def search_many(self, questions: list[str]) -> object:
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self.search, questions))

    def change(self) -> None:
        if self.writer is None:
            self.writer = self.index.writer(heap_size=50_000_000, num_threads=1)

    def add(self, number: int, text: str) -> None:
        self.change()
        self.write(number, text)
        self.publish()

    def remove(self, number: int) -> None:
        self.change()
        self.writer.delete_documents_by_query(self.tantivy.Query.term_query(self.schema, "number", number))
        self.publish()


PEERS = {OURS: Ragstone, "bm25s": Bm25s, "tantivy": Tantivy, "bm25x": Bm25x, ORACLE: Bm25sOnOurTokens}

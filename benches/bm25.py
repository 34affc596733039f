"""BM25 over real short documents: building, asking, filtering, changing, growing.

Ragstone beside bm25s (numba), tantivy-py (in memory) and bm25x. Every peer starts from Python strings and answers with
ids and scores; tokenizing counts, of documents and of questions. No stop words, no stemming.

    python -m benches.run bm25
    python -m benches.run bm25 --corpus FILE    # one document a line, for example package summaries
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benches.bm25_peers import BATCH, ORACLE, PARTS, PEERS, K
from benches.figures import overlap, percentile, rate
from benches.harness import OURS, Round, Session, Worker, in_turn

__all__ = ["ABOUT", "PEERS", "TITLE", "run"]

TITLE = "BM25"
ABOUT = f"""\
- bm25s is its method `lucene` on numba with k1 = 1.5 and b = 0.75, the formula and the settings of Ragstone. On equal
  tokens the two give equal scores, which is checked first. Timed, each reads text its own way: bm25s drops words of
  one letter, so that it has a little less to do. Its index cannot change: adding or removing is building anew.
- tantivy has k1 = 1.2 built in and keeps a document's length in one byte, so its ranking differs a little even on
  equal tokens; it is asked without counting all matches, which lets it prune. It commits to make a change visible.
- bm25x has the same formula and settings. It has wheels for CPython 3.12 alone.
- One question at a time is one call, a string in, ids and scores out. In batches, each engine takes {BATCH} questions
  at once, in its own way: `search_many`, `retrieve` with all threads, and for tantivy, which has none, a pool of
  threads.
- A filter lets one document in ten through, or one in a thousand, before the cut to ten hits. bm25s multiplies the
  scores with a mask, bm25x takes the list of numbers; both are made beforehand.
- Every peer has built a small index before, so that loading its code is not counted. bm25s builds on one thread
  whatever it is given. Memory is what the process grew by while the index was built with all threads, the texts not
  counted; what an allocator freed but kept for later is in it.
- Growth compares with an index of the first tenth of the documents: 10 would be in proportion."""

TIMED = (OURS, "bm25s", "tantivy", "bm25x")
CHECKED = 200
CHECKED_MORE = 50
LONG_PAGE = 100
MOST_BUILDS = 3
GROWTH = 10
LABELS = {10: "10 %", 1000: "0.1 %"}

_UNFILTERED = "ragstone without a filter"


Builds = dict[tuple[str, int], list[Round]]
"""The rounds of a peer with a number of threads."""


def run(session: Session) -> None:
    """Build every peer afresh once a repeat, check the last builds' answers, time them."""
    workers, builds = _build(session)
    _record_builds(session, builds)
    _check(session, workers)
    one = _time_questions(session, workers)
    _time_filters(session, workers, one)
    _time_growth(session, one)
    _time_changes(session, workers, builds)


def _build(session: Session) -> tuple[dict[str, Worker], Builds]:
    """Measure builds in fresh processes, in turn; keep each peer's last with all threads."""
    most = session.settings.threads
    variants = {(peer, threads) for peer in TIMED for threads in (1, most) if peer != "bm25s" or threads == most}
    kept: dict[str, Worker] = {}
    builds: Builds = {}
    repeats = min(session.settings.repeats, MOST_BUILDS)
    for repeat in range(repeats):
        for peer, threads in in_turn(sorted(variants), repeat):
            loaded = _loaded(session, [peer], session.settings.documents, threads)
            rounds = session.built(loaded)
            if not rounds:
                variants -= {(peer, 1), (peer, most)}
                continue
            builds.setdefault((peer, threads), []).extend(rounds[peer])
            if threads == most and repeat == repeats - 1:
                kept |= loaded
            else:
                loaded[peer].close()
    return {peer: kept[peer] for peer in TIMED if peer in kept}, builds


def _loaded(session: Session, peers: Iterable[str], documents: int, threads: int) -> dict[str, Worker]:
    return session.loaded(peers, threads=threads, folder=str(session.settings.data), documents=documents)


def _record_builds(session: Session, builds: Builds) -> None:
    documents, most = session.settings.documents, session.settings.threads
    for threads in dict.fromkeys((1, most)):
        rounds = {peer: builds.get((peer, threads)) or builds.get((peer, most), []) for peer in TIMED}
        session.record(
            f"building from {documents:,} documents, {threads} thread{'s' if threads > 1 else ''}",
            "documents/s",
            rounds,
            lambda result: documents / result["seconds"],
            more_is_better=True,
            goals={"tantivy": 1.5, "bm25s": 6.0},
        )
    session.record(
        f"memory of {documents:,} documents",
        "MiB",
        {peer: builds.get((peer, most), []) for peer in TIMED},
        lambda result: result["mib"],
        goals={"tantivy": 1 / 1.4, "bm25s": 1 / 0.45},
    )


def _time_questions(session: Session, workers: Mapping[str, Worker]) -> dict[str, list[Round]]:
    """Time pages of ten, of a hundred, and batches; return the rounds of the first."""
    budget = session.settings.budget
    one = session.rounds(workers, "time_search", budget=budget)
    goals = {"bm25s": 3.0, "tantivy": 10.0, "bm25x": 2.0}
    session.record("one question at a time", "questions/s", one, rate, more_is_better=True, goals=goals)
    session.record("one question, median", "µs", one, _median_us)
    session.record("one question, 99th percentile", "µs", one, lambda seconds: percentile(seconds, 99) * 1e6)
    session.record(
        "one question, 99th percentile by median",
        "×",
        one,
        lambda seconds: percentile(seconds, 99) / percentile(seconds, 50),
        goals={OURS: 6.0},
    )
    long = session.rounds(workers, "time_search", budget=budget, k=LONG_PAGE)
    goals = {"bm25s": 1.3, "tantivy": 3.0}
    session.record(f"one question, {LONG_PAGE} hits", "questions/s", long, rate, more_is_better=True, goals=goals)
    many = session.rounds(workers, "time_search_many", budget=budget)
    session.record("questions in batches, all threads", "questions/s", many, float, more_is_better=True)
    return one


def _time_filters(session: Session, workers: Mapping[str, Worker], one: Mapping[str, list[Round]]) -> None:
    for part in PARTS:
        rounds = session.rounds(workers, "time_search_part", budget=session.settings.budget, part=part)
        session.record(
            f"one question, filter of {LABELS[part]}",
            "questions/s",
            {OURS: rounds[OURS], _UNFILTERED: one[OURS], **rounds},
            rate,
            more_is_better=True,
            goals={_UNFILTERED: 1.0, "bm25s": 3.0, "tantivy": 3.0},
        )


def _time_growth(session: Session, one: Mapping[str, list[Round]]) -> None:
    """Ask the same of a tenth of the documents."""
    settings = session.settings
    small = _loaded(session, one, settings.documents // GROWTH, settings.threads)
    for worker in small.values():
        worker.call("time_build")
    tenth = session.rounds(small, "time_search", budget=settings.budget)
    session.record(f"one question among {settings.documents // GROWTH:,} documents, median", "µs", tenth, _median_us)
    growth = {
        peer: [
            Round(percentile(all_.result, 50) / percentile(part.result, 50), max(all_.foreign, part.foreign))
            for all_, part in zip(one[peer], tenth[peer], strict=True)
        ]
        for peer in tenth
    }
    session.record(
        f"growth of a question's time from a tenth to {settings.documents:,} documents",
        "×",
        growth,
        float,
        goals={OURS: GROWTH},
    )
    for worker in small.values():
        worker.close()


def _time_changes(session: Session, workers: Mapping[str, Worker], builds: Builds) -> None:
    live = {peer: worker for peer, worker in workers.items() if peer != "bm25s"}
    again = builds.get(("bm25s", session.settings.threads), [])
    anew = [Round([taken.result["seconds"]], taken.foreign) for taken in again]
    for method, what in (
        ("time_add", "adding one document and finding it"),
        ("time_remove", "removing one document and asking again"),
    ):
        session.record(
            what,
            "ms",
            {**session.rounds(live, method, times=10), "bm25s": anew},
            lambda seconds: percentile(seconds, 50) * 1e3,
            notes={"bm25s": "a new build"},
            goals={OURS: 0.5, "tantivy": 20.0},
        )


def _check(session: Session, workers: Mapping[str, Worker]) -> None:
    oracle = _loaded(session, [ORACLE], session.settings.documents, session.settings.threads)[ORACLE]
    oracle.call("build")
    ours = workers[OURS]
    _check_same(session, ours, oracle, "ten hits, on Ragstone's tokens", "answers", count=CHECKED, k=K)
    _check_same(
        session, ours, oracle, f"{LONG_PAGE} hits, on Ragstone's tokens", "answers", count=CHECKED_MORE, k=LONG_PAGE
    )
    for part in PARTS:
        what = f"filter of {LABELS[part]}, on Ragstone's tokens"
        _check_same(session, ours, oracle, what, "part_answers", count=CHECKED_MORE, part=part)
    oracle.close()
    answers = {peer: worker.call("answers", count=CHECKED, k=K).result for peer, worker in workers.items()}
    ids = {peer: [[document for document, _ in hits] for hits in found] for peer, found in answers.items()}
    for peer in workers:
        if peer != OURS:
            shared = overlap(ids[OURS], ids[peer])
            session.check(peer, "on its own tokens", f"{shared:.1%} of the ten hits are the same")


def _check_same(session: Session, ours: Worker, oracle: Worker, what: str, method: str, **arguments: int) -> None:
    answers = {OURS: ours.call(method, **arguments).result, "bm25s": oracle.call(method, **arguments).result}
    session.check_rankings(what, answers)


def _median_us(seconds: list[float]) -> float:
    return percentile(seconds, 50) * 1e6

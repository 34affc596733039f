"""How figures are taken: a process a peer, rounds in turn, a machine that is quiet.

A `Session` starts the peers of a task, asks them for one round at a time, in a new order each round, so that no
two ever run at once and whatever drifts drifts for all of them. A round in which other programs used the
machine is repeated, the least disturbed one counts, and what stayed disturbed is recorded as such.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeVar

from benches.figures import Absence, Check, Hit, Measurement, same_ranking
from benches.machine import busy_seconds, wait_until_quiet

__all__ = ["OURS", "ROOT", "PeerError", "Round", "Session", "Settings", "Worker"]

ROOT = Path(__file__).parent.parent
OURS = "ragstone"

T = TypeVar("T")

_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class PeerError(RuntimeError):
    """A peer could not do what it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run measures and how long it takes.

    Attributes:
        python: The interpreter of the environment that holds Ragstone and its peers.
        data: The directory with the corpus.
        corpus: Names the corpus in the figures, where it is not the harness's own.
        documents: Size of the BM25 index.
        vectors: Size of the vector index.
        chunks: Size of the hybrid index; the sparse index has twice as many vectors.
        repeats: Rounds a figure.
        budget: Seconds a round.
        threads: The most threads a peer may use.
        patience: The longest wait for a quiet machine before a round, in seconds.
        tries: How often a disturbed round is measured, at most.
        quick: Leaves out the inputs that take the slow peers seconds a call.
    """

    python: str
    data: Path
    corpus: str
    documents: int
    vectors: int
    chunks: int
    repeats: int
    budget: float
    threads: int
    patience: float
    tries: int
    quick: bool


class Round(NamedTuple):
    """What a worker answered, and how many cores others used meanwhile."""

    result: Any
    foreign: float


class Worker(AbstractContextManager["Worker"]):
    """One peer in a process of its own; `call` runs a method of it there."""

    def __init__(self, python: str, task: str, peer: str, *, threads: int) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        environment |= dict.fromkeys(_THREAD_COUNTS, str(threads))
        environment["PYTHONWARNINGS"] = "ignore"
        self.peer = peer
        self._process = subprocess.Popen(
            [python, "-m", "benches.worker", task, peer],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def call(self, method: str, **arguments: object) -> Round:
        """Run one method and wait for it.

        Raises:
            PeerError: It raised, or its process ended.
        """
        start, busy, own = time.monotonic(), busy_seconds(), busy_seconds(self._process.pid)
        reply = self._exchange(json.dumps({"method": method, "arguments": arguments}))
        if "error" in reply:
            raise PeerError(f"{self.peer}.{method}: {reply['error']}")
        others = (busy_seconds() - busy) - (busy_seconds(self._process.pid) - own)
        # The kernel counts in ticks of 10 ms: over a shorter time the share would be noise.
        return Round(reply["result"], max(0.0, others) / max(time.monotonic() - start, 0.1))

    def _exchange(self, line: str) -> dict[str, Any]:
        stdin, stdout = _open(self._process.stdin), _open(self._process.stdout)
        try:
            stdin.write(line + "\n")
            stdin.flush()
            answer = stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise PeerError(f"{self.peer}: its process ended with code {self._process.wait()}")
        reply: dict[str, Any] = json.loads(answer)
        return reply

    def close(self) -> None:
        """End the process. Closing twice is no error."""
        _open(self._process.stdin).close()
        self._process.wait()
        _open(self._process.stdout).close()

    def __exit__(self, *_: object) -> None:
        self.close()


class Session(ExitStack):
    """The peers of one task, and the figures and checks that come of them.

    Args:
        task: The script's name, such as `bm25`.
        settings: What the run measures.
        write: Called with each line of the results, as it comes.
    """

    BUSY_CORES = 0.2

    def __init__(self, task: str, settings: Settings, write: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self.task = task
        self.settings = settings
        self._write = write

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def start(self, peer: str, *, threads: int | None = None) -> Worker:
        """Start a peer's process; it ends with the session, or with its own context."""
        settings = self.settings
        return self.enter_context(
            Worker(settings.python, self.task, peer, threads=threads or settings.threads),
        )

    def loaded(self, peers: Iterable[str], *, threads: int | None = None, **arguments: object) -> dict[str, Worker]:
        """Start peers and `load` them; one that cannot, other than Ragstone, is left out and recorded so."""
        workers: dict[str, Worker] = {}
        for peer in peers:
            worker = self.start(peer, threads=threads)
            try:
                worker.call("load", **arguments)
            except PeerError as error:
                if peer == OURS:
                    raise
                worker.close()
                self.leave_out(peer, error)
            else:
                workers[peer] = worker
        return workers

    def built(self, workers: dict[str, Worker]) -> dict[str, list[Round]]:
        """Measure every peer's build, once; one that cannot, other than Ragstone, is taken out of `workers`."""
        builds: dict[str, list[Round]] = {}
        for peer, worker in list(workers.items()):
            try:
                builds[peer] = [self.measure_once(worker, "time_build")]
            except PeerError as error:
                if peer == OURS:
                    raise
                workers.pop(peer).close()
                self.leave_out(peer, error)
        return builds

    def leave_out(self, peer: str, error: PeerError) -> None:
        """Write that a peer is not measured, and why."""
        sys.stderr.write(f"{self.task}: {peer} is left out: {error}\n")
        self._write({"absence": asdict(Absence(task=self.task, peer=peer, reason=str(error)))})

    def measure_once(self, worker: Worker, method: str, **arguments: object) -> Round:
        """Wait for a quiet machine, then call: for what cannot be done twice in one process."""
        wait_until_quiet(patience=self.settings.patience, busy_cores=self.BUSY_CORES)
        return worker.call(method, **arguments)

    def measure(self, worker: Worker, method: str, **arguments: object) -> Round:
        """Return the least disturbed of up to `tries` calls."""
        best = self.measure_once(worker, method, **arguments)
        for _ in range(1, self.settings.tries):
            if best.foreign < self.BUSY_CORES:
                break
            best = min(best, self.measure_once(worker, method, **arguments), key=lambda taken: taken.foreign)
        return best

    def rounds(self, workers: Mapping[str, Worker], method: str, **arguments: object) -> dict[str, list[Round]]:
        """Measure every peer once a repeat, in a new order each repeat; a peer that cannot is left out."""
        taken: dict[str, list[Round]] = {peer: [] for peer in workers}
        for repeat in range(self.settings.repeats):
            for peer in in_turn(taken, repeat):
                try:
                    taken[peer].append(self.measure(workers[peer], method, **arguments))
                except PeerError as error:
                    sys.stderr.write(f"{self.task}: {error}\n")
                    del taken[peer]
        return taken

    def record(
        self,
        metric: str,
        unit: str,
        rounds: Mapping[str, Sequence[Round]],
        value: Callable[[Any], float | None],
        *,
        more_is_better: bool = False,
        notes: Mapping[str, str] | None = None,
        goals: Mapping[str, float] | None = None,
    ) -> None:
        """Write one figure a peer: `value` of each of its rounds, ours first; `goals` as `Measurement.goal` says."""
        for peer, taken in rounds.items():
            values = [figure for figure in (value(a_round.result) for a_round in taken) if figure is not None]
            if values:
                measurement = Measurement(
                    task=self.task,
                    peer=peer,
                    metric=self._named(metric),
                    unit=unit,
                    rounds=tuple(values),
                    more_is_better=more_is_better,
                    disturbed=sum(a_round.foreign >= self.BUSY_CORES for a_round in taken),
                    note=(notes or {}).get(peer, ""),
                    goal=(goals or {}).get(peer),
                )
                self._write({"figure": measurement.to_json()})

    def check_rankings(self, what: str, answers: Mapping[str, Sequence[Sequence[Hit]]]) -> None:
        """Write that every peer's rankings equal Ragstone's.

        Raises:
            PeerError: Some do not.
        """
        ours = answers[OURS]
        for peer, theirs in answers.items():
            same = sum(same_ranking(a, b, tolerance=1e-5) for a, b in zip(ours, theirs, strict=True))
            if same != len(ours):
                raise PeerError(f"only {same} of {len(ours)} rankings equal those of {peer}: {what}")
            if peer != OURS:
                self.check(peer, what, f"all {same} rankings equal, scores within 1e-5")

    def check(self, peer: str, what: str, result: str) -> None:
        """Write what comparing answers gave."""
        self._write({"check": asdict(Check(task=self.task, peer=peer, what=self._named(what), result=result))})

    def _named(self, what: str) -> str:
        return f"{self.settings.corpus}: {what}" if self.settings.corpus else what


def in_turn(peers: Iterable[T], repeat: int) -> list[T]:
    """Return the peers in an order of this repeat's own, the same in every run."""
    order = list(peers)
    random.Random(repeat).shuffle(order)
    return order


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream

"""The measured process: one peer of one task, serving calls from the parent.

``python -m benches.worker TASK PEER`` reads a JSON line a call on stdin, `{"method": …, "arguments": {…}}`, and
answers each with a JSON line on stdout. Whatever a peer prints goes to stderr.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benches.machine import resident_mib

__all__ = ["built", "seconds_each", "threads"]


def seconds_each(call: Callable[[Any], object], inputs: Iterable[Any], *, budget: float, least: int = 3) -> list[float]:
    """Time `call` on one input after the other until the inputs or `budget` seconds, `least` calls given, end.

    The first input is called once before, untimed: what is compiled or opened at the first call is not the call.
    """
    remaining: Iterator[Any] = iter(inputs)
    first = next(remaining)
    call(first)
    spent: list[float] = []
    end = time.perf_counter() + budget
    argument = first
    while argument is not None and (len(spent) < least or time.perf_counter() < end):
        start = time.perf_counter()
        call(argument)
        spent.append(time.perf_counter() - start)
        argument = next(remaining, None)
    return spent


def built(build: Callable[[], object]) -> dict[str, float | None]:
    """Run `build` once; return its seconds and by how many MiB the process has grown."""
    before = resident_mib()
    start = time.perf_counter()
    build()
    seconds = time.perf_counter() - start
    after = resident_mib()
    return {"seconds": seconds, "mib": None if before is None or after is None else after - before}


def threads() -> int:
    """How many threads this process was started with."""
    return int(os.environ["OMP_NUM_THREADS"])


def main(task: str, peer: str) -> None:
    """Serve one peer until stdin ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    served = importlib.import_module(f"benches.{task}").PEERS[peer]()
    for line in sys.stdin:
        call = json.loads(line)
        try:
            reply = {"result": getattr(served, call["method"])(**call["arguments"])}
        except Exception as error:  # noqa: BLE001  the parent decides what a failing peer means
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

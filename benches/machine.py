"""The machine: what it is, how busy others keep it, what this process holds in memory.

Read from Linux's /proc. Elsewhere the busy clock stands still, so that no round counts as disturbed, and
memory is not reported.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

__all__ = ["busy_seconds", "cores", "describe", "resident_mib", "wait_until_quiet"]

_PROC = Path("/proc")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def busy_seconds(pid: int | None = None) -> float:
    """CPU seconds that the whole machine, or one process with all its threads, has worked so far."""
    if not _PROC.joinpath("stat").exists():
        return 0.0
    if pid is None:
        user, nice, system, _, _, interrupts, soft, *_ = map(int, _fields(_PROC / "stat")[1:9])
        ticks = user + nice + system + interrupts + soft
    else:
        # The name in parentheses may hold spaces: count from behind it, where utime is the 12th field.
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        ticks = int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(*, patience: float, busy_cores: float) -> None:
    """Return when others use less than `busy_cores`, at the latest after `patience` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(0.2)
        if (busy_seconds() - before) / 0.2 < busy_cores:
            return


def resident_mib() -> float | None:
    """Return the resident memory of this process in MiB, or `None` where it cannot be told."""
    statm = _PROC / "self" / "statm"
    return int(_fields(statm)[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if statm.exists() else None


def describe() -> dict[str, str]:
    """Return processor, cores, memory, system and priority, for people to read."""
    memory = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    real_time = hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in {os.SCHED_FIFO, os.SCHED_RR}
    return {
        "processor": _processor(),
        "cores": str(cores()),
        "memory": memory,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "priority of all peers": "real-time, before other programs" if real_time else "normal",
    }


def _processor() -> str:
    info = _PROC / "cpuinfo"
    if not info.exists():
        return platform.processor() or platform.machine()
    entries = dict(line.split(":", 1) for line in info.read_text().split("\n\n", 1)[0].splitlines() if ":" in line)
    found = {key.strip(): value.strip() for key, value in entries.items()}
    flags = found.get("flags", "").split()
    widest = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return f"{found.get('model name', platform.machine())}{f' ({widest})' if widest else ''}"


def _fields(path: Path) -> list[str]:
    return path.read_text().split("\n", 1)[0].split()

"""Keeps runs under way and tells what they took: runs per second, and CPU of the processes that carried them.

Only the standard library: peers are measured with this from an environment of their own.
"""

from __future__ import annotations

import asyncio
import math
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Run = Callable[[], Awaitable[Any]]


# Linux makes the clock of a process from its id and the kind of time: that which the scheduler has given it.
_SCHEDULED = 2


class Pace(NamedTuple):
    """What one round took: runs per second, and CPU for a run in milliseconds."""

    runs_per_s: float
    cpu_ms: float


def best(rounds: Iterable[Pace]) -> Pace:
    """Return the highest rate and the lowest cost of some rounds: the least disturbed by whoever else works."""
    told = list(rounds)
    return Pace(max(each.runs_per_s for each in told), min(each.cpu_ms for each in told))


def middle_between(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate of a ratio, and between which it lies by 95 % (Wilcoxon's signed ranks)."""
    logs, amount = [math.log(ratio) for ratio in ratios], len(ratios)
    averages = sorted((first + second) / 2 for at, first in enumerate(logs) for second in logs[: at + 1])
    spread = math.sqrt(amount * (amount + 1) * (2 * amount + 1) / 24)
    beyond = max(0, math.floor(amount * (amount + 1) / 4 - 1.96 * spread))
    low, high = averages[beyond], averages[-1 - beyond]
    return math.exp(low), math.exp(statistics.median(averages)), math.exp(high)


async def paced(run: Run, runs: int, at_once: int, pids: Callable[[], Iterable[int]]) -> Pace:
    """Make `runs` runs, `at_once` under way at any time; `pids` names the processes whose CPU counts."""
    left = iter(range(runs))

    async def some() -> None:
        for _ in left:
            await run()

    counted = list(pids())
    before_s, began_s = cpu_s(counted), time.perf_counter()
    await asyncio.gather(*(some() for _ in range(at_once)))
    return Pace(runs / (time.perf_counter() - began_s), (cpu_s(counted) - before_s) / runs * 1e3)


def children() -> dict[int, str]:
    """Return the names of the processes below this one: process id → name."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in (path.name for path in Path("/proc").iterdir() if path.name.isdigit()):
        try:
            told = Path("/proc", entry, "stat").read_text(encoding="utf-8")
            names[int(entry)] = Path("/proc", entry, "cmdline").read_text(encoding="utf-8").split("\0")[0].strip()
        except OSError:
            continue  # the process has ended since it was listed
        parents[int(entry)] = int(told.rpartition(")")[2].split()[1])

    def is_below(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return {pid: name for pid, name in names.items() if pid != os.getpid() and is_below(pid)}


def cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU time that these processes have spent so far, also in threads that have ended, in seconds."""
    return sum(time.clock_gettime(~pid << 3 | _SCHEDULED) for pid in pids)


def memory_mb(pids: Iterable[int]) -> float:
    """Return the proportional set size of these processes together, in megabytes of a million bytes."""
    kilobytes = 0
    for pid in pids:
        for line in Path("/proc", str(pid), "smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                kilobytes += int(line.split()[1])
    return kilobytes * 1_024 / 1e6

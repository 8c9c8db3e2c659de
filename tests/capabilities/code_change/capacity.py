"""Opens many sessions in one host, has some work at once, and prints memory and times as JSON.

`python -m tests.capabilities.code_change.capacity FOLDER [SESSIONS] [AT_WORK]`; each session has a repository of its
own, since a repository has one live session. Memory is that of the host's process and all that it started, as PSS.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.session_host import MemoryLimits
from runtime.primitives.clock import SystemClock
from tests.capabilities.code_change.host_site import Driver, HostSite
from tests.capabilities.code_change.played_agent import repository

SAMPLE_S = 0.1


class Timed:
    """Carries calls to a host, and keeps how long submissions took."""

    def __init__(self, site: HostSite) -> None:
        self.site = site
        self.submits_ms: list[float] = []

    async def call(self, call: calls.Call) -> calls.Answer:
        began_s = time.perf_counter()
        try:
            return await self.site.call(call)
        finally:
            if isinstance(call, calls.SubmitPhase):
                self.submits_ms.append((time.perf_counter() - began_s) * 1000)


def tree_of(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue  # the thread has ended since it was listed
        for child in children:
            found += tree_of(int(child))
    return found


def pss_mb(pid: int) -> float:
    total = 0
    for each in tree_of(pid):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # the process has ended since it was listed
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


async def watch(peak: list[float]) -> None:
    while True:
        peak[0] = max(peak[0], await asyncio.to_thread(pss_mb, os.getpid()))
        await asyncio.sleep(SAMPLE_S)


async def measured(folder: Path, sessions: int, at_work: int) -> dict[str, Any]:
    first = repository(folder / "p0")
    roots = [first]
    for number in range(1, sessions):
        roots.append(folder / f"p{number}")
        shutil.copytree(first, roots[-1])
    peak = [0.0]
    watching = asyncio.create_task(watch(peak))
    limits = MemoryLimits(sessions=sessions)
    timed = Timed(HostSite(folder / "state", clock=SystemClock(), limits=limits))
    drivers = [Driver(timed, root.resolve()) for root in roots]
    for driver in drivers:
        await driver.start()
        await driver.go_to(6)
    opened_mb, in_memory = peak[0], timed.site.host.in_memory
    light_ms = statistics.median(timed.submits_ms)
    await asyncio.gather(*(driver.finish() for driver in drivers[:at_work]))
    # Another host on the same store has none of them in memory.
    again = HostSite(folder / "state", clock=SystemClock())
    returns_ms = []
    for driver in drivers[at_work:]:
        driver.carrier = again
        began_s = time.perf_counter()
        await driver.status()
        returns_ms.append((time.perf_counter() - began_s) * 1000)
    watching.cancel()
    return {
        "sessions": sessions,
        "in_memory": in_memory,
        "peak_open_mb": round(opened_mb, 1),
        "peak_at_work_mb": round(peak[0], 1),
        "submit_without_git_p50_ms": round(light_ms, 1),
        "first_call_after_passivation_p50_ms": round(statistics.median(returns_ms), 1),
        "first_call_after_passivation_max_ms": round(max(returns_ms), 1),
    }


def main() -> None:
    folder, sessions, at_work = [*sys.argv[1:], *("200", "10")[len(sys.argv) - 2 :]]
    told = asyncio.run(measured(Path(folder), int(sessions), int(at_work)))
    sys.stdout.write(f"{json.dumps(told)}\n")


if __name__ == "__main__":
    main()

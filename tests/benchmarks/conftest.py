"""Figures of this machine mean little by themselves: each is held against a floor that is measured in the same run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Report = Callable[..., None]
_LINES: list[str] = []


def best_s(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of some runs: the least disturbed by whoever else uses the machine."""
    best = float("inf")
    for _ in range(repeats):
        started_s = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started_s)
    return best


@pytest.fixture
def held_against(benchmark: Any) -> Iterator[Report]:
    """`held_against(floor, unit, per_run)`: print the benchmark's rate beside its floor's, and their ratio."""

    def report(floor: Callable[[], Any], unit: str, per_run: int = 1, floor_per_run: int | None = None) -> None:
        if benchmark.stats is None:
            return
        least_s = best_s(floor)
        mine = per_run / benchmark.stats.stats.min
        others = (floor_per_run or per_run) / least_s
        benchmark.extra_info |= {"unit": unit, "rate": mine, "floor": others, "ratio": others / mine}
        _LINES.append(f"{benchmark.name}: {mine:,.0f} {unit}/s, floor {others:,.0f} {unit}/s, {others / mine:.1f} x")

    yield report


@pytest.fixture
def record_ratio() -> Callable[[str], None]:
    """Print a line at the end, of a ratio that the test has taken itself."""
    return _LINES.append


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was measured, as ratios."""
    if _LINES:
        terminalreporter.section("against their floors")
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        terminalreporter.write_line(f"load {load} on {os.cpu_count()} processors")
        for line in _LINES:
            terminalreporter.write_line(line)

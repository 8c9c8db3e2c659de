"""Figures of this machine mean little by themselves: each is held against a floor that is measured in the same run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

Report = Callable[..., None]
Rows = dict[str, dict[str, float]]
TellRows = Callable[[str, str, Rows], None]
FLOORS = "Parts against their floors"
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
def held_against(benchmark: Any) -> Report:
    """`held_against(floor, unit, per_run)`: print the benchmark's rate beside its floor's, and their ratio.

    `named` says what the floor is. `benchmark.extra_info` keeps the figures.
    """

    def report(
        floor: Callable[[], Any], unit: str, per_run: int = 1, floor_per_run: int | None = None, *, named: str
    ) -> None:
        if benchmark.stats is None:
            return
        least_s = best_s(floor)
        mine = per_run / benchmark.stats.stats.min
        others = (floor_per_run or per_run) / least_s
        benchmark.extra_info |= {"unit": unit, "rate": mine, "floor": others, "ratio": others / mine}
        measure = f"{unit}/s"
        case = benchmark.name.removeprefix("test_").replace("_", " ")
        told = {"topic": FLOORS, "case": case, "load": os.getloadavg()[0], "floor": named}
        told |= {"rows": {"here": {measure: mine}, "floor": {measure: others}}}
        benchmark.extra_info.setdefault("figures", []).append(told)
        _LINES.append(f"{benchmark.name}: {mine:,.0f} {unit}/s, {named} {others:,.0f} {unit}/s, {others / mine:.1f} x")

    return report


@pytest.fixture
def tell_rows(benchmark: Any) -> TellRows:
    """`tell_rows(topic, case, rows)`: keep what was measured side by side: who → measure → value; ours comes first."""

    def tell(topic: str, case: str, rows: Rows) -> None:
        told = {"topic": topic, "case": case, "load": os.getloadavg()[0], "rows": rows}
        benchmark.extra_info.setdefault("figures", []).append(told)
        _LINES.append(f"{topic}: {case}")
        _LINES.extend(
            f"    {who}: " + ", ".join(f"{each} {n:,.3g}" for each, n in of.items()) for who, of in rows.items()
        )

    return tell


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was measured, as ratios."""
    if _LINES:
        terminalreporter.section("against their floors")
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        terminalreporter.write_line(f"load {load} on {os.cpu_count()} processors")
        for line in _LINES:
            terminalreporter.write_line(line)

"""`python -m tests.faults`: faults on a real system, round after round, and what became of every run.

Exit status 1 when anything was lost, doubled, otherwise wrong, or slower than allowed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.faults.fault_places import CannotStrike
from tests.faults.fault_rounds import undisturbed
from tests.faults.fault_site import Site
from tests.faults.fault_table import FAULTS, Record, one_round

ROUNDS = 20
WIDTH = 130
SUMS = ("accepted", "ended", "lost", "doubled")
TIMES = ("detection_s", "recovery_s")


def main(arguments: list[str] | None = None) -> int:
    """Strike as the command line says; the exit status."""
    told = _parser().parse_args(arguments)
    console = Console(stderr=True)
    records: dict[str, list[Record]] = {}
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bar, console=console) as progress, tempfile.TemporaryDirectory(prefix="jeeves-faults-") as folder:
        bars = {name: progress.add_task(name, total=told.rounds) for name in told.faults}

        def done(name: str, record: Record) -> None:
            records.setdefault(name, []).append(record)
            progress.advance(bars[name])

        for number, names in enumerate(by_site(told.faults)):
            try:
                with FAULTS[names[0]].site(Path(folder) / str(number)) as site:
                    asyncio.run(strike(site, names, told.rounds, done))
            except CannotStrike as error:
                console.print(f"{', '.join(names)}: not tried. {error}")
    report = {name: summary(records[name]) for name in told.faults if name in records}
    Console(width=WIDTH).print(_table(report))
    for name, line in report.items():
        for finding in line["findings"]:
            Console(soft_wrap=True).print(f"{name}: {finding}", markup=False, highlight=False)
    if told.json is not None:
        told.json.write_text(json.dumps({"machine": machine(), "faults": report}, indent=2) + "\n", encoding="utf-8")
    return int(any(line["wrong"] for line in report.values()))


def by_site(names: Iterable[str]) -> list[list[str]]:
    """The faults in groups that strike the same kind of site, so that it is started once for all of them."""
    groups: dict[Any, list[str]] = {}
    for name in names:
        groups.setdefault(FAULTS[name].site, []).append(name)
    return list(groups.values())


async def strike(site: Site, names: Iterable[str], rounds: int, done: Callable[[str, Record], None]) -> None:
    """Bring a site up, see what runs come to undisturbed, and strike it with each fault, round after round."""
    await site.up()
    expected = await undisturbed(site)
    for name in names:
        for number in range(rounds):
            done(name, await one_round(site, FAULTS[name], number, expected))


def summary(records: list[Record]) -> dict[str, Any]:
    """All rounds of one fault in one line, and what was found."""
    line: dict[str, Any] = {"rounds": len(records)}
    for column in SUMS:
        line[column] = sum(getattr(record, column) for record in records)
    line["wrong"] = sum(bool(record.findings) for record in records)
    for column in TIMES:
        times = [value for record in records if (value := getattr(record, column)) is not None]
        line[column] = {"median": statistics.median(times), "max": max(times)} if times else None
    line["findings"] = [finding for record in records for finding in record.findings]
    return line


def machine() -> dict[str, Any]:
    """On what, and beside how much else."""
    return {"cpus": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()}


def _table(report: dict[str, Any]) -> Table:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    columns = ("rounds", *SUMS, "wrong")
    table = Table("fault", *columns, *TIMES, title=f"faults; load {load} on {os.cpu_count()} processors")
    for name, line in report.items():
        table.add_row(name, *(str(line[column]) for column in columns), *(_spread(line[column]) for column in TIMES))
    return table


def _spread(times: dict[str, float] | None) -> str:
    return "" if times is None else f"{times['median']:.1f} (max {times['max']:.1f})"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often each fault strikes ({ROUNDS})")
    parser.add_argument("--faults", type=_names, default=list(FAULTS), help=f"of {', '.join(FAULTS)}")
    parser.add_argument("--json", type=Path, help="where to write the report")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no fault is named {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())

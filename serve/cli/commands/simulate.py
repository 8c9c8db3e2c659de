"""Runs `jeeves simulate`: tests the kernel under seeded faults.

With a protection switched off, it shows that the tests can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer

from runtime.errors import SettingsError
from runtime.simulator.campaign import Report, run_campaign
from runtime.simulator.simulated_system import PROTECTIONS
from serve.cli.output.terminal import progress_console, say, say_json

DEFAULT_SEEDS = "0:1000"
FAILURES_SHOWN = 20


def simulate(
    seeds: Annotated[str, typer.Option(help="Seeds A:B, from A inclusive to B exclusive.")] = DEFAULT_SEEDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    broken: Annotated[
        str | None,
        typer.Option("--break", metavar="NAME", help=f"Switch a protection off: {', '.join(PROTECTIONS)}."),
    ] = None,
) -> None:
    """Run whole systems under seeded faults, and check that nothing was lost, duplicated or overspent.

    Messages are dropped, duplicated, delayed and reordered; agents, bus, supervisor and store crash between any two
    steps; writes fail, or only appear to fail; the clock jumps. The same seed gives the same run. Exit status 1 if any
    check was violated.
    """
    first, stop = seed_range(seeds)
    with _progress(stop - first) as on_seed:
        report = run_campaign(first, stop, broken, on_seed)
    if as_json:
        say_json(msgspec.to_builtins(report))
    else:
        say(told(report))
    if report.violations:
        raise typer.Exit(1)


def seed_range(text: str) -> tuple[int, int]:
    """Return the first seed and the exclusive end. Raises SettingsError for anything but A:B with A <= B."""
    first, colon, stop = text.partition(":")
    if not colon or not (first.isdecimal() and stop.isdecimal()) or int(first) > int(stop):
        raise SettingsError(f"--seeds takes A:B, two numbers with A <= B, not '{text}'")
    return int(first), int(stop)


def told(report: Report) -> str:
    """Return a report as text."""
    struck = ", ".join(f"{kind} {count}" for kind, count in report.faults.items())
    lines = [
        f"{report.seeds} seeds with {report.runs} runs in {report.duration_s:.1f} s ({report.seeds_per_s:.0f} seeds/s)"
        + (f", with '{report.broken}' switched off" if report.broken else ""),
        f"faults: {struck or 'none'}",
        f"violations: {report.violations}",
    ]
    lines += [f"  seed {one.seed}: {one.invariant}: {one.detail}" for one in report.failures[:FAILURES_SHOWN]]
    if report.violations > FAILURES_SHOWN:
        lines.append(f"  and {report.violations - FAILURES_SHOWN} more")
    return "\n".join(lines) + "\n"


@contextmanager
def _progress(seeds: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call after each seed, which advances a progress bar; None without a terminal."""
    # Imported here: it would slow the start of every other command.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = progress_console()
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("seeds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("seeds", total=seeds)
        yield lambda _seed: progress.advance(bar)

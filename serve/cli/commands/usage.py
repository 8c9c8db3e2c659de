"""Runs `jeeves usage`: sums what runs have used, by principal, session or run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.errors import InputError
from runtime.primitives.clock import SystemClock
from runtime.store.options import store_options
from runtime.store.run_records import UsedRun
from serve.cli.command_settings import load_command_settings
from serve.cli.output.terminal import counted, say_json, say_line
from serve.usage import HOUR_MS, UsageSum, by_principal, by_session, summed, used_runs

MAX_HOURS = 24 * 36_500


def _by_run(runs: Iterable[UsedRun]) -> dict[str, UsageSum]:
    newest = sorted(runs, key=lambda run: (run.started_at_ms, run.run_id), reverse=True)
    return {run.run_id: UsageSum().plus(run) for run in newest}


_SUMS: dict[str, Callable[[Iterable[UsedRun]], dict[str, UsageSum]]] = {
    "principal": by_principal,
    "session": by_session,
    "run": _by_run,
}


def usage(
    by: Annotated[str, typer.Option(help="principal, session or run.")] = "principal",
    hours: Annotated[float, typer.Option(help="Count the runs that began within this many hours.")] = 24,
    principal: Annotated[str | None, typer.Option(metavar="ID", help="Only this one's, such as token:ci.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Only those of this session.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Show what runs have used: model and tool calls, tokens and their cost by the prices of the model file."""
    if by not in _SUMS:
        raise InputError(f"--by takes {', '.join(_SUMS)}, not {by[:40]!r}")
    if not 0 < hours <= MAX_HOURS:
        raise InputError(f"--hours takes more than 0 and at most {MAX_HOURS}, not {hours:g}")
    settings = load_command_settings(config)
    since_ms = SystemClock().now_ms() - round(hours * HOUR_MS)
    runs = used_runs(store_options(settings), since_ms, principal, session)
    rows = {name: each.document() for name, each in _SUMS[by](runs).items()}
    total = summed(runs).document()
    if as_json:
        say_json({"since_ms": since_ms, "total": total, f"by_{by}": [{by: name, **row} for name, row in rows.items()]})
        return
    for name, row in rows.items():
        say_line(f"{name}: {_line(row)}")
    say_line(f"in all: {_line(total)}")


def _line(row: dict[str, Any]) -> str:
    calls = f"{counted(row['llm_calls'], 'model call')}, {counted(row['tool_calls'], 'tool call')}"
    tokens = f"{row['tokens_in']} tokens in, {row['tokens_out']} out"
    return f"{counted(row['runs'], 'run')}, {calls}, {tokens}, cost {row['cost']}"

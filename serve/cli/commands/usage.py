"""Runs `jeeves usage`: sums what runs have used, by principal, session or run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.errors import InputError
from runtime.memory.owned_sessions import SessionOwner
from runtime.primitives.clock import SystemClock
from runtime.store.options import store_options
from runtime.store.run_records import UsedRun
from serve.cli.command_settings import load_command_settings
from serve.cli.output.terminal import counted, say_json, say_line
from serve.usage import HOUR_MS, UsageSum, by_principal, by_session, session_owners, summed, used_runs

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
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Only those of this session, by name or id.")
    ] = None,
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
    options = store_options(settings)
    runs = used_runs(options, since_ms, principal)
    owners = session_owners(options, runs) if session is not None or by == "session" else {}
    if session is not None:
        runs = [run for run in runs if session in (run.session_id, _name_of(run.session_id, owners))]
    rows = {name: each.document() for name, each in _SUMS[by](runs).items()}
    total = summed(runs).document()
    if as_json:
        told = [{by: name, **_owned(name, owners), **row} for name, row in rows.items()]
        say_json({"since_ms": since_ms, "total": total, f"by_{by}": told})
        return
    for name, row in rows.items():
        shown = f"{owners[name].name} ({owners[name].user_id})" if name in owners else name
        say_line(f"{shown}: {_line(row)}")
    say_line(f"in all: {_line(total)}")


def _name_of(session_id: str, owners: Mapping[str, SessionOwner]) -> str | None:
    return owners[session_id].name if session_id in owners else None


def _owned(session_id: str, owners: Mapping[str, SessionOwner]) -> dict[str, str]:
    """Return the name of a session and its principal, if they are registered."""
    owner = owners.get(session_id)
    return {} if owner is None else {"name": owner.name, "principal": owner.user_id}


def _line(row: dict[str, Any]) -> str:
    calls = f"{counted(row['llm_calls'], 'model call')}, {counted(row['tool_calls'], 'tool call')}"
    tokens = f"{row['tokens_in']} tokens in, {row['tokens_out']} out"
    return f"{counted(row['runs'], 'run')}, {calls}, {tokens}, cost {row['cost']}"

"""`jeeves gc`: deletes old state."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from runtime.errors import InputError
from runtime.primitives.clock import SystemClock
from runtime.settings import MAX_DAYS, load_settings
from runtime.store.opening import store_options
from runtime.store.retention import Sweep, Swept
from serve.batch.shared_work import QUEUE_PREFIX

MS_PER_DAY = 86_400_000

# What is counted → how one and several of them are called.
_NAMES = {
    "runs": ("finished run", "finished runs"),
    "logs": ("one-off log", "one-off logs"),
    "journals": ("journal of a run that is over", "journals of runs that are over"),
    "sessions": ("session", "sessions"),
    "cached": ("cached result", "cached results"),
    "relations": ("relation of symbols and files", "relations of symbols and files"),
    "dead_letters": ("dead letter", "dead letters"),
    "abandoned_tasks": ("task of an abandoned batch", "tasks of abandoned batches"),
}


def gc(
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Delete what was unused this long; default: store.retention_days."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be deleted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Delete old finished runs, sessions, cached results and dead letters; unfinished runs are always kept.

    A system may be up meanwhile.
    """
    settings = load_settings(config)
    days = settings.store.retention_days if older_than is None else older_than
    if days is None:
        raise InputError("store.retention_days is unlimited: everything is kept; pass --older-than to delete something")
    if not 0 <= days <= MAX_DAYS:
        raise InputError(f"--older-than takes 0 to {MAX_DAYS} days, not {days:g}")
    clock = SystemClock()
    before_ms = clock.now_ms() - round(days * MS_PER_DAY)
    swept = Sweep(store_options(settings), clock, before_ms, dry_run, QUEUE_PREFIX).run()
    document = {"older_than_days": days, "dry_run": dry_run, **msgspec.to_builtins(swept)}
    sys.stdout.write(json.dumps(document) + "\n" if as_json else told(swept, days, dry_run))


def told(swept: Swept, days: float, dry_run: bool) -> str:
    """Return a summary of what was deleted."""
    counts = {field: int(getattr(swept, field)) for field in _NAMES}
    parts = [f"{count} {_NAMES[field][count != 1]}" for field, count in counts.items() if count]
    verb = "would be deleted" if dry_run else "deleted"
    lines = [f"{', '.join(parts) or 'nothing'} {verb}, unused for {days:g} days"]
    if not dry_run:
        lines.append(f"{swept.freed_bytes:,} bytes freed")
    return "\n".join(lines) + "\n"

"""Runs `jeeves gc`: deletes old state."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from runtime.database.store_part import Counted
from runtime.errors import InputError
from runtime.primitives.clock import SystemClock
from runtime.settings import MAX_DAYS, load_settings
from runtime.store.options import store_options
from runtime.store.parts import all_parts
from runtime.store.retention import Sweep, Swept, counted_by
from serve.batch.shared_work import QUEUE_PREFIX
from serve.cli.output.terminal import say, say_json
from serve.contributions import store_parts

MS_PER_DAY = 86_400_000


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
    parts = all_parts(store_parts())
    swept = Sweep(store_options(settings), parts, clock, before_ms, dry_run, QUEUE_PREFIX).run()
    document = {"older_than_days": days, "dry_run": dry_run, **swept.counts, "freed_bytes": swept.freed_bytes}
    say_json(document) if as_json else say(told(swept, counted_by(parts), days, dry_run))


def told(swept: Swept, counted: Iterable[Counted], days: float, dry_run: bool) -> str:
    """Return a summary of what was deleted."""
    counts = [(swept.counts[each.key], each) for each in counted]
    parts = [f"{count} {each.one if count == 1 else each.several}" for count, each in counts if count]
    verb = "would be deleted" if dry_run else "deleted"
    lines = [f"{', '.join(parts) or 'nothing'} {verb}, unused for {days:g} days"]
    if not dry_run:
        lines.append(f"{swept.freed_bytes:,} bytes freed")
    return "\n".join(lines) + "\n"

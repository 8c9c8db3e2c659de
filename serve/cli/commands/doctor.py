"""Runs `jeeves doctor`: checks all that the settings configure, and says what fixes each problem.

The checks (`serve.cli.commands.doctor_checks`) run side by side, each in a thread with a time limit: what hangs is
reported and left behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from runtime.errors import JeevesError
from runtime.settings import Settings, load_settings
from serve.cli.commands.doctor_checks import CHECKS, Check
from serve.cli.output.terminal import say_json, say_line

TIME_LIMIT_S = 15.0

Look = Callable[[Settings], Iterator[Check]]


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Check this installation and all that is configured; exit status 1 if something required is missing."""
    checks = run_checks(CHECKS, load_settings(config), TIME_LIMIT_S)
    if as_json:
        say_json([msgspec.to_builtins(check) for check in checks])
    else:
        for check in checks:
            mend = f"  → {check.mend}" if check.mend and check.verdict != "ok" else ""
            say_line(f"{check.verdict:8}{check.name:23} {check.detail}{mend}")
    if any(check.needed and check.verdict != "ok" for check in checks):
        raise typer.Exit(1)


def run_checks(looks: Mapping[str, Look], settings: Settings, time_limit_s: float) -> list[Check]:
    """Run checks concurrently and return their results in the order of `looks`.

    One that is not done within the limit counts as failed; so does one that raises. What it found before is kept.
    """
    found: dict[str, list[Check]] = {name: [] for name in looks}
    threads = {
        # Daemons: the process ends without those that hang.
        name: threading.Thread(target=_run, args=(look, settings, name, found[name]), name=name, daemon=True)
        for name, look in looks.items()
    }
    until_s = time.monotonic() + time_limit_s
    for thread in threads.values():
        thread.start()
    for name, thread in threads.items():
        thread.join(max(until_s - time.monotonic(), 0))
        if thread.is_alive():
            late = Check(name, "failed", f"no result within {time_limit_s:g} s", "see whether what it reaches answers")
            found[name] = [*found[name], late]
    return [check for checks in found.values() for check in checks]


def _run(look: Look, settings: Settings, name: str, found: list[Check]) -> None:
    try:
        for check in look(settings):
            found.append(check)
    except JeevesError as error:
        found.append(Check(name, "failed", error.message, "see the message"))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the installation is what is asked for
        found.append(Check(name, "failed", f"{type(error).__name__}: {error}", "report this: the check itself failed"))

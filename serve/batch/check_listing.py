"""Lists the violations of a folder in a process of its own, for `jeeves check` and `jeeves fix`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors.capabilities.violation_fix.checks.listing import LISTING, report_of
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.violation import CheckReport
from runtime.errors import MachineError, ProcessTimeoutError
from runtime.processes.worker_pool import WorkerPool

TIMEOUT_S = 900.0
MAX_MEMORY_BYTES = 4 * 1024**3


def listed(
    root: Path,
    paths: Sequence[str],
    options: CheckOptions,
    *,
    timeout_s: float = TIMEOUT_S,
    on_progress: Callable[[str], None] = lambda _told: None,
) -> CheckReport:
    """Return what the checks find below `root`, or among `paths`. Raises InputError, and MachineError when it is late.

    `on_progress` is given a line for a person now and then.
    """

    def on_note(done: Any) -> None:
        on_progress(f"checking: {done[0]} of {done[1]} steps")

    pool = WorkerPool(size=1, kept=0, memory_bytes=MAX_MEMORY_BYTES)
    given = {"root": str(root), "paths": list(paths), "options": options}
    try:
        return report_of(pool.call_blocking(LISTING, given, timeout_s=timeout_s, on_note=on_note))
    except ProcessTimeoutError as error:
        raise MachineError(
            f"the violations of {root} could not be listed within {timeout_s:g} s; name some of its files or folders, "
            "or give `jeeves check` more time with --timeout-s"
        ) from error
    finally:
        pool.close()

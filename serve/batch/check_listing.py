"""Lists the violations of a folder in a process of its own, for `jeeves check` and `jeeves fix`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from actors.capabilities.violation_fix.checks.listing import LISTING, report_of
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.violation import CheckReport
from runtime.errors import MachineError, ProcessDiedError, ProcessMemoryError, ProcessTimeoutError
from runtime.processes.worker_pool import WorkerPool

TIMEOUT_S = 900.0
MAX_MEMORY_BYTES = 4 * 1024**3
MAX_FATAL_FILES = 3


def listed(
    root: Path,
    paths: Sequence[str],
    options: CheckOptions,
    *,
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MAX_MEMORY_BYTES,
    on_progress: Callable[[str], None] = lambda _told: None,
) -> CheckReport:
    """Return what the checks find below `root`, or among `paths`. Raises InputError, and MachineError when it is late.

    `on_progress` is given a line for a person now and then. A file that ends the process, as some do that are made to,
    is read as text in another one, and told as not checked; a few of them at most.
    """
    ends_at_s = time.monotonic() + timeout_s
    fatal: list[str] = []
    while True:
        parsing: list[str] = []
        left_s = max(ends_at_s - time.monotonic(), 0.001)
        try:
            return _listed_once(root, paths, options, fatal, _Notes(parsing, on_progress), left_s, memory_bytes)
        except ProcessTimeoutError as error:
            raise MachineError(
                f"the violations of {root} could not be listed within {timeout_s:g} s; name some of its files or "
                "folders, or give `jeeves check` more time with --timeout-s"
            ) from error
        except (ProcessDiedError, ProcessMemoryError):
            if not parsing or parsing[-1] in fatal or len(fatal) == MAX_FATAL_FILES:
                raise
            fatal.append(parsing[-1])


class _Notes(NamedTuple):
    """Takes what a listing notes: its progress, and in `parsing` the files that it parses."""

    parsing: list[str]
    on_progress: Callable[[str], None]

    def take(self, noted: Any) -> None:
        if isinstance(noted, str):
            self.parsing[:] = [noted]
        else:
            self.on_progress(f"checking: {noted[0]} of {noted[1]} steps")


def _listed_once(
    root: Path,
    paths: Sequence[str],
    options: CheckOptions,
    unparsed: Sequence[str],
    notes: _Notes,
    timeout_s: float,
    memory_bytes: int,
) -> CheckReport:
    pool = WorkerPool(size=1, kept=0, memory_bytes=memory_bytes)
    given = {"root": str(root), "paths": list(paths), "options": options, "unparsed": list(unparsed)}
    try:
        return report_of(pool.call_blocking(LISTING, given, timeout_s=timeout_s, on_note=notes.take))
    finally:
        pool.close()

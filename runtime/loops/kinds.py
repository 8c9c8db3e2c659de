"""Lists the watchers of all kinds of loops, the most specific kind first.

What counts as honest work, beyond the thresholds, is explained in docs/loops-and-phases.md.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.loops.failing_kinds import ErrorCycle, SemanticLoop
from runtime.loops.idle_kinds import IdenticalAction, NoProgress, Oscillation
from runtime.loops.repeated_results import RepeatedChecks, RepeatedErrors
from runtime.loops.thresholds import Thresholds
from runtime.loops.watching import Watcher

WATCHERS: tuple[tuple[str, Callable[[int], Watcher]], ...] = (
    ("identical_action", IdenticalAction),
    ("error_cycle", ErrorCycle),
    ("semantic_loop", SemanticLoop),
    ("repeated_errors", RepeatedErrors),
    ("oscillation", Oscillation),
    ("no_progress", NoProgress),
    ("repeated_checks", RepeatedChecks),
)


def watchers(thresholds: Thresholds) -> list[Watcher]:
    """Return a watcher for every threshold that is set, the most specific kind first."""
    found = [(make, getattr(thresholds, name)) for name, make in WATCHERS]
    return [make(threshold) for make, threshold in found if threshold is not None]

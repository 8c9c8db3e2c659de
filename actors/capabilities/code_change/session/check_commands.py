"""Runs the commands that a contract names, each in a process that is killed when it takes too long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.contracts.contract import CheckCommand
from runtime.contracts.duties import CheckResult
from runtime.contracts.session_state import SessionState
from runtime.primitives.visible_text import visible
from runtime.processes.programs import run_program

MAX_OUTPUT_BYTES = 2_000_000
MAX_TOLD_CHARS = 2_000
# Errors belong to what is told; run_program itself reads standard output alone.
_BOTH_STREAMS = ("sh", "-c", 'exec "$@" 2>&1', "check")


def run_checks(commands: Sequence[CheckCommand], state: SessionState) -> tuple[CheckResult, ...]:
    """Run commands in a session's workspace, one after the other; the first failure ends it."""
    assert state.place is not None
    results: list[CheckResult] = []
    for check in commands:
        results.append(_run(check, Path(state.place.folder)))
        if not results[-1].passed:
            break
    return tuple(results)


def _run(check: CheckCommand, folder: Path) -> CheckResult:
    try:
        data, status, late = run_program(
            [*_BOTH_STREAMS, *check.command], cwd=folder, timeout_s=check.timeout_s, max_output_bytes=MAX_OUTPUT_BYTES
        )
    except OSError as error:
        return CheckResult(check.name, False, f"it cannot be run: {error.strerror}")
    if late:
        return CheckResult(check.name, False, f"it took longer than {check.timeout_s:g} s and was killed")
    told = visible(data.decode("utf-8", "replace"))[-MAX_TOLD_CHARS:]
    return CheckResult(check.name, status == 0, f"status {status}; the end of its output: {told}")

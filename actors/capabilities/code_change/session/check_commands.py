"""Runs the commands that a contract names, each in a process that is killed when it takes too long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.contracts.contract import CheckCommand
from runtime.contracts.duties import CheckResult
from runtime.contracts.session_state import SessionState
from runtime.processes.named_commands import run_named


def run_checks(commands: Sequence[CheckCommand], state: SessionState) -> tuple[CheckResult, ...]:
    """Run commands in a session's workspace, one after the other; the first failure ends it."""
    assert state.place is not None
    results: list[CheckResult] = []
    for check in commands:
        end = run_named(check.command, Path(state.place.folder), check.timeout_s)
        results.append(CheckResult(check.name, end.passed, end.told))
        if not end.passed:
            break
    return tuple(results)

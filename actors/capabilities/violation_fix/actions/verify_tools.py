"""Checks the file of a fix and runs its tests, as tools; `broken` in their data was whole before."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from actors.capabilities.violation_fix.actions.edit_tools import FixWorkspace
from actors.capabilities.violation_fix.verification.verdicts import load_baseline
from actors.capabilities.violation_fix.verification.verifier import Verifier
from runtime.tools.result import ToolResult

TESTS_TIMEOUT_S = 3_600.0


class RunCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks the violation's file."""


class RunTests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs the tests that the file affects, or all."""

    scope: Literal["affected", "all"] = "all"


def run_check_tool(place: FixWorkspace, _asked: RunCheck) -> ToolResult:
    """Return what the checks say of the file now."""
    verdict = _verifier(place).check(load_baseline(Path(place.baseline_file)), place.violation)
    return ToolResult(
        "ok",
        {
            "output": verdict.told,
            "scope": place.file,
            "is_fixed": verdict.is_fixed,
            "passing": verdict.passing,
            "failing": verdict.failing,
            "broken": list(verdict.problems),
        },
    )


def run_tests_tool(place: FixWorkspace, asked: RunTests) -> ToolResult:
    """Return what the tests say that passed before the fix."""
    verdict = _verifier(place).test(load_baseline(Path(place.baseline_file)), place.file, asked.scope)
    if verdict is None:
        return ToolResult("ok", {"output": "No tests ran: there are none that pass", "ran": 0, "broken": []})
    broken = [f"{test} fails now: {why}" for test, why in verdict.regressions.items()]
    if not verdict.is_complete:
        broken.append("the run of the tests did not come to its end")
    return ToolResult(
        "ok", {"output": verdict.told, "scope": "tests", "ran": verdict.ran, "passed": verdict.passed, "broken": broken}
    )


def _verifier(place: FixWorkspace) -> Verifier:
    return Verifier(place.verified)

"""Defines what a verification is about and what it says, as data.

A baseline is kept in a file, so that a run can be resumed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.violation import Violation
from actors.capabilities.violation_fix.verification.test_runs import TestLimits
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from runtime.codebase.git.work_trees import WorkTree

Scope = Literal["affected", "all"]


class Workspace(msgspec.Struct, frozen=True):
    """Names the work tree that is verified, how its tests run, and what is checked."""

    tree: WorkTree
    setup: TestSetup
    options: CheckOptions = CheckOptions()
    limits: TestLimits = TestLimits()


class Baseline(msgspec.Struct, frozen=True):
    """Holds what checks and tests said of a commit, before any edit.

    `passed`: tests that passed each time; `failing`, `skipped`, `flaky`: the others, and `hanging`, which are not run
    again. `calls`: function, as `PATH:FIRST LINE`, → the passing tests that call it, for the files of the baseline.
    `is_complete`: whether every test came to an end.
    """

    commit: str
    files: tuple[str, ...]
    violations: tuple[Violation, ...]
    passed: tuple[str, ...] = ()
    failing: Mapping[str, str] = {}
    skipped: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    hanging: tuple[str, ...] = ()
    calls: Mapping[str, tuple[str, ...]] = {}
    is_complete: bool = True
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0

    def callers(self, path: str) -> frozenset[str]:
        """Return the passing tests that call any function of a file."""
        of_file = (tests for function, tests in self.calls.items() if function.rpartition(":")[0] == path)
        return frozenset(test for tests in of_file for test in tests)


class Coverage(msgspec.Struct, frozen=True):
    """Says whether tests watch over a function. `tests`: passing ones that call it, or that were tried.

    `is_proven`: an exception planted in it turned `red` red, so that the tests import this work tree; `why` not.
    """

    function: str
    tests: tuple[str, ...]
    is_proven: bool
    red: str = ""
    why: str = ""


class CheckVerdict(msgspec.Struct, frozen=True):
    """Holds what the checks say of the file of a fix. `problems`: what must not be, each as a sentence."""

    is_fixed: bool
    passing: int
    failing: int
    new: tuple[Violation, ...]
    stayed: tuple[Violation, ...]
    problems: tuple[str, ...]
    told: str


class TestVerdict(msgspec.Struct, frozen=True):
    """Holds what the tests say. `regressions`: tests that passed and do not any more, with the reason."""

    __test__ = False

    ran: int
    passed: int
    regressions: Mapping[str, str]
    flaky: tuple[str, ...]
    is_complete: bool
    told: str


class Verification(msgspec.Struct, frozen=True):
    """Holds both verdicts; `tests` is None where the checks failed already, or no test passes."""

    checks: CheckVerdict
    tests: TestVerdict | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """The things that the edit broke, each as a sentence; the violation itself is not among them."""
        regressions = self.tests.regressions if self.tests is not None else {}
        return (*self.checks.problems, *(f"{test} fails now: {why}" for test, why in regressions.items()))

    @property
    def is_good(self) -> bool:
        """True if the violation is fixed and nothing is broken."""
        complete = self.tests is None or self.tests.is_complete
        return self.checks.is_fixed and not self.broken and complete

    @property
    def told(self) -> str:
        """The words of both verdicts."""
        return "\n".join(each.told for each in (self.checks, self.tests) if each is not None)


def save_baseline(baseline: Baseline, file: Path) -> None:
    """Write a baseline to a file, whole or not at all."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}.new")
    fresh.write_bytes(msgspec.json.encode(baseline))
    os.replace(fresh, file)  # noqa: PTH105 - a rename over what is there


def load_baseline(file: Path) -> Baseline:
    """Return a baseline that was saved."""
    return msgspec.json.decode(file.read_bytes(), type=Baseline)

"""Defines the guards of phases by name, over a small neutral view of the task."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from runtime.context.understanding import FactCategory


class PhaseView(msgspec.Struct, frozen=True):
    """Shows what guards may depend on.

    Checks and tests have three values: what has not run since the last edit neither passes nor fails. `last_action` and
    `last_result` are those of the step just taken; "" before the first one. `has_candidates`: something that could be
    done at once was found beforehand. The machine fills in `steps_in_phase`.
    """

    fact_categories: frozenset[str] = frozenset()
    files_modified: int = 0
    checks: bool | None = None
    tests: bool | None = None
    has_plan: bool = False
    last_action: str = ""
    last_result: str = ""
    steps_in_phase: int = 0
    has_candidates: bool = True


Guard = Callable[[PhaseView], bool]
# Guards that are given a number in the document: `steps_at_least: 12`.
CountingGuard = Callable[[PhaseView, int], bool]

GIVING_UP = frozenset({"escalate", "cannot_fix"})

GUARDS: Mapping[str, Guard] = {
    "always": lambda view: True,
    "has_code_structure": lambda view: FactCategory.CODE_STRUCTURE in view.fact_categories,
    "has_candidates": lambda view: view.has_candidates,
    "has_plan": lambda view: view.has_plan,
    "files_modified": lambda view: view.files_modified > 0,
    "nothing_modified": lambda view: view.files_modified == 0,
    "checks_pass": lambda view: view.checks is True,
    "tests_pass": lambda view: view.tests is True,
    "checks_or_tests_fail": lambda view: view.checks is False or view.tests is False,
    "last_result_fatal": lambda view: view.last_result == "fatal",
    "gives_up": lambda view: view.last_action in GIVING_UP,
}

COUNTING_GUARDS: Mapping[str, CountingGuard] = {
    "steps_at_least": lambda view, count: view.steps_in_phase >= count,
}

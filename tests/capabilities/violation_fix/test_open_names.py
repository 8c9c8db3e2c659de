"""Blocks that no rule can name: left alone by rules, and suggested to whoever can name them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.agents.analysis import led_by
from actors.capabilities.violation_fix.policies.refactoring_rules import (
    MAX_UNNAMED,
    GiveUp,
    Plan,
    PlanningOptions,
    Proposal,
    plan_refactorings,
)
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from actors.capabilities.violation_fix.refactoring.cutting.candidates import MIN_OPEN_LINES
from runtime.context.models import UNNAMED, Analysis, ExtractionSuggestion
from runtime.llm.messages import ModelRequest
from tests.capabilities.violation_fix.fixed_project import CODE
from tests.capabilities.violation_fix.test_fix_runs import PATH, TESTS, FixDesk, fix_of
from tests.capabilities.violation_fix.test_refactoring_plans import NAME, SOURCE, carried_out, complexities
from tests.runtime.codebase.test_git_writing import git

# What is printed, sent and counted has no word in common.
MIXED = """\
def graded(points, seen=[], sent={}):
    if points > 90:
        seen.append(points)
        if points > 95:
            sent["best"] = points
            print("top")
        elif points > 93:
            print("near")
            seen.reverse()

    if points > 80:
        return "b"
    if points > 70:
        return "c"
    return "d"
"""
LIMITS = Limits(complexity=5)
OPEN = PlanningOptions(leaves_names_open=True)


def planned(options: PlanningOptions, *tried: str) -> Plan | GiveUp:
    return plan_refactorings(MIXED, "graded", LIMITS, tried, options)


def test_what_no_rule_can_name_is_moved_only_where_somebody_else_names_it() -> None:
    assert isinstance(planned(PlanningOptions()), GiveUp)
    plan = planned(OPEN)
    assert isinstance(plan, Plan)
    (step,) = plan.steps
    assert step.is_unnamed
    assert "has yet to be named, takes (sent, points, seen)" in step.suggestion
    named = Proposal(step.action, {**step.parameters, "name": "_note_high_points"}, "")
    assert complexities(carried_out(MIXED, named))["graded"] <= 5


@pytest.mark.parametrize("lines", [MIN_OPEN_LINES - 1, MIN_OPEN_LINES, MIN_OPEN_LINES + 1])
def test_a_short_block_is_not_left_open(lines: int) -> None:
    sent = "".join(f"            sent[{number}] = points\n" for number in range(lines - 6))
    told = '            sent["best"] = points\n            print("top")\n'
    assert told in MIXED
    # With the line of the `if` around it the block is as long as is said.
    source = MIXED.replace(told, f"            seen.pop()\n{sent}").replace('            print("near")\n', "")
    plan = plan_refactorings(source, "graded", LIMITS, (), OPEN)
    assert isinstance(plan, Plan) is (lines >= MIN_OPEN_LINES), plan


BRANCHES = (
    """\
    for row in rows:
        if row > 1:
            seen.append(row)
            print(sent)
        elif row:
            sent.clear()
            seen.pop()
""",
    """\
    while sent.waits():
        letter = sent.take()
        if letter.is_old:
            print(letter)
            sent.burn(letter)
        if letter.is_torn:
            seen.remove(letter)
""",
    """\
    try:
        rows.lock()
        seen.sort()
    except OSError:
        if seen:
            print(rows)
        rows.drop()
""",
)
APART = """\
    if rows[{0}] is None:
        return {0}
    yield {0}
"""


@pytest.mark.parametrize(("count", "over"), [(MAX_UNNAMED, 6), (MAX_UNNAMED + 1, 7)])
def test_a_plan_leaves_few_blocks_open(count: int, over: int) -> None:
    # What yields and returns between them keeps the blocks apart.
    guards = "".join(f"    if seen[{number}]:\n        return {number}\n" for number in range(5))
    source = f"def graded(rows, seen, sent):\n{guards}" + "".join(
        branch + APART.format(number) for number, branch in enumerate(BRANCHES[:count])
    )
    limits = Limits(complexity=complexities(source)["graded"] - over)
    plan = plan_refactorings(source, "graded", limits, (), OPEN)
    assert isinstance(plan, Plan) is (count <= MAX_UNNAMED), plan


def test_a_block_that_was_tried_is_not_left_open_again() -> None:
    plan = planned(OPEN)
    assert isinstance(plan, Plan)
    other = planned(OPEN, plan.steps[0].key)
    assert isinstance(other, GiveUp) or other.steps[0].parameters != plan.steps[0].parameters


def test_a_name_by_the_rules_is_kept() -> None:
    plan = plan_refactorings(SOURCE, NAME, Limits(complexity=6), (), OPEN)
    assert isinstance(plan, Plan)
    assert [step.is_unnamed for step in plan.steps] == [False] * len(plan.steps)


def suggestion(first: int, name: str | None) -> ExtractionSuggestion:
    return ExtractionSuggestion(start_line=first, end_line=first + 3, suggested_name=name, reason="r")


def test_the_step_of_the_plan_is_the_first_suggestion_and_there_once() -> None:
    analysis = Analysis(extraction_suggestions=tuple(suggestion(line, "_a") for line in (1, 11, 21, 31, 41)))
    step = {"action": "extract_function", "parameters": {"start_line": 21, "end_line": 24, "name": UNNAMED}, "why": "w"}
    found = led_by(analysis, step).extraction_suggestions
    assert [(each.start_line, each.suggested_name) for each in found] == [
        *((21, None), (1, "_a"), (11, "_a"), (31, "_a"), (41, "_a")),
    ]
    step["parameters"] = {"start_line": 51, "end_line": 54, "name": UNNAMED}
    assert [each.start_line for each in led_by(analysis, step).extraction_suggestions] == [51, 1, 11, 21, 31]
    assert led_by(analysis, {"action": "simplify_conditional", "parameters": {"line": 1}, "why": "w"}) == analysis


def named_by_prompt(request: ModelRequest) -> str:
    """What a model says that takes what is suggested and only gives the name."""
    told = request.messages[-1].content
    found = re.search(r"parameters:\s*\{?\s*start_line: (\d+),?\s+end_line: (\d+),?\s+name: '\?'", told)
    assert found, told
    first, last = map(int, found.groups())
    parameters = {"start_line": first, "end_line": last, "name": "_note_high_points"}
    return json.dumps({"action": "extract_function", "parameters": parameters})


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("asks_model", [True, False])
async def test_a_model_is_told_which_lines_lead_to_the_limit_and_names_them(tmp_path: Path, asks_model: bool) -> None:
    grades = '    return "dcba"[(points > 70) + (points > 80) + (points > 90)]\n'
    code = MIXED[: MIXED.index("\n    if points > 80")] + grades
    desk = FixDesk(tmp_path, src__pkg__marks=code + CODE[CODE.index("\n\ndef untested") :])
    if not asks_model:
        assert fix_of(await desk.run(reasoner="rules"))["ending"] == "escalated"
        return
    fix = fix_of(await desk.run(named_by_prompt, TESTS, asks_model=True))
    assert (fix["ending"], fix["steps"]) == ("fixed", 2), fix
    assert "def _note_high_points(sent, points, seen)" in git(desk.root, "show", f"{fix['commit']}:{PATH}")

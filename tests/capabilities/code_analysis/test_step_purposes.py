"""What each step of a plan is for: said by the planner, and read off the ids of plans that were made before it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from actors.capabilities.code_analysis.agents.planner import plan_steps
from actors.capabilities.code_analysis.evidence.facts import CodeFact, distinct
from actors.capabilities.code_analysis.evidence.steps import (
    PURPOSE_OF_OLD_ID,
    PURPOSE_OF_TOOL,
    Purpose,
    Step,
    purpose_of_old,
)
from actors.capabilities.code_analysis.handover.plan import group_of
from actors.capabilities.code_analysis.models.planned_steps import planned_steps
from actors.capabilities.code_analysis.models.schemas import PlannedStep
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.errors import HandoverError
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.capabilities.code_analysis.support import ASPECTS, cited

# Outputs of whole runs as they were written when steps had no purpose.
RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "recorded" / "outputs_before_purposes.json").read_text(encoding="utf-8")
)
QUESTIONS = (
    *("Where is `Depot`?", "How is a request routed?", "Compare `Depot` and `Van`", "List all functions"),
    *("List all errors", "How is the timeout configured?", "How do I add a new depot?", "Which tests cover `Depot`?"),
    *("What happens when a parcel is lost?", "Why is a depot full?", "Who last changed `Depot`?"),
    *("What does this project do?", "List the dependencies"),
    *("How is `timeout` configured?", "How does `load` work?", "How do I add a depot, and why is one full?"),
    *("What changes with relay/van.py?", "What does relay/van.py do?", "Who calls `accept`?", "How does load work?"),
)
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


def goals_of(question: str) -> list[Goal]:
    return [Goal(GoalId(aspect), aspect) for aspect in analyse(question).aspects]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_purpose_of_a_step_of_rules_is_that_of_its_id_in_older_logs(question: str) -> None:
    for pass_number in (1, 2):
        for step in plan_steps(analyse(question), goals_of(question), pass_number):
            assert purpose_of_old(step.id, step.tool) == step.purpose, step


# Steps that plans have got since those were recorded.
SINCE_THEN = {"choices"}


@pytest.mark.parametrize("question", RECORDED)
def test_a_plan_that_was_recorded_before_steps_had_a_purpose_is_read_as_it_was_meant(question: str) -> None:
    recorded = RECORDED[question]["outputs"]["planner"]["steps"]
    assert all("purpose" not in step for step in recorded)
    asked = analyse(question)
    goals = [Goal(GoalId(aspect), aspect) for aspect in ASPECTS[asked.kind]]
    meant = {step.id: step for step in plan_steps(asked, goals, 1)}
    read = {step.id: step for step in group_of(recorded)}
    assert read == {step_id: step for step_id, step in meant.items() if step_id not in SINCE_THEN}


def test_every_purpose_is_one_that_a_step_without_one_can_have() -> None:
    assert {*PURPOSE_OF_OLD_ID.values()} == {*PURPOSES}
    assert {*PURPOSE_OF_TOOL} <= {tool.name for tool in TOOLS}


@pytest.mark.parametrize(
    ("step_id", "tool", "purpose"),
    [
        ("name0", "locate", "find"),
        ("name12", "locate", "find"),
        ("recall1", "read_code", "recall"),
        ("read_README.md", "read_code", "structure"),
        ("kinds", "locate", "all_of_kind"),
        ("m0", "locate", "find"),
        ("m1", "explore_symbol_usage", "usage"),
        ("m2", "no_tool_of_ours", "find"),
    ],
)
def test_a_step_without_a_purpose_gets_that_of_its_id_or_else_of_its_tool(
    step_id: str, tool: str, purpose: str
) -> None:
    written = {"id": step_id, "tool": tool, "arguments": {}, "goals": [], "why": ""}
    assert [step.purpose for step in group_of([written])] == [purpose]
    assert [step.purpose for step in group_of([{**written, "purpose": "values"}])] == ["values"]


@pytest.mark.parametrize("written", [5, "steps", [5], [{"id": "x"}], None])
def test_what_are_no_steps_is_refused(written: object) -> None:
    with pytest.raises(HandoverError):
        group_of(written)


def test_a_purpose_that_there_is_not_is_refused_by_name() -> None:
    step = Step("x", "find", "locate", {}, (), "")
    with pytest.raises(HandoverError, match="conquest"):
        group_of([{**msgspec.to_builtins(step), "purpose": "conquest"}])


def test_a_fact_that_several_steps_found_is_for_all_that_they_are_for() -> None:
    first = CodeFact("definition", cited("a.py", 1), step="m0", purpose="find")
    again = CodeFact("definition", cited("a.py", 1), step="m1", purpose="values")
    (merged,) = distinct([first, again, again])
    assert (merged.purpose, merged.also_for, merged.also_by) == ("find", ("values",), ("m1",))
    assert merged.purposes == ("find", "values")


def purposes(question: str, *calls: tuple[str, str, list[str]]) -> list[str]:
    """What the calls of a model are for, in a plan for a question."""
    planned = [PlannedStep(tool=tool, target=target, options=[], goals=goals, why="") for tool, target, goals in calls]
    tools = [tool.name for tool in TOOLS]
    steps = planned_steps(planned, analyse(question), goals_of(question), tools, lambda target: "/" in target)
    return [step.purpose for step in steps]


@pytest.mark.parametrize(
    ("question", "tool", "target", "goals", "purpose"),
    [
        ("List all functions", "locate", "functions", [], "all_of_kind"),
        ("List all functions", "locate", "All functions", [], "all_of_kind"),
        ("List all functions", "locate", "*", [], "all_of_kind"),
        ("List all functions", "locate", "deliver", [], "find"),
        ("Where is `functions`?", "locate", "functions", [], "find"),
        ("How is `timeout` configured?", "locate", "timeout", ["configuration"], "settings"),
        ("How is `timeout` configured?", "locate", "timeout", ["configuration", "definition"], "find"),
        ("How is the timeout configured?", "locate", "timeout", [], "find"),
        ("How is a request routed?", "locate", "http handler", [], "find"),
        ("How is a request routed?", "locate", "table", [], "find"),
        ("How is a depot filled?", "locate", "http handler", [], "find"),
        ("List all signals", "explore_symbol_usage", "Signal", [], "heirs"),
        ("List all signals", "explore_symbol_usage", "fleet.Signal", [], "heirs"),
        ("List all signals", "explore_symbol_usage", "Bell", [], "usage"),
        ("Who calls `Signal`?", "explore_symbol_usage", "Signal", [], "usage"),
        ("Compare `Bike` and `Van`", "map_module", "fleet/carriers.py", [], "members"),
        ("What does `Bike` do?", "map_module", "fleet/carriers.py", [], "structure"),
        ("List all carriers", "read_code", "docs/carriers.md", [], "listed"),
        ("List all carriers", "read_code", "fleet/carriers.py", [], "read"),
        ("How do I add a carrier?", "read_code", "docs/carriers.md", [], "guidance"),
        ("How do I add a carrier?", "read_code", "fleet/carriers.py", [], "read"),
        ("How does a carrier work?", "read_code", "docs/carriers.md", [], "read"),
    ],
)
def test_what_a_model_calls_a_tool_for_follows_from_tool_target_goals_and_question(
    question: str, tool: str, target: str, goals: list[str], purpose: str
) -> None:
    assert purposes(question, (tool, target, goals))[0] == purpose


def test_all_aspects_of_questions_are_covered_by_the_questions_here() -> None:
    assert {aspect for question in QUESTIONS for aspect in analyse(question).aspects} == {
        "answer",
        *(aspect for aspects in ASPECTS.values() for aspect in aspects),
    }

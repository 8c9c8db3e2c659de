"""Plans bring a function and every new one within the limits, or give up with a reason."""

from __future__ import annotations

import ast
import json
import textwrap

import pytest

from actors.capabilities.violation_fix.policies.refactoring_rules import (
    GiveUp,
    Plan,
    PlanningOptions,
    Proposal,
    next_refactoring,
    plan_refactorings,
)
from actors.capabilities.violation_fix.refactoring.complexity import Limits, functions_of, measure
from actors.capabilities.violation_fix.refactoring.cutting.candidates import find_candidates
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored
from actors.capabilities.violation_fix.refactoring.simplifications.registry import simplify_statement

SOURCE = textwrap.dedent('''
    """Reads settings."""


    def load_settings(lines, strict):
        settings = {}
        for line in lines:
            if not line.strip():
                continue
            if line.startswith("#"):
                continue
            key, _, value = line.partition("=")
            if value.isdigit():
                value = int(value)
            elif value in ("yes", "no"):
                value = value == "yes"
            settings[key] = value
        # Check required keys
        for key in ("name", "version"):
            if key not in settings:
                if strict:
                    raise KeyError(key)
                settings[key] = None
        if strict:
            for key in settings:
                if not key.isidentifier():
                    raise ValueError(key)
        return settings
''').lstrip()
NAME = "load_settings"


def complexities(source: str) -> dict[str, int]:
    return {name: measure(function).complexity for name, function, _ in functions_of(ast.parse(source))}


@pytest.mark.parametrize("limit", [12, 10, 8, 6])
def test_the_function_and_every_new_one_come_within_the_limit(limit: int) -> None:
    assert complexities(SOURCE) == {NAME: 12}
    plan = plan_refactorings(SOURCE, NAME, Limits(complexity=limit))
    if limit == 12:
        assert isinstance(plan, GiveUp)
        assert plan.code == "within_limits"
        return
    assert isinstance(plan, Plan), plan
    assert max(complexities(plan.source).values()) <= limit
    assert len(plan.steps) <= 3


def test_names_come_from_the_code() -> None:
    names = {candidate.suggested_name for candidate in find_candidates(SOURCE, NAME)}
    assert "_check_required_keys" in names
    assert all(not name.startswith(("_helper", "_extracted", "_process")) for name in names)


def test_proposals_can_be_written_as_json_and_carried_out_one_by_one() -> None:
    source, tried = SOURCE, 0
    while not isinstance(proposal := next_refactoring(source, NAME, Limits(complexity=6)), GiveUp):
        assert json.loads(json.dumps(dict(proposal.parameters))) == proposal.parameters
        source = carried_out(source, proposal)
        tried += 1
        assert tried < 5
    assert proposal.code == "within_limits"
    whole = plan_refactorings(SOURCE, NAME, Limits(complexity=6))
    assert isinstance(whole, Plan)
    assert source == whole.source


def carried_out(source: str, proposal: Proposal) -> str:
    parameters = proposal.parameters
    if proposal.action == "simplify_conditional":
        done = simplify_statement(source, int(parameters["line"]), str(parameters["kind"]))
    else:
        lines = int(parameters["start_line"]), int(parameters["end_line"])
        done = extract_function(source, *lines, str(parameters["name"]))
    assert isinstance(done, Refactored), done
    return done.source


def test_what_was_tried_is_not_proposed_again() -> None:
    first = next_refactoring(SOURCE, NAME, Limits())
    assert isinstance(first, Proposal)
    second = next_refactoring(SOURCE, NAME, Limits(), [first.key])
    assert isinstance(second, Proposal)
    assert second.key != first.key


def test_names_used_elsewhere_are_not_taken() -> None:
    first = next_refactoring(SOURCE, NAME, Limits())
    assert isinstance(first, Proposal)
    options = PlanningOptions(reserved=frozenset({str(first.parameters["name"])}))
    second = next_refactoring(SOURCE, NAME, Limits(), options=options)
    assert not isinstance(second, Proposal) or second.parameters["name"] != first.parameters["name"]


@pytest.mark.parametrize(
    ("source", "name", "code"),
    [
        ("def f(:\n", "f", "syntax_error"),
        ("def f():\n    pass\n", "g", "no_such_function"),
        ("def f():\n" + "    if x:\n        eval('y')\n" * 11, "f", "dynamic_names"),
    ],
)
def test_a_plan_that_is_not_made_has_a_reason(source: str, name: str, code: str) -> None:
    plan = plan_refactorings(source, name, Limits())
    assert isinstance(plan, GiveUp)
    assert plan.code == code


def test_too_many_arguments_are_escalated() -> None:
    source = "def f(a, b, c, d, e, g):\n    return a\n"
    plan = plan_refactorings(source, "f", Limits(), options=PlanningOptions(goals=frozenset({"arguments"})))
    assert isinstance(plan, GiveUp)
    assert plan.code == "escalate"


def test_parameters_of_a_private_function_are_gathered() -> None:
    source = "def _draw_box(a, b, c, d, e, g):\n    return a, g\n\n\nprint(_draw_box(1, 2, 3, 4, 5, 6))\n"
    plan = plan_refactorings(source, "_draw_box", Limits(), options=PlanningOptions(goals=frozenset({"arguments"})))
    assert isinstance(plan, Plan), plan
    assert plan.steps[0].parameters == {"function": "_draw_box", "names": "e,g", "name": "_BoxOptions"}
    assert "def _draw_box(a, b, c, d, options):" in plan.source


def test_a_search_makes_no_further_cut_once_it_has_analysed_enough_blocks() -> None:
    limits = Limits(complexity=6)
    ended = plan_refactorings(SOURCE, NAME, limits, options=PlanningOptions(max_analysed=0))
    assert isinstance(ended, GiveUp)
    assert "the search ended after 0 blocks" in ended.reason
    # One search is made whole: the second cut is what is left out.
    short = plan_refactorings(SOURCE, NAME, limits, options=PlanningOptions(max_analysed=1))
    whole = plan_refactorings(SOURCE, NAME, limits)
    assert isinstance(whole, Plan)
    assert len(whole.steps) > 1
    assert isinstance(short, GiveUp)


def test_small_cuts_do_not_hide_the_one_that_is_enough() -> None:
    small = "".join(
        f"    {name} = None\n    for row in rows:\n        if row.{name}:\n"
        f"            {name} = row\n            break\n    print({name})\n"
        for name in ("color", "border", "margin", "shadow", "corner", "weight")
    )
    large = (
        "    # Check the table\n"
        + "".join(f"    if table.{name}:\n        print('{name}')\n" for name in ("one", "two", "three", "four"))
        + "".join(f"    if table.{name}:\n        print('{name}')\n" for name in ("five", "six", "seven", "eight"))
    )
    source = f"def work(rows, table):\n{small}{large}\n    return rows\n"
    needed = complexities(source)["work"] - 8
    plan = plan_refactorings(source, "work", Limits(complexity=needed))
    assert isinstance(plan, Plan), plan
    assert complexities(plan.source)["work"] <= needed


def test_no_cut_has_a_name_that_another_one_begins_with() -> None:
    source = textwrap.dedent("""
        def get_line(tokens, command, theme):
            # Determine the style for the command
            if command in theme:
                if theme.is_dark:
                    style = theme.dark
                else:
                    style = theme.light
                for token in tokens:
                    if token.style:
                        token.style = style
                        token.mark(style)

            if command.kind:
                if command.kind in theme:
                    if theme.is_dark:
                        colour = theme.table[command.kind]
                    else:
                        colour = theme.plain
                else:
                    colour = theme.none
            else:
                colour = theme.other
            print(colour)
            return colour
    """)
    plan = plan_refactorings(source, "get_line", Limits(complexity=4))
    names = [str(step.parameters.get("name", "")) for step in plan.steps] if isinstance(plan, Plan) else []
    assert not any(other.startswith(f"{name}_") for name in names if name for other in names)

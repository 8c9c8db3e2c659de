"""A task moves through its phases along declared transitions, and never gets stuck in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.context.models import PhaseState
from runtime.context.phase_definition import GuardRegistry, load_phases, parse_phases
from runtime.context.phase_guards import PhaseView
from runtime.context.phase_machine import PhaseMachine
from runtime.errors import RunStateError, UnknownNameError

SHIPPED = Path(__file__).resolve().parents[3] / "configs" / "phases" / "fix_violation.yaml"
DEFINITION = load_phases(SHIPPED)
MACHINE = PhaseMachine(DEFINITION)
STRUCTURE = frozenset({"code_structure"})


def at(phase: str, steps: int = 0) -> PhaseState:
    return PhaseState(current_phase=phase, steps_in_phase=steps)


def after(phase: str, steps: int = 0, **view: Any) -> str:
    """The phase after one more step."""
    return MACHINE.after_step(at(phase, steps), PhaseView(**view)).current_phase


def test_a_task_without_an_analysis_begins_in_init_and_goes_on_to_analyze() -> None:
    assert MACHINE.start(PhaseView()) == PhaseState()
    assert after("init") == "analyze"


def test_a_task_with_an_analysis_begins_in_implement() -> None:
    state = MACHINE.start(PhaseView(fact_categories=STRUCTURE))
    assert (state.current_phase, state.phase_history, state.steps_in_phase) == ("implement", ("init",), 0)
    assert after("init", fact_categories=STRUCTURE) == "implement"


def test_analyze_lasts_until_the_structure_is_known() -> None:
    assert after("analyze", 0) == "analyze"
    assert after("analyze", 3, fact_categories=frozenset({"pattern"})) == "analyze"
    assert after("analyze", 0, fact_categories=STRUCTURE) == "plan"


def test_a_policy_that_needs_no_plan_may_go_from_analyze_to_implement() -> None:
    state, view = at("analyze"), PhaseView(fact_categories=STRUCTURE)
    assert MACHINE.targets(state, view) == ("implement",)
    assert MACHINE.move(state, "implement", view).phase_history == ("analyze",)


def test_a_transition_that_is_not_declared_or_not_allowed_is_refused() -> None:
    with pytest.raises(RunStateError, match="'plan' cannot be entered from 'analyze' now; allowed: none"):
        MACHINE.move(at("analyze", 3), "plan", PhaseView())
    with pytest.raises(RunStateError, match="'complete' cannot be entered from 'implement' now; allowed: verify"):
        MACHINE.move(at("implement"), "complete", PhaseView(files_modified=1, checks=True, tests=True))


def test_a_recorded_plan_leads_to_implement() -> None:
    assert after("plan", has_plan=True) == "implement"
    assert after("plan") == "plan"
    assert after("plan", 1) == "implement"


def test_implement_lasts_until_the_checks_pass_with_files_modified() -> None:
    assert after("implement", files_modified=1) == "implement"
    assert after("implement", files_modified=1, checks=False) == "implement"
    assert after("implement", files_modified=1, checks=True) == "verify"


def test_checks_that_pass_with_nothing_modified_leave_a_reason_why_the_task_does_not_go_on() -> None:
    state = MACHINE.after_step(at("implement"), PhaseView(checks=True))
    assert (state.current_phase, state.blocked_reason) == ("implement", "verify needs files_modified")


@pytest.mark.parametrize(("steps", "phase"), [(10, "implement"), (11, "failed"), (12, "failed")])
def test_implement_fails_after_twelve_steps_with_nothing_modified(steps: int, phase: str) -> None:
    assert after("implement", steps) == phase


@pytest.mark.parametrize(("steps", "phase"), [(13, "implement"), (14, "verify")])
def test_implement_goes_to_verify_after_fifteen_steps_with_files_modified(steps: int, phase: str) -> None:
    assert after("implement", steps, files_modified=1, checks=False) == phase


def test_verify_completes_when_checks_and_tests_pass() -> None:
    assert after("verify", files_modified=1, checks=True, tests=True) == "complete"


def test_verify_goes_back_when_checks_or_tests_fail() -> None:
    assert after("verify", checks=False, tests=True) == "implement"
    assert after("verify", checks=True, tests=False) == "implement"


def test_verify_waits_for_tests_that_have_not_run() -> None:
    assert after("verify", 0, checks=True) == "verify"
    assert after("verify", 3, checks=True) == "verify"
    assert after("verify", 4, checks=True) == "escalated"


@pytest.mark.parametrize(
    ("phase", "most", "target"),
    [("analyze", 5, "escalated"), ("plan", 2, "implement"), ("implement", 15, "verify"), ("verify", 5, "escalated")],
)
def test_the_most_steps_of_a_phase_lead_forward_or_to_escalation(phase: str, most: int, target: str) -> None:
    assert DEFINITION.phases[phase].max_steps == most
    view = PhaseView(files_modified=1)
    stayed = MACHINE.after_step(at(phase, most - 2), view)
    assert stayed.current_phase == phase
    left = MACHINE.after_step(stayed, view)
    assert left.current_phase == target
    assert f"{phase} had its {most} steps" in str(left.blocked_reason)


@pytest.mark.parametrize("phase", list(DEFINITION.phases))
def test_a_fatal_result_fails_and_giving_up_escalates_from_every_phase(phase: str) -> None:
    done: dict[str, Any] = {
        "fact_categories": STRUCTURE,
        "files_modified": 1,
        "checks": True,
        "tests": True,
        "has_plan": True,
    }
    assert after(phase, last_action="edit_file", last_result="fatal", **done) == "failed"
    assert after(phase, last_action="escalate", last_result="success", **done) == "escalated"
    assert after(phase, last_action="cannot_fix", last_result="success", **done) == "escalated"


@pytest.mark.parametrize("phase", DEFINITION.final_phases)
def test_a_final_phase_is_never_left(phase: str) -> None:
    state = at(phase)
    assert MACHINE.is_final(state)
    assert MACHINE.after_step(state, PhaseView(last_action="escalate")) == state
    assert MACHINE.targets(state, PhaseView()) == ()


def test_a_state_of_other_phases_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="phase 'ponder' is none of 'fix_violation': init, analyze"):
        MACHINE.after_step(at("ponder"), PhaseView())


VIEWS = st.builds(
    PhaseView,
    fact_categories=st.sampled_from([frozenset(), STRUCTURE]),
    files_modified=st.integers(0, 2),
    checks=st.sampled_from([None, False, True]),
    tests=st.sampled_from([None, False, True]),
    has_plan=st.booleans(),
    last_action=st.sampled_from(["", "edit_file", "edit_file", "edit_file", "escalate"]),
    last_result=st.sampled_from(["success", "failure", "success", "failure", "fatal"]),
)


def is_declared(source: str, target: str) -> bool:
    moves = [*DEFINITION.from_any, *DEFINITION.phases[source].transitions]
    return target in {move.to for move in moves} | {DEFINITION.on_failure, DEFINITION.on_max_steps}


@settings(max_examples=100)
@given(st.lists(VIEWS, max_size=80))
def test_only_declared_transitions_are_taken_and_the_history_records_them(views: list[PhaseView]) -> None:
    state = MACHINE.start(views[0] if views else PhaseView())
    for view in views:
        following = MACHINE.after_step(state, view)
        if following.current_phase != state.current_phase:
            assert is_declared(state.current_phase, following.current_phase)
            assert following.phase_history == (*state.phase_history, state.current_phase)
            assert following.steps_in_phase == 0
        state = following


@settings(max_examples=100)
@given(st.sampled_from(list(DEFINITION.phases)), st.lists(VIEWS, min_size=15, max_size=15))
def test_no_phase_lasts_longer_than_its_most_steps(phase: str, views: list[PhaseView]) -> None:
    state = at(phase)
    for view in views[: DEFINITION.phases[phase].max_steps]:
        state = MACHINE.after_step(state, view)
        if state.current_phase != phase:
            return
    raise AssertionError(f"{phase} lasts for ever: {state}")


@settings(max_examples=50)
@given(st.lists(VIEWS, max_size=40))
def test_a_restart_after_any_step_changes_nothing(views: list[PhaseView]) -> None:
    machine = PhaseMachine(load_phases(SHIPPED))
    state = restarted = machine.start(PhaseView())
    for view in views:
        state = machine.after_step(state, view)
        kept = json.loads(json.dumps(restarted.model_dump(mode="json")))
        plain = msgspec.convert(msgspec.to_builtins(view), PhaseView)
        restarted = MACHINE.after_step(PhaseState.model_validate(kept), plain)
    assert state == restarted


FAULTY = """task_type: broken
final_phases: [done, init, done, nowhere]
on_failure: lost
on_max_steps: done
from_any:
  - {to: work, when: [gives_up]}
  - {to: done}
phases:
  init:
    max_steps: 2
    success: [alwys]
    transitions:
      - {to: work, when: [steps_at_least]}
      - {to: wrok}
      - {to: init}
  work:
    max_steps: 3
    success: [{checks_pass: 1}]
    failure: [{steps_at_least: 2, nothing_modified: 1}]
    transitions:
      - {to: init}
      - {to: done, when: [{steps_atleast: 1}]}
      - {to: done, when: [{steps_atleast: 1}]}
  island:
    max_steps: 1
    success: [always]
    transitions: [{to: done}]
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(Exception, match="fault") as caught:
        parse_phases(text, "p.yaml")
    return list(caught.value.faults)  # type: ignore[attr-defined]


def test_every_kind_of_fault_is_reported_at_once_with_file_line_and_key() -> None:
    found = faults_of(FAULTY)
    expected = [
        "p.yaml:2: final_phases[1]: 'init' has steps of its own, so it cannot be final",
        "p.yaml:2: final_phases[2]: 'done' is given twice",
        "p.yaml:2: final_phases[3]: no phase leads to 'nowhere'",
        "p.yaml:3: on_failure: unknown final phase 'lost'",
        "p.yaml:6: from_any[0].to: unknown final phase 'work'",
        "p.yaml:7: from_any[1].when: without a guard",
        "p.yaml:11: phases.init.success[0]: unknown guard 'alwys'; did you mean 'always'?",
        "p.yaml:13: phases.init.transitions[0].when[0]: guard 'steps_at_least' needs a number: {steps_at_least: 1}",
        "p.yaml:14: phases.init.transitions[1].to: unknown phase 'wrok'; did you mean 'work'?",
        "p.yaml:15: phases.init.transitions[2].to: 'init' leads to itself",
        "p.yaml:18: phases.work.success[0]: guard 'checks_pass' takes no number",
        "p.yaml:19: phases.work.failure[0]: 2 guards in one mapping",
        "p.yaml:21: phases.work.transitions[0].when: the way back to 'init' needs a guard",
        "p.yaml:22: phases.work.transitions[1].when[0]: unknown guard 'steps_atleast'; did you mean 'steps_at_least'?",
        "p.yaml:23: phases.work.transitions[2]: given twice",
        "p.yaml:24: phases.island: no phase leads here",
    ]
    for wanted in expected:
        assert any(fault.startswith(wanted) for fault in found), (wanted, found)
    assert len(found) == len(expected) + 1, found  # the faulty guard that is given twice is named twice


def test_missing_fields_and_wrong_values_are_reported_with_their_lines() -> None:
    found = faults_of("task_type: t\nphases:\n  a:\n    max_steps: 0\n    success: []\n    transitons: []\n")
    for wanted in (
        "p.yaml:4: phases.a.max_steps: ",
        "p.yaml:5: phases.a.success: ",
        "p.yaml:6: phases.a.transitons: unknown key",
        "p.yaml:3: phases.a.transitions: required, but missing",
        "p.yaml:1: final_phases: required, but missing",
    ):
        assert any(fault.startswith(wanted) for fault in found), (wanted, found)


def test_a_capability_may_bring_guards_of_its_own() -> None:
    registry = GuardRegistry({"is_late": lambda view: view.steps_in_phase > 1})
    text = "task_type: t\nfinal_phases: [end, lost]\non_failure: lost\non_max_steps: lost\nphases:\n"
    text += "  a:\n    max_steps: 9\n    success: [is_late]\n    transitions: [{to: end}]\n"
    machine = PhaseMachine(parse_phases(text, registry=registry), registry)
    state = machine.after_step(machine.start(PhaseView()), PhaseView())
    assert state.current_phase == "a"
    assert machine.after_step(state, PhaseView()).current_phase == "end"

"""Models of a step's context: bounds, consistency, and what old and hostile records do."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from runtime.context.fields import MAX_NAME_CHARS, MAX_PARAMETER_BYTES, MAX_STATEMENT_CHARS
from runtime.context.models import (
    ActionDef,
    ActionRecord,
    ActionResult,
    ActionsSpec,
    AgentContext,
    AgentResponse,
    Analysis,
    BlockedAction,
    ExtractionSuggestion,
    Fact,
    FactCategory,
    PhaseState,
    StateSpec,
    TaskSpec,
    Understanding,
    VerificationState,
    ViolationSpec,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def task(**more: Any) -> TaskSpec:
    usual = {"task_id": "t1", "task_type": "fix_violation", "goal": "fix C901", "success_criteria": ("checks pass",)}
    return TaskSpec.model_validate({**usual, "created_at": NOON, **more})


def fact(name: str, **more: Any) -> Fact:
    usual = {"category": "code_structure", "statement": "f has 9 lines", "confidence": 1, "source": "run_check:length"}
    return Fact.model_validate({"id": name, **usual, **more})


def record(step: int, **more: Any) -> ActionRecord:
    return ActionRecord.model_validate(
        {"step": step, "action": "read_file", "result": "success", "summary": "read a.py", **more}
    )


def whole() -> AgentContext:
    return AgentContext(
        task=task(),
        state=StateSpec(understanding=Understanding(facts=(fact("f1"),)), recent_actions=(record(0),)),
        actions=ActionsSpec(
            available=(ActionDef(name="read_file", description="read"),),
            recommended="read_file",
            blocked=(BlockedAction(action="complete", reason="checks fail"),),
        ),
        domain_context={"violation": {"lines": [1, 2]}},
        precomputed=Analysis(
            violating_function="f",
            function_lines=(3, 9),
            extraction_suggestions=(
                ExtractionSuggestion(start_line=4, end_line=4, suggested_name="load_rows", reason="1 input"),
            ),
        ),
    )


MODELS: list[BaseModel] = [
    fact("f1"),
    record(1),
    task(),
    ViolationSpec(violation_id="v", check_id="C901", file_path="a.py"),
    VerificationState(),
    PhaseState(),
    whole(),
    AgentResponse(action="complete"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_is_frozen_refuses_unknown_fields_and_survives_json_and_pickling(model: BaseModel) -> None:
    kind = type(model)
    assert kind.model_validate_json(model.model_dump_json()) == model
    assert pickle.loads(pickle.dumps(model)) == model
    with pytest.raises(ValidationError, match="frozen"):
        setattr(model, next(iter(kind.model_fields)), None)
    with pytest.raises(ValidationError, match="odd"):
        kind.model_validate({**model.model_dump(), "odd": 1})


def test_a_record_without_the_newer_fields_loads() -> None:
    old = {
        "id": "f1",
        "category": "error",
        "statement": "s",
        "confidence": 0.7,
        "source": "run_tests:result",
        "step": 2,
    }
    assert Fact.model_validate(old).kind == ""
    assert StateSpec.model_validate({"current_step": 3}).phase.current_phase == "init"
    assert AgentContext.model_validate({"task": task(), "state": {}, "actions": {}}).precomputed == Analysis()


def test_superseded_facts_are_those_listed_and_those_that_a_fact_names() -> None:
    known = Understanding(facts=(fact("f1"), fact("f2"), fact("f3", supersedes="f1")), superseded_ids=("f2", "gone"))
    assert [each.id for each in known.active] == ["f3"]


def test_a_confidence_of_the_limit_is_above_it() -> None:
    known = Understanding(facts=(fact("f1", confidence=0.79), fact("f2", confidence=0.8)))
    assert [each.id for each in known.above()] == ["f2"]


def test_times_are_kept_in_utc_and_a_naive_one_is_refused() -> None:
    there = timezone(timedelta(hours=5))
    assert task(created_at=datetime(2026, 1, 2, 17, tzinfo=there)).created_at.tzinfo is UTC
    with pytest.raises(ValidationError, match="timezone"):
        task(created_at=datetime(2026, 1, 2))


def test_only_the_last_five_actions_are_kept() -> None:
    state = StateSpec()
    for step in range(6):
        state = state.with_action(record(step))
    assert [each.step for each in state.recent_actions] == [1, 2, 3, 4, 5]
    with pytest.raises(ValidationError):
        StateSpec(recent_actions=tuple(record(step) for step in range(6)))


def test_a_changed_copy_is_validated_and_the_original_stays() -> None:
    state = StateSpec()
    assert state.changed(current_step=1).current_step == 1
    assert state.current_step == 0
    with pytest.raises(ValidationError):
        state.changed(current_step=-1)
    with pytest.raises(ValidationError):
        state.changed(odd=1)


@pytest.mark.parametrize(("failing", "tests"), [(1, True), (0, False)])
def test_nothing_is_ready_while_a_check_or_a_test_fails(failing: int, tests: bool) -> None:
    with pytest.raises(ValidationError, match="ready"):
        VerificationState(checks_failing=failing, tests_passing=tests, ready_for_completion=True)
    assert VerificationState(checks_passing=1, tests_passing=True, ready_for_completion=True).ready_for_completion


def test_an_action_is_recommended_only_if_it_is_allowed() -> None:
    read, complete = (ActionDef(name=name, description="d") for name in ("read_file", "complete"))
    blocked = (BlockedAction(action="complete", reason="checks fail"),)
    assert ActionsSpec(available=(read, complete), blocked=blocked).allowed == ("read_file",)
    for wrong in ("complete", "run_tests"):
        with pytest.raises(ValidationError, match=wrong):
            ActionsSpec(available=(read, complete), recommended=wrong, blocked=blocked)
    with pytest.raises(ValidationError, match="names of their own"):
        ActionsSpec(available=(read, read))


def test_a_suggestion_ends_where_it_starts_or_later() -> None:
    suggestion = {"start_line": 4, "end_line": 4, "suggested_name": "load_rows", "reason": "1 input"}
    assert ExtractionSuggestion.model_validate(suggestion).end_line == 4
    with pytest.raises(ValidationError, match="before it starts"):
        ExtractionSuggestion.model_validate({**suggestion, "end_line": 3})


@pytest.mark.parametrize(("size", "fits"), [(-1, True), (0, True), (1, False)])
def test_texts_are_bounded(size: int, fits: bool) -> None:
    for build in (
        lambda: fact("f1", statement="s" * (MAX_STATEMENT_CHARS + size)),
        lambda: AgentResponse(action="a" * (MAX_NAME_CHARS + size)),
        lambda: AgentResponse(action="a", parameters={"p": "x" * (MAX_PARAMETER_BYTES - len('{"p": ""}') + size)}),
    ):
        if fits:
            build()
        else:
            with pytest.raises(ValidationError):
                build()


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("hostile", [deep(20), deep(5_000), float("nan"), "\ud800", 10**400, {1: {2}}, object()])
def test_parameters_that_are_no_plain_json_are_refused(hostile: object) -> None:
    with pytest.raises(ValidationError):
        AgentResponse(action="edit_file", parameters={"p": hostile})


def test_a_fatal_result_and_every_category_have_their_names() -> None:
    assert [each.value for each in ActionResult] == ["success", "failure", "partial", "skipped", "fatal"]
    assert [each.value for each in FactCategory] == ["code_structure", "inference", "pattern", "verification", "error"]

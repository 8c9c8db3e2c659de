"""Properties of the loop detector that hold for every series of steps."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.context.actions import ActionRecord, ActionResult
from runtime.context.loop_records import GROUP_OF, LoopRecorder
from runtime.loops.detector import LoopDetector, first_loop
from runtime.loops.records import StepRecord

ACTIONS = sorted(GROUP_OF)
CATEGORIES = ["", "not_found", "syntax_error", "extraction_blocked", "test_regression", "other"]
SEEDS = st.integers(0, 10**9)


def some_step(dice: random.Random, step: int, states: int = 4) -> StepRecord:
    action = dice.choice(ACTIONS)
    is_failing = dice.random() < 0.5
    return StepRecord(
        step=step,
        action=action,
        outcome="failure" if is_failing else dice.choice(["success", "partial", "skipped"]),
        group=GROUP_OF[action],
        parameters=dice.choice("pqr"),
        error_category=dice.choice(CATEGORIES) if is_failing else "",
        error=dice.choice(["", "e", "f"]) if is_failing else "",
        state=f"s{dice.randrange(states)}",
        is_state_restored=dice.random() < 0.1,
        is_by_system=dice.random() < 0.1,
        has_new_facts=dice.random() < 0.2,
        has_new_errors=dice.random() < 0.2,
        checks=("c",) if dice.random() < 0.2 else (),
        errors=("e",) if is_failing and dice.random() < 0.4 else (),
    )


def some_log(seed: int, length: int = 30) -> list[StepRecord]:
    dice = random.Random(seed)
    return [some_step(dice, step) for step in range(length)]


@settings(max_examples=150)
@given(SEEDS)
def test_steps_that_each_change_the_state_for_good_or_learn_something_are_no_loop(seed: int) -> None:
    """Errors that were never recorded before do not stand in the way; only equal errors may be counted."""
    detector, dice, state = LoopDetector(initial_state="start"), random.Random(seed), "start"
    for step in range(40):
        record = msgspec.structs.replace(
            some_step(dice, step), is_by_system=False, is_state_restored=False, errors=(), checks=()
        )
        if record.group in {"edit", "extract"} and dice.random() < 0.7:
            state = f"state {step}"
            record = msgspec.structs.replace(record, state=state, outcome="success", error_category="", error="")
        else:
            record = msgspec.structs.replace(record, state=state, has_new_facts=True)
            record = msgspec.structs.replace(record, outcome="success", error_category="", error="")
        assert detector.add(record) is None


@settings(max_examples=150)
@given(SEEDS, st.sampled_from(ACTIONS), st.booleans())
def test_the_same_action_without_news_is_a_loop_by_the_third_time_whatever_came_before(
    seed: int, action: str, is_failing: bool
) -> None:
    log = some_log(seed)
    detector = LoopDetector()
    for record in log:
        detector.add(record)
    found = [
        detector.add(
            StepRecord(
                step=100 + number,
                action=action,
                outcome="failure" if is_failing else "success",
                group=GROUP_OF[action],
                parameters="the same",
                state=log[-1].state,
            )
        )
        for number in range(3)
    ]
    assert any(found)


@settings(max_examples=150)
@given(SEEDS)
def test_step_by_step_and_in_one_pass_the_same_loop_is_found(seed: int) -> None:
    log = some_log(seed)
    detector = LoopDetector()
    one_by_one = next((found for record in log if (found := detector.add(record))), None)
    assert first_loop(log) == one_by_one
    if one_by_one is not None:
        cut = [record for record in log if record.step <= one_by_one.step]
        assert first_loop(cut) == one_by_one


@settings(max_examples=150)
@given(SEEDS)
def test_only_the_equality_of_digests_counts_and_not_what_they_are(seed: int) -> None:
    log = some_log(seed)
    renamed = [
        msgspec.structs.replace(
            record,
            parameters=f"x{record.parameters}",
            state=f"x{record.state}",
            error=record.error and f"x{record.error}",
            checks=tuple(f"x{check}" for check in record.checks),
            errors=tuple(f"x{error}" for error in record.errors),
        )
        for record in log
    ]
    found, of_renamed = first_loop(log), first_loop(renamed)
    assert (found and (found.kind, found.step)) == (of_renamed and (of_renamed.kind, of_renamed.step))


def as_action(step: int, name: str, parameters: dict[str, Any]) -> ActionRecord:
    return ActionRecord(step=step, action=name, parameters=parameters, result=ActionResult.SUCCESS, summary="")


@settings(max_examples=50)
@given(SEEDS, st.permutations(["path", "first", "last"]), st.sampled_from(["", "x_"]))
def test_names_and_order_of_parameters_do_not_matter(seed: int, order: list[str], prefix: str) -> None:
    dice = random.Random(seed)
    actions = [(dice.choice(ACTIONS), [dice.randrange(2) for _ in order]) for _ in range(20)]
    plain, renamed = LoopRecorder(), LoopRecorder()
    first = first_loop(
        plain.record(as_action(step, name, dict(zip(("path", "first", "last"), values, strict=True))), "s")
        for step, (name, values) in enumerate(actions)
    )
    second = first_loop(
        renamed.record(
            as_action(
                step,
                name,
                {prefix + key: dict(zip(("path", "first", "last"), values, strict=True))[key] for key in order},
            ),
            "s",
        )
        for step, (name, values) in enumerate(actions)
    )
    assert (first and (first.kind, first.step)) == (second and (second.kind, second.step))


@settings(max_examples=100)
@given(SEEDS)
def test_steps_of_the_system_close_no_loop(seed: int) -> None:
    detector = LoopDetector()
    for record in some_log(seed):
        assert detector.add(msgspec.structs.replace(record, is_by_system=True)) is None


def test_a_watcher_keeps_no_more_than_the_last_steps_of_a_long_honest_run() -> None:
    detector = LoopDetector(initial_state="s")
    for step in range(5_000):
        record = StepRecord(step, "edit_file", "success", "edit", parameters=str(step), state=f"s{step}")
        assert detector.add(record) is None
    kept = [value for watcher in detector._watchers for value in vars(watcher).values() if hasattr(value, "maxlen")]
    assert kept and all(len(value) <= 8 for value in kept)

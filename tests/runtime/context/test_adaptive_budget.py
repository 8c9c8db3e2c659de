"""A budget grows with progress, warns of the first loop and ends at the second."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.context.adaptive_budget import (
    BudgetLimits,
    BudgetState,
    BudgetVerdict,
    detection_of,
    new_budget,
    spend,
)
from runtime.context.loop_records import EDITING_ADVICE
from runtime.loops.records import StepRecord


def step(number: int, action: str = "read_file", parameters: str = "", **fields: Any) -> StepRecord:
    fields = {"outcome": "success", "group": "read", "state": "s", **fields}
    return StepRecord(step=number, action=action, parameters=parameters or f"p{number}", **fields)


class Task:
    """Takes steps one after the other, as a capability does that keeps the log and the state."""

    def __init__(self, **limits: int) -> None:
        self.limits = BudgetLimits(**limits)
        self.state = new_budget(self.limits)
        self.log: list[StepRecord] = []

    def take(self, record: StepRecord, failing: int | None = None) -> BudgetVerdict:
        self.log.append(record)
        found = detection_of(self.log, self.state, "s", advice=EDITING_ADVICE)
        self.state = BudgetState.model_validate(self.state.model_dump(mode="json"))
        self.state, verdict = spend(self.state, record, found, failing, self.limits)
        return verdict


def until_it_ends(progress_at: set[int]) -> tuple[int, BudgetVerdict]:
    """The number of steps of a task without loops, with progress in the given steps."""
    state, number = new_budget(), 0
    while True:
        number += 1
        record = step(number, "edit_file", group="edit", state=f"s{number}", has_new_facts=number in progress_at)
        state, verdict = spend(state, record, None)
        if not verdict.goes_on:
            return number, verdict


@pytest.mark.parametrize(
    ("progress_at", "steps"),
    [(set(), 20), ({1}, 25), ({1, 2}, 30), ({1, 2, 3, 4}, 40), (set(range(1, 50)), 40), ({20}, 25), ({21}, 20)],
)
def test_each_progress_adds_five_steps_up_to_forty(progress_at: set[int], steps: int) -> None:
    taken, verdict = until_it_ends(progress_at)
    assert (taken, verdict.status) == (steps, "spent")
    assert verdict.reason == f"{steps} of {steps} steps are spent, at most 40"


@pytest.mark.parametrize("news", ["has_new_facts", "has_new_checks", "has_new_files"])
def test_new_facts_and_files_are_progress(news: str) -> None:
    after, _ = spend(new_budget(), step(1, "read_file", "p", **{news: True}), None)
    assert after.granted == 25


def test_a_new_error_and_another_state_alone_are_no_progress() -> None:
    after, _ = spend(new_budget(), step(1, has_new_errors=True, state="t"), None)
    assert after.granted == 20


def test_only_fewer_failing_checks_than_ever_are_progress() -> None:
    state, granted = new_budget(failing=5), []
    for number, failing in enumerate([5, 4, 6, 4, 3]):
        state, _ = spend(state, step(number), None, failing)
        granted.append(state.granted)
    assert granted == [20, 25, 25, 25, 30]


def test_the_first_count_of_failing_checks_is_no_progress() -> None:
    state, _ = spend(new_budget(), step(1), None, 5)
    assert (state.granted, state.fewest_failing) == (20, 5)


def test_the_first_loop_costs_a_step_and_puts_its_suggestions_into_the_next_context() -> None:
    task = Task()
    assert task.take(step(1, parameters="p", has_new_files=True)).status == "goes_on"
    assert task.take(step(2, parameters="p")).status == "goes_on"
    verdict = task.take(step(3, parameters="p"))
    assert (verdict.goes_on, verdict.status, task.state.spent) == (True, "warned", 4)
    assert verdict.detection is not None and verdict.detection.kind == "identical_action"
    assert task.state.warning is not None
    assert any("was read and has not changed" in text for text in task.state.warning.suggestions)


def test_the_repeated_action_is_blocked_with_its_parameters_until_something_is_learnt() -> None:
    task = Task()
    for number in range(3):
        task.take(step(number, parameters="p"))
    assert "repeated 3 times" in str(task.state.block_of("read_file", "p"))
    assert task.state.block_of("read_file", "q") is None
    assert task.state.block_of("load_context", "p") is None
    task.take(step(3, parameters="q"))
    assert task.state.block_of("read_file", "p")
    task.take(step(4, parameters="r", has_new_files=True))
    assert task.state.block_of("read_file", "p") is None


def test_another_state_lifts_the_block() -> None:
    task = Task()
    for number in range(3):
        task.take(step(number, "run_check", "p", group="check"))
    assert task.state.block_of("run_check", "p")
    task.take(step(3, "edit_file", group="edit", state="t"))
    assert task.state.block_of("run_check", "p") is None


def test_an_action_that_ends_the_task_is_never_blocked() -> None:
    task = Task()
    for number in range(3):
        task.take(step(number, "escalate", "p", group="end", outcome="skipped"))
    assert task.state.warning is not None
    assert task.state.block_of("escalate", "p") is None


def test_of_other_kinds_of_loops_too_only_the_last_action_is_blocked_with_its_parameters() -> None:
    task = Task()
    verdicts = [
        task.take(step(number, name, "p", group="edit", outcome="failure", error=name, error_category="not_found"))
        for number, name in enumerate(["edit_file", "replace_lines"] * 2)
    ]
    assert [verdict.status for verdict in verdicts] == ["goes_on", "goes_on", "goes_on", "warned"]
    assert task.state.block_of("replace_lines", "p")
    assert task.state.block_of("replace_lines", "other") is None
    assert task.state.block_of("edit_file", "p") is None


def test_the_second_loop_ends_the_work() -> None:
    task = Task()
    verdicts = [task.take(step(number, parameters="p")) for number in range(6)]
    assert [verdict.status for verdict in verdicts] == [*["goes_on"] * 2, "warned", *["goes_on"] * 2, "looping"]
    assert not verdicts[-1].goes_on
    assert verdicts[-1].reason.startswith("a second loop (identical_action): ")


def test_after_the_warning_one_step_without_news_does_not_end_the_work() -> None:
    task = Task()
    for number in range(3):
        task.take(step(number, parameters="p"))
    assert task.take(step(3, "edit_file", group="edit", outcome="failure", error_category="not_found")).goes_on


def test_a_loop_of_hostile_names_is_warned_of_in_few_visible_words() -> None:
    task = Task()
    for number in range(4):
        name = f"{number}\x1b[31m\n" + "x" * 990
        task.take(step(number, name, target="y" * 1000, outcome="failure", error="e", error_category="not_found"))
    assert task.state.warning is not None
    shown = [task.state.warning.description, *task.state.warning.evidence]
    assert all(text.isprintable() and len(text) < 600 for text in shown)


def test_a_loop_at_the_last_step_ends_the_work() -> None:
    task = Task(initial_steps=3)
    verdicts = [task.take(step(number, parameters="p")) for number in range(3)]
    assert (verdicts[-1].status, verdicts[-1].goes_on) == ("spent", False)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_no_budget_ever_grants_more_than_the_most_nor_takes_steps_back(progress: list[bool]) -> None:
    state = new_budget()
    for number, has_news in enumerate(progress):
        after, verdict = spend(state, step(number, has_new_facts=has_news), None)
        assert state.granted <= after.granted <= 40
        assert after.spent == state.spent + 1
        assert verdict.goes_on == (after.spent < after.granted)
        state = after

"""A plan that was registered stays what it is: tasks keep their items, and a refused list says what to do instead."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.contracts.observations import Observed
from tests.runtime.contracts.session_player import TASKS, Player

HARD, EASY = "retry loop in load.py", "a comment in load.py"


def planned(*items: str, **fields: Any) -> list[dict[str, Any]]:
    checklist = [{"item": item, "status": "pending"} for item in items]
    return [{"id": "t1", "description": "retry in load", "status": "pending", "checklist": checklist, **fields}]


def sent_back() -> Player:
    """Return a session whose only task is to be planned again after a verification failed."""
    player = Player().go_to("READY_PLANNING")
    player.submit(tasks=planned(HARD, EASY))
    player.fail("t1")
    assert player.state.phase == "READY_PLANNING"
    return player


def test_a_task_that_is_opened_again_keeps_its_items() -> None:
    told = sent_back().submit(tasks=planned("anything else"))
    assert told.code == "payload_mismatch"
    assert all(f"'{item}' of 't1' is missing" in " ".join(told.problems) for item in (HARD, EASY))
    assert "reported as skipped, with the reason" in told.problems[0]


@pytest.mark.parametrize("items", [(HARD, EASY), (EASY, HARD), (HARD, EASY, "a test for it")])
def test_a_task_that_is_opened_again_may_have_more_items_and_another_description(items: tuple[str, ...]) -> None:
    player = sent_back()
    told = player.submit(tasks=planned(*items, description="retry, and test it"))
    assert not told.code, told.problems
    assert [item.item for item in player.state.tasks[0].checklist] == list(items)


def test_an_item_of_a_task_that_is_opened_again_may_be_skipped_with_a_reason() -> None:
    player = sent_back()
    player.submit(tasks=planned(HARD, EASY))
    checklist = [
        {"item": HARD, "status": "done", "evidence": "load.py:3"},
        {"item": EASY, "status": "skipped", "reason": "the code says it already"},
    ]
    assert not player.submit(checklist=checklist).code


def test_a_completed_task_needs_no_items_told_again() -> None:
    player = sent_back()
    fix = {**planned("the last try")[0], "id": "t2", "fixes": "t1", "revert_reason": "a test is red"}
    told = player.submit(tasks=[*planned("as it was", status="completed"), fix])
    assert not told.code, told.problems
    assert [item.item for item in player.state.tasks[0].checklist] == [HARD, EASY]


@pytest.mark.parametrize("step", ["READY_IMPLEMENTATION", "READY_COMPLETION"])
def test_another_task_list_after_the_plan_is_answered_with_what_to_do_instead(step: str) -> None:
    player = Player().go_to(step)
    more = {**TASKS[0], "id": "t3", "checklist": [{"item": "one more", "status": "pending"}]}
    told = player.submit({"tasks": [*TASKS, more], "tools_used": [], "summary": "one more"})
    assert told.code == "payload_mismatch"
    assert "cannot be changed in this step" in told.problems[0]
    assert ("report on 't1'" if step == "READY_IMPLEMENTATION" else "submit the summary") in told.problems[0]
    assert "leads back to the plan" in told.problems[0]


def test_the_same_task_list_sent_again_is_no_other_list() -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    assert not player.submit({"tasks": list(TASKS), "tools_used": [], "summary": "two tasks"}).code


def test_a_call_that_found_nothing_is_named_where_too_few_kinds_of_tools_were_used() -> None:
    player = Player().go_to("EXPLORATION")
    player.use("read_code")
    player.state = player.state.with_use(player.state.uses[-1].__class__("search_text", player.state.visit, "text"))
    told = player.submit(tools=(), observed=Observed())
    assert "this server saw 1 that showed something; nothing was found by: search_text" in told.problems[0]

"""What the critic says about goals, applied at a round's end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents.goal_changes import MAX_GOALS, from_critic, new_goals
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard, RoundSummary, apply_patch

SUMMARY = RoundSummary(1)


def board(count: int = 3) -> GoalBoard:
    goals = [Goal(GoalId(f"g{n}"), f"goal {n}", priority=n) for n in range(count)]
    return GoalBoard(tuple(goals))


def after(updates: dict[str, Any], status: dict[str, Any] | None = None) -> GoalBoard:
    return apply_patch(board(), from_critic(board(), {"goal_updates": updates, "goal_status": status or {}}, SUMMARY))


def test_a_goal_is_refined_in_its_place() -> None:
    changed = after({"refined": {"g1": "better"}})
    assert [(goal.id, goal.text, goal.priority) for goal in changed.goals] == [
        ("g0", "goal 0", 0),
        ("g1", "better", 1),
        ("g2", "goal 2", 2),
    ]


def test_goals_are_added_at_the_end_and_dropped_ones_stay_on_the_board() -> None:
    changed = after({"new": ["find the vans", {"id": "x", "text": "X", "depends_on": ["g0"]}], "dropped": ["g2"]})
    assert [goal.text for goal in changed.goals] == ["goal 0", "goal 1", "goal 2", "find the vans", "X"]
    assert [goal.text for goal in changed.remaining] == ["goal 0", "goal 1", "find the vans", "X"]
    assert [goal.text for goal in changed.ready] == ["goal 0", "find the vans", "goal 1"]


def test_a_goal_whose_prerequisite_is_dropped_is_dropped_with_it() -> None:
    changed = after({"new": [{"id": "x", "text": "X", "depends_on": ["g0"]}], "dropped": ["g0"]})
    assert {goal.id: goal.status for goal in changed.goals}[GoalId("x")] == "dropped"


def test_a_blocked_goal_leaves_the_remaining_ones_and_is_reported_open() -> None:
    changed = after({"blocked": ["g1"]}, {"g0": "satisfied", "g1": "partial"})
    assert [goal.id for goal in changed.remaining] == ["g2"]
    assert [goal.id for goal in changed.unanswered] == ["g1", "g2"]


@pytest.mark.parametrize(("there", "added"), [(MAX_GOALS - 2, 2), (MAX_GOALS - 1, 1), (MAX_GOALS, 0)])
def test_no_run_has_more_goals_than_it_may(there: int, added: int) -> None:
    assert len(new_goals(board(there), ["a", "b"])) == added


def test_a_goal_that_there_is_already_is_not_added_again() -> None:
    assert new_goals(board(), [{"id": "g0", "text": "again"}]) == []


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["g0", "satisfied"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["g0", "id", "text", "new"]), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["goal_updates", "goal_status"]), junk | st.dictionaries(st.text(), junk)),
    st.dictionaries(st.sampled_from(["new", "refined", "dropped", "blocked"]), junk),
)
def test_whatever_a_critic_writes_the_board_stays_a_board(output: dict[str, Any], updates: dict[str, Any]) -> None:
    for written in (output, {"goal_updates": updates}):
        changed = apply_patch(board(), from_critic(board(), written, SUMMARY))
        assert [goal.id for goal in changed.goals][:3] == ["g0", "g1", "g2"]
        assert len({goal.id for goal in changed.goals}) == len(changed.goals) <= MAX_GOALS
        assert all(goal.text.strip() for goal in changed.goals)

"""Reads goal changes from the output of the critic and intent. Total: unreadable parts change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec

from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard, GoalsPatch, GoalStatus, RoundSummary

MAX_GOALS = 20
MAX_GOAL_CHARS = 300

_STATUSES: dict[object, GoalStatus] = {status: status for status in get_args(GoalStatus)}


def from_critic(board: GoalBoard, output: Mapping[str, Any], summary: RoundSummary) -> GoalsPatch:
    """Build the full patch from the critic's output: statuses and `goal_updates` {new, refined, dropped, blocked}."""
    known = {goal.id for goal in board.goals}
    updates = _mapping(output.get("goal_updates"))
    statuses: dict[GoalId, GoalStatus] = {
        GoalId(goal): _STATUSES[state]
        for goal, state in _mapping(output.get("goal_status")).items()
        if goal in known and isinstance(state, str) and state in _STATUSES
    }
    statuses |= dict.fromkeys((GoalId(goal) for goal in _texts(updates.get("blocked")) if goal in known), "blocked")
    refined = _mapping(updates.get("refined"))
    return GoalsPatch(
        refine={
            GoalId(goal): text[:MAX_GOAL_CHARS]
            for goal, text in refined.items()
            if goal in known and isinstance(text, str) and text.strip()
        },
        statuses=statuses,
        drop=tuple(GoalId(goal) for goal in _texts(updates.get("dropped")) if goal in known),
        add=tuple(new_goals(board, updates.get("new"))),
        finish_round=summary,
    )


def statuses_alone(patch: GoalsPatch, summary: RoundSummary) -> GoalsPatch:
    """Build the patch of a pass that is redone: statuses apply, all else waits for the end of the round."""
    return GoalsPatch(statuses=patch.statuses, finish_round=summary)


def closing(patch: GoalsPatch, summary: RoundSummary) -> GoalsPatch:
    """Build the patch for the end of a round."""
    return msgspec.structs.replace(patch, finish_round=summary)


def new_goals(board: GoalBoard, written: object) -> list[Goal]:
    """Read the goals to add: texts, or {id?, text, priority?, depends_on?}; at most MAX_GOALS in all.

    A goal whose id exists already is left out, and an unknown prerequisite is ignored.
    """
    items = written if isinstance(written, list) else []
    taken = {str(goal.id) for goal in board.goals}
    added: list[Goal] = []
    for item in items:
        fields = {"text": item} if isinstance(item, str) else _mapping(item)
        text = fields.get("text")
        if not isinstance(text, str) or not text.strip() or len(taken) >= MAX_GOALS:
            continue
        wanted = fields.get("id")
        goal_id = wanted if isinstance(wanted, str) and wanted else _free_id(taken)
        if goal_id in taken:
            continue
        taken.add(goal_id)
        priority = fields.get("priority")
        added.append(
            Goal(
                GoalId(goal_id),
                text.strip()[:MAX_GOAL_CHARS],
                priority=priority if isinstance(priority, int) and abs(priority) < 2**31 else 0,
                depends_on=tuple(GoalId(name) for name in _texts(fields.get("depends_on")) if name in taken),
            )
        )
    return added


def _free_id(taken: Iterable[str]) -> str:
    return next(name for number in range(1, MAX_GOALS + 2) if (name := f"definition:{number}") not in taken)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

"""Defines the goals of a run, and `apply_patch`, the only function that changes them.

A run has ordered goals, worked on in numbered rounds. An agent returns a `GoalsPatch`; `apply_patch` derives the next
`GoalBoard` from it. It is pure and total: where a patch names unknown goals, it changes nothing.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from runtime.primitives.ids import GoalId

GoalStatus = Literal["pending", "satisfied", "partial", "blocked", "dropped"]

OPEN: frozenset[str] = frozenset({"pending", "partial"})


class Goal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes one thing to find out.

    `priority`: lower comes first. `depends_on`: goals that must be satisfied before.
    """

    id: GoalId
    text: str
    status: GoalStatus = "pending"
    priority: int = 0
    depends_on: tuple[GoalId, ...] = ()


class RoundSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Summarises a finished round, or one pass of a round. `number` counts rounds from 1.

    `evidence` counts distinct cited places; `is_redone`: the round continues with another pass after this one.
    """

    number: int
    satisfied: tuple[GoalId, ...] = ()
    evidence: int = 0
    synthesis: dict[str, object] = {}
    is_redone: bool = False


class GoalsPatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes a change to the goals, applied in this order: refine, statuses, drop, add, finish_round."""

    refine: dict[GoalId, str] = {}
    statuses: dict[GoalId, GoalStatus] = {}
    drop: tuple[GoalId, ...] = ()
    add: tuple[Goal, ...] = ()
    finish_round: RoundSummary | None = None


class GoalBoard(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds all goals in order, the current round (from 1), and summaries of the passes finished so far."""

    goals: tuple[Goal, ...] = ()
    round_number: int = 1
    finished_rounds: tuple[RoundSummary, ...] = ()

    @property
    def rounds_finished(self) -> int:
        """The number of finished rounds; repeated passes are part of their round."""
        return sum(not done.is_redone for done in self.finished_rounds)

    @property
    def remaining(self) -> tuple[Goal, ...]:
        """The goals still to be worked on, in order."""
        return tuple(goal for goal in self.goals if goal.status in OPEN)

    @property
    def unanswered(self) -> tuple[Goal, ...]:
        """The goals to report to a reader as open: all but satisfied and dropped ones."""
        return tuple(goal for goal in self.goals if goal.status not in {"satisfied", "dropped"})

    @property
    def ready(self) -> tuple[Goal, ...]:
        """The remaining goals whose prerequisites are no longer open, by priority and then order.

        Goals that only depend on one another in a cycle would never be ready: then all of them are.
        """
        waiting = {goal.id for goal in self.remaining}
        free = [goal for goal in self.remaining if not waiting.intersection(goal.depends_on)]
        return tuple(sorted(free or self.remaining, key=lambda goal: goal.priority))


def apply_patch(board: GoalBoard, patch: GoalsPatch) -> GoalBoard:
    """Return the board after `patch`. A goal whose prerequisite was dropped is dropped with it; ids stay unique."""
    goals = [_patched(goal, patch) for goal in board.goals]
    known = {goal.id for goal in goals}
    for goal in patch.add:
        if goal.id not in known:
            known.add(goal.id)
            goals.append(goal)
    finished, number = board.finished_rounds, board.round_number
    if patch.finish_round is not None:
        finished = (*finished, msgspec.structs.replace(patch.finish_round, number=number))
        number += 0 if patch.finish_round.is_redone else 1
    return GoalBoard(goals=_without_orphans(goals), round_number=number, finished_rounds=finished)


def _patched(goal: Goal, patch: GoalsPatch) -> Goal:
    status: GoalStatus = "dropped" if goal.id in patch.drop else patch.statuses.get(goal.id, goal.status)
    text = patch.refine.get(goal.id, goal.text)
    if status == goal.status and text == goal.text:
        return goal
    return msgspec.structs.replace(goal, status=status, text=text)


def _without_orphans(goals: list[Goal]) -> tuple[Goal, ...]:
    """Return the goals, with every direct or indirect dependant of a dropped one dropped too."""
    dependants: dict[GoalId, list[GoalId]] = {}
    for goal in goals:
        for prerequisite in goal.depends_on:
            dependants.setdefault(prerequisite, []).append(goal.id)
    dropped = {goal.id for goal in goals if goal.status == "dropped"}
    frontier = list(dropped)
    while frontier:
        for follower in dependants.get(frontier.pop(), ()):
            if follower not in dropped:
                dropped.add(follower)
                frontier.append(follower)
    return tuple(
        msgspec.structs.replace(goal, status="dropped") if goal.id in dropped and goal.status != "dropped" else goal
        for goal in goals
    )

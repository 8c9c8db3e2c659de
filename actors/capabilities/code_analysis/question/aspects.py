"""Names the aspect of a question that a goal stands for."""

from __future__ import annotations

from runtime.run.goals import Goal


def aspect_of(goal: Goal) -> str:
    """What a goal asks for; its id begins with it."""
    return goal.id.partition(":")[0]

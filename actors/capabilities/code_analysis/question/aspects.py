"""Defines the aspects of a question, each of which becomes a goal."""

from __future__ import annotations

from typing import Literal

from runtime.run.goals import Goal

Aspect = Literal[
    "answer",
    "definition",
    "mechanism",
    "usage",
    "tests",
    "configuration",
    "listing",
    "structure",
    "history",
    "together",
    "precedents",
    "requirements",
]


def aspect_of(goal: Goal) -> str:
    """What a goal asks for; its id begins with it."""
    return goal.id.partition(":")[0]

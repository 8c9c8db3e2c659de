"""Defines the context of an agent that answers: task and goals, facts, and excerpts that support them.

Frozen, and validated when it is made. Items of a part are ordered by importance, the first matters most. Agents that
act step by step have `AgentContext` in models.py.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from runtime.context.fields import Frozen
from runtime.context.understanding import Understanding

Text = Annotated[str, Field(min_length=1)]


class Excerpt(Frozen):
    """Quotes lines of a file verbatim; `fact` is the fact that they support."""

    place: Text
    text: str
    fact: str | None = None


class AnswerContext(Frozen):
    """Holds an agent's context: task and goals, facts, the excerpts that support them, and recent history."""

    agent: Text
    task: Text
    goals: tuple[Text, ...] = ()
    understanding: Understanding = Understanding()
    excerpts: tuple[Excerpt, ...] = ()
    recent: tuple[Text, ...] = ()

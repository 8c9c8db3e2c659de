"""Defines the output of perception: the normalised question, the repository, and recalled memory."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional, required
from actors.capabilities.code_analysis.session.remembered import KnownFile, SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import TraversalState
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.run.stage_view import StageView


class MemoryContext(msgspec.Struct, frozen=True):
    """Holds the session's turns, earlier answers whose cited lines are unchanged, and summaries of known files."""

    turns: list[SessionTurn] = []
    earlier_answers: list[EarlierAnswer] = []
    understood: list[KnownFile] = []


class RepositoryStats(msgspec.Struct, frozen=True):
    """Holds the index's counts: files by language, skipped files by reason, and notes on unreadable folders."""

    by_language: dict[str, int] = {}
    skipped: dict[str, int] = {}
    notes: list[Any] = []


class PerceptionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of perception. `repository` is the index writer's document, kept as received."""

    normalized_input: str
    repository: dict[str, Any] | None = None
    memory_context: MemoryContext = MemoryContext()
    context_summary: str = ""
    traversal_state: TraversalState = TraversalState()

    @property
    def stats(self) -> RepositoryStats:
        """The part of the index's counts that agents read."""
        return msgspec.convert((self.repository or {}).get("stats", {}), RepositoryStats)


def perception_of(view: StageView) -> PerceptionOutput:
    """Return the output of perception; raise HandoverError when it is missing."""
    return required(view, "perception", PerceptionOutput)


def perception_if_any(view: StageView) -> PerceptionOutput | None:
    """Return the output of perception; None before there is one."""
    return optional(view, "perception", PerceptionOutput)


def memory_of(view: StageView) -> MemoryContext:
    """Return the recalled memory; an empty one before perception."""
    perceived = perception_if_any(view)
    return MemoryContext() if perceived is None else perceived.memory_context

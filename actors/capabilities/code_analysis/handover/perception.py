"""What perception hands on: the question in one form, the repository, and what is remembered."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional, required
from actors.capabilities.code_analysis.session.remembered import KnownFile, SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import TraversalState
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.run.stage_view import StageView


class MemoryContext(msgspec.Struct, frozen=True):
    """The session's turns, earlier answers whose lines are unchanged, and files that are known already."""

    turns: list[SessionTurn] = []
    earlier_answers: list[EarlierAnswer] = []
    understood: list[KnownFile] = []


class RepositoryStats(msgspec.Struct, frozen=True):
    """What the index counted: files by language, files that it skipped and why, folders that it could not read."""

    by_language: dict[str, int] = {}
    skipped: dict[str, int] = {}
    notes: list[Any] = []


class PerceptionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of perception. `repository` is what the index's writer told: its document, not ours."""

    normalized_input: str
    repository: dict[str, Any] | None = None
    memory_context: MemoryContext = MemoryContext()
    context_summary: str = ""
    traversal_state: TraversalState = TraversalState()

    @property
    def stats(self) -> RepositoryStats:
        """What of the index's count agents read."""
        return msgspec.convert((self.repository or {}).get("stats", {}), RepositoryStats)


def perception_of(view: StageView) -> PerceptionOutput:
    """What perception handed on; HandoverError without it."""
    return required(view, "perception", PerceptionOutput)


def perception_if_any(view: StageView) -> PerceptionOutput | None:
    """What perception handed on, None before it has."""
    return optional(view, "perception", PerceptionOutput)


def memory_of(view: StageView) -> MemoryContext:
    """What is remembered; nothing before perception."""
    perceived = perception_if_any(view)
    return MemoryContext() if perceived is None else perceived.memory_context

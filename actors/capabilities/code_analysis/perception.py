"""Perception: takes the question in, makes sure that the repository is indexed, and recalls the session.

A door that has refreshed the index already hands over what it got; otherwise the index's one writer is asked.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from runtime.capability import StageContext, StageResult
from runtime.supervision.commands import StageView

INDEX_TIMEOUT_S = 280.0
MAX_QUESTION_CHARS = 20_000


async def perceive(context: StageContext, view: StageView) -> StageResult:
    """Normalise the question, have the index refreshed where the door has not, load the session's earlier turns."""
    question = normalise(view.raw_input)
    repository = view.metadata.get("repository")
    if repository is None:
        repository = await context.queries.query("index.refresh", {"root": view.metadata["repo"]}, INDEX_TIMEOUT_S)
    turns = await _turns(context, view.session_id)
    return StageResult(
        {
            "normalized_input": question,
            "repository": repository,
            "memory_context": {"turns": turns},
            "context_summary": _summary(repository, turns),
            "traversal_state": {"session_id": view.session_id, "scope_path": ".", "explored_files": []},
        }
    )


def normalise(text: str) -> str:
    """The question on one line, in composed Unicode, without control characters, at most MAX_QUESTION_CHARS long."""
    composed = unicodedata.normalize("NFC", text[:MAX_QUESTION_CHARS])
    shown = "".join(" " if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"} else char for char in composed)
    return " ".join(shown.split())


async def _turns(context: StageContext, session_id: str | None) -> list[dict[str, Any]]:
    if session_id is None:
        return []
    answer = await context.queries.query("session.turns", {"session_id": session_id})
    return list(answer["turns"])


def _summary(repository: dict[str, Any], turns: list[dict[str, Any]]) -> str:
    stats = repository["stats"]
    size = f"{stats['files']} files, {stats['lines']} lines"
    return f"{size}; {len(turns)} earlier questions" if turns else size

"""Normalises the question, ensures that the repository is indexed, and recalls the session.

An entry point that has refreshed the index passes its result along; otherwise the index's only writer is queried.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.perception import MemoryContext, PerceptionOutput
from actors.capabilities.code_analysis.handover.reading import written
from actors.capabilities.code_analysis.session import recall
from actors.capabilities.code_analysis.session.remembered import KnownFile, SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import TraversalState, read_state
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.codebase.search.prose.report import LONG_CHARS, lines_about_code
from runtime.run.stage_view import StageView

INDEX_TIMEOUT_S = 280.0
MAX_QUESTION_CHARS = 20_000
MAX_SESSION_TOKENS = 10_000
# Longer words are cut in parts: nothing in code is named so, and what reads a question reads it word by word.
MAX_WORD_CHARS = 400


async def perceive(context: StageContext, view: StageView) -> StageResult:
    """Normalise the question, refresh the index unless the entry point has, and load the session's earlier turns."""
    repository: dict[str, Any] | None = view.metadata.get("repository")
    if repository is None:
        repository = await context.queries.query("index.refresh", {"root": view.metadata["repo"]}, INDEX_TIMEOUT_S)
    question = normalise(_about_code(context, repository, view.raw_input))
    repository = await _with_fixed_vectors(context, repository, question)
    recalled = await recall.recall_session(context, view.session_id)
    limit_tokens = view.context_bounds.get("max_session_context_tokens", MAX_SESSION_TOKENS)
    turns = recall.within_tokens(msgspec.convert(recalled["turns"], list[SessionTurn]), limit_tokens)
    state = read_state(recalled.get("state"), view.session_id)
    answers, understood = await _persistent(context, repository, question, state)
    output = PerceptionOutput(
        normalized_input=question,
        repository=repository,
        memory_context=MemoryContext(turns, answers, understood),
        context_summary=_summary(repository, turns),
        traversal_state=state,
    )
    return StageResult(written(output))


async def _with_fixed_vectors(context: StageContext, repository: dict[str, Any], question: str) -> dict[str, Any]:
    if context.services is None:
        return repository
    fixed: dict[str, Any] = await context.run_blocking(context.services.with_fixed_vectors, repository, question)
    return fixed


async def _persistent(
    context: StageContext, repository: dict[str, Any], question: str, state: TraversalState
) -> tuple[list[EarlierAnswer], list[KnownFile]]:
    """Return earlier answers that still hold, and summaries of the files that the session looked at."""
    if context.services is None:
        return [], []
    codebase = context.services.codebase(repository)
    answers = await recall.recall_answers(context, codebase, question)
    return answers, await recall.recall_summaries(context, codebase, state.explored_files)


def _about_code(context: StageContext, repository: dict[str, Any], text: str) -> str:
    """Cut a long report to the lines that speak of the code, while it still has lines."""
    if len(text) <= LONG_CHARS or context.services is None:
        return text
    return lines_about_code(text, context.services.codebase(repository).index.defined_names)


def normalise(text: str) -> str:
    """Put the question on one line of NFC text without control characters, cut to MAX_QUESTION_CHARS.

    Words of more than MAX_WORD_CHARS characters are cut in parts of that length.
    """
    composed = unicodedata.normalize("NFC", text[:MAX_QUESTION_CHARS])
    shown = "".join(" " if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"} else char for char in composed)
    parts = (word[at : at + MAX_WORD_CHARS] for word in shown.split() for at in range(0, len(word), MAX_WORD_CHARS))
    return " ".join(parts)[:MAX_QUESTION_CHARS].rstrip()


def _summary(repository: dict[str, Any], turns: Sequence[SessionTurn]) -> str:
    stats = repository["stats"]
    size = f"{stats['files']} files, {stats['lines']} lines"
    return f"{size}; {len(turns)} earlier questions" if turns else size

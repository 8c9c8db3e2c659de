"""Writes the context of a step as YAML for a language model, in sections whose order never changes.

The step comes last, because it changes with every step: the bytes before it stay the same as long as their parts do,
and a model server can reuse what it has computed for them. What no action of the phase can use is left out: source and
extraction suggestions while a fix is verified. Long source is shown in outline (source_outline.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.context.actions import ActionDef, ActionRecord, ActionsSpec
from runtime.context.compact_yaml import compact_yaml
from runtime.context.fact_store import CONTEXT_CONFIDENCE
from runtime.context.models import UNNAMED, AgentContext, Analysis, TaskSpec, VerificationState
from runtime.context.source_outline import outlined
from runtime.context.understanding import Fact, FactCategory

SECTIONS = ("task", "understanding", "verification", "analysis", "context", "actions", "recent", "step")
RECENT_SHOWN = 3
# Phases whose actions take no lines and no code.
PHASES_WITHOUT_CODE = frozenset({"verify", "complete", "failed", "escalated"})


def to_yaml(context: AgentContext, is_complete: bool = False) -> str:
    """Return the context as YAML without its empty parts; the same context gives the same text.

    `is_complete` leaves nothing else out: neither code in any phase nor lines of source.
    """
    return compact_yaml(sections_of(context, is_complete))


def sections_of(context: AgentContext, is_complete: bool = False) -> dict[str, Any]:
    """Return the sections of a context as plain values, in the order of SECTIONS."""
    state = context.state
    phase = state.phase.current_phase
    return {
        "task": _task(context.task, phase),
        "understanding": understanding_section(state.understanding.above(CONTEXT_CONFIDENCE)),
        "verification": _verification(state.verification),
        "analysis": _analysis(context.precomputed, phase, is_complete),
        "context": context.domain_context,
        "actions": _actions(context.actions),
        "recent": [_recent(record) for record in state.recent_actions[-RECENT_SHOWN:]],
        "step": state.current_step,
    }


def _task(task: TaskSpec, phase: str) -> dict[str, Any]:
    return {
        "id": task.task_id,
        "goal": task.goal,
        "phase": phase,
        "success_criteria": list(task.success_criteria),
        "constraints": list(task.constraints),
    }


def understanding_section(facts: Sequence[Fact], max_chars: int | None = None) -> dict[str, Any]:
    """Return statements with their confidence by category, cut to `max_chars`; of equal ones the surest."""
    shown: dict[str, dict[str, float]] = {category.value: {} for category in FactCategory}
    for fact in facts:
        own, statement = shown[fact.category.value], fact.statement[:max_chars]
        own[statement] = max(fact.confidence, own.get(statement, 0.0))
    return {
        category: [f"{statement} ({confidence})" for statement, confidence in statements.items()]
        for category, statements in shown.items()
    }


def _verification(state: VerificationState) -> dict[str, Any]:
    return {
        "passing": state.checks_passing,
        "failing": state.checks_failing,
        "tests_ok": state.tests_passing,
        "ready": state.ready_for_completion,
    }


def _analysis(found: Analysis, phase: str, is_complete: bool) -> dict[str, Any]:
    lines, source, suggestions = found.function_lines, found.function_source, found.extraction_suggestions
    if not is_complete:
        if phase in PHASES_WITHOUT_CODE:
            source, suggestions = None, ()
        elif source is not None:
            source = outlined(source, lines[0] if lines else 1, suggestions)
    return {
        "violating_function": found.violating_function,
        "function_lines": f"{lines[0]}-{lines[1]}" if lines else None,
        "function_source": source,
        "extraction_suggestions": [
            [each.start_line, each.end_line, each.suggested_name or UNNAMED, each.reason] for each in suggestions
        ],
    }


def _actions(actions: ActionsSpec) -> dict[str, Any]:
    allowed = set(actions.allowed)
    return {
        "available": {action.name: _when(action) for action in actions.available if action.name in allowed},
        "recommended": actions.recommended,
        "blocked": {each.action: each.reason for each in actions.blocked},
    }


def _when(action: ActionDef) -> str:
    return "; ".join(action.preconditions) or action.description


def _recent(record: ActionRecord) -> dict[str, Any]:
    return {
        "step": record.step,
        "action": record.action,
        "result": record.result.value,
        "summary": record.summary,
    }

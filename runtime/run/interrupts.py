"""Reads questions from stage outputs, checks answers, and decides what an answer means. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from runtime.pipeline.config import INTERRUPT_TARGETS
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.primitives.clock import seconds
from runtime.run.envelope import Interrupt, InterruptRequest, InterruptResponse, TerminalReason
from runtime.run.principal import may_control

# The terminal reason of a question in a run whose caller does not wait.
REASON_WITHOUT_WAITING: dict[InterruptKind, TerminalReason] = {
    "clarification": "clarification_required",
    "confirmation": "confirmation_required",
    "agent_review": "confirmation_required",
    "checkpoint": "confirmation_required",
    "resource_exhausted": "confirmation_required",
    "timeout": "tool_failed_recoverably",
    "system_error": "internal_error",
}

Outcome = Literal["go_on", "denied"]


def refusal(interrupt: Interrupt | None, interrupt_id: str, user_id: str, asker_id: str, at_ms: int) -> str | None:
    """Return why an answer cannot be taken, or None when it can."""
    if interrupt is None or interrupt.id != interrupt_id:
        current = f"; {interrupt.id} is" if interrupt is not None and interrupt.status == "pending" else ""
        return f"interrupt {interrupt_id} is not open{current}"
    if interrupt.status != "pending":
        return f"interrupt {interrupt_id} is {interrupt.status} already"
    if not may_control(user_id, asker_id):
        return f"interrupt {interrupt_id} belongs to user '{asker_id}', not to '{user_id}'"
    if interrupt.expires_at_ms is not None and at_ms >= interrupt.expires_at_ms:
        return f"interrupt {interrupt_id} expired {seconds(at_ms - interrupt.expires_at_ms)} ago"
    return None


def missing_from_response(kind: InterruptKind, response: InterruptResponse) -> str | None:
    """Return what this kind of interrupt requires and the response lacks, or None; for doors: silence would mean no."""
    if kind == "checkpoint":
        return None
    if kind == "clarification":
        return None if response.text.strip() else "a clarification is answered with a text"
    if kind == "agent_review":
        return None if response.decision is not None else "a review is answered with approve, reject or modify"
    return None if response.approved is not None else f"a question of kind {kind} is answered with yes or no"


def outcome(kind: InterruptKind, response: InterruptResponse) -> Outcome:
    """Return the meaning of an answer: clarifications continue the run; other questions need approval."""
    if kind in {"clarification", "checkpoint"}:
        return "go_on"
    if kind == "agent_review":
        return "go_on" if response.decision in {"approve", "modify"} else "denied"
    return "go_on" if response.approved else "denied"


def question_in(target: str, output: Mapping[str, Any]) -> InterruptRequest:
    """Return the question that a stage left in its output for a routing target like `clarification`."""
    kind = target if target in INTERRUPT_TARGETS else "clarification"
    question = str(output.get(f"{kind}_question") or output.get("question") or "The run needs your answer to go on.")
    data = output.get(f"{kind}_data")
    return InterruptRequest(kind, question, data=data if isinstance(data, dict) else {})  # type: ignore[arg-type]

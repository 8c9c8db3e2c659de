"""Says what a session's agent is told: always the phase, what to do and what to submit.

So an agent that has forgotten everything can go on from any answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.contracts.contract import END, ESCALATION, Contract
from runtime.contracts.decisions import Decision
from runtime.contracts.payloads import described
from runtime.contracts.session_state import SessionState, Task

CALL = "submit_phase"
# The end of a check's output, which is at most 3,000 characters, with what it is the end of.
MAX_RETOLD_CHARS = 3_300
UNASKED = "Tell the person, unless they asked for it"
_OVER = (
    "The session is over. Nothing is to be submitted; start_session begins another one. Tell the person how it ended, "
    "and that `jeeves outcome {session} success` (failure, partial) teaches later sessions what became of it."
)
_WAITS = (
    "A person has to answer before this session goes on. Tell the person the question, and that it is answered with "
    "`{command}`, in any folder. Nothing that you submit answers it."
)


def answer_of(contract: Contract, decision: Decision) -> dict[str, Any]:
    """Return the answer to a call: where the session stands, and what was wrong or is worth knowing."""
    state = decision.state
    told = standing(contract, state)
    if decision.code:
        # What went wrong comes before the instruction, which is known.
        told = {"error": {"code": decision.code, "problems": list(decision.problems)}, **told}
    if decision.notes:
        told["notes"] = list(decision.notes)
    if decision.is_recalled:
        told["phase_summaries"] = dict(state.summaries)
    return told


def standing(contract: Contract, state: SessionState) -> dict[str, Any]:
    """Return where a session stands and all that is needed to go on."""
    told: dict[str, Any] = {
        "session_id": state.session_id,
        "phase": contract.phase_name(state.phase),
        "compaction_count": state.compaction_count,
    }
    place = state.place
    told |= {
        "workspace": place.folder if place else state.repository,
        "branch": place.branch or None if place else None,
    }
    if state.phase == END:
        told |= {"instruction": _OVER.format(session=state.session_id), "outcome": state.outcome}
        if state.place is not None and state.place.head and not state.place.branch:
            told["merged"] = {"into": state.place.base_branch, "commit": state.place.head}
        if state.failed_tasks and state.outcome == "verification_failed":
            told["failed_tasks"] = list(state.failed_tasks)
    elif state.phase == ESCALATION:
        command = f"jeeves runs resume {state.session_id} --text …"
        question = _in_short(state.escalation.question) if state.escalation is not None else ""
        told |= {"instruction": _WAITS.format(command=command), "question": question}
    else:
        told |= _to_do(contract, state)
    duty = contract.phases[state.phase].duty if state.phase in contract.phases else ""
    if (state.phase == END or duty == "merge") and (left_out := left_out_by_flags(contract, state)):
        told["left_out"] = left_out
    if state.warnings:
        told["warnings"] = [_in_short(warning) for warning in state.warnings]
    return told


def left_out_by_flags(contract: Contract, state: SessionState) -> str:
    """Return which phases the flags of a session left out, as a sentence; empty where none did.

    Whoever started the session gave them, which need not be the person who asked for the change.
    """
    found = []
    for flag in state.flags:
        keys = contract.keys_of(contract.flags[flag].skips) if flag in contract.flags else frozenset()
        names = dict.fromkeys(contract.phase_name(key) for key in contract.order if key in keys)
        if names:
            found.append(f"{flag} left out {', '.join(names)}")
    return f"{'; '.join(found)}. {UNASKED}" if found else ""


def _in_short(text: str) -> str:
    """Return what an agent handed in earlier as it is told again: its beginning and its end."""
    if len(text) <= MAX_RETOLD_CHARS:
        return text
    half = MAX_RETOLD_CHARS // 2
    return f"{text[:half]} … {text[-half:]}"


def _to_do(contract: Contract, state: SessionState) -> dict[str, Any]:
    rule = contract.phases[state.phase]
    instruction = rule.instruction
    if state.revert_reason and rule.duty == "plan":
        instruction = f"Sent back because {_in_short(state.revert_reason)}\n\n{instruction}"
    told: dict[str, Any] = {
        "step": rule.step,
        "instruction": instruction,
        "expected_payload": described(rule.expected_payload),
        "required_tools": [_demanded(demand.any_of, demand.at_least) for demand in rule.required_tools],
        "call": CALL,
    }
    if rule.duty == "branches":
        told["stale_branches"] = list(state.stale_branches)
    if rule.duty == "impact" and state.must_verify:
        told["must_verify"] = list(state.must_verify)
    if rule.duty in {"plan", "quality"} and state.rules:
        told["mandatory_rules"] = _rules_of(state)
    if rule.duty in {"plan", "finish"} and state.tasks:
        told["tasks"] = [task_document(task) for task in state.tasks]
    if rule.duty == "implement" and state.open_tasks:
        told["next_task"] = task_document(state.open_tasks[0])
        told["tasks_left"] = len(state.open_tasks)
    return told


def _rules_of(state: SessionState) -> list[dict[str, str]]:
    return [{"rule": rule.rule, "source": rule.source} for rule in state.rules]


def status_of(contract: Contract, state: SessionState) -> dict[str, Any]:
    """Return all that an agent that has lost its context needs: where it stands, tasks, rules and summaries."""
    told = standing(contract, state)
    told |= {"intent": state.intent, "query": state.query, "flags": list(state.flags)}
    told["tasks"] = [task_document(task) for task in state.tasks]
    told["mandatory_rules"] = _rules_of(state)
    told["explored_files"] = list(state.explored)
    told["phase_summaries"] = dict(state.summaries)
    return told


def task_document(task: Task) -> dict[str, Any]:
    """Return a task as it is told to an agent."""
    told: dict[str, Any] = {
        "id": task.id,
        "description": task.description,
        "status": task.status,
        "checklist": [{"item": item.item, "status": item.status} for item in task.checklist],
    }
    if task.failure_count:
        told["failure_count"] = task.failure_count
    if task.fixes:
        told["fixes"] = task.fixes
    if task.fixes or task.revert_reason:
        told["revert_reason"] = _in_short(task.revert_reason)
    return told


def _demanded(tools: Sequence[str], at_least: int) -> str:
    listed = ", ".join(tools)
    return f"at least {at_least} kinds of: {listed}" if at_least > 1 else listed

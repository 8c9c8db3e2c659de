"""Builds the answer document of `ask --json`, `batch` and the HTTP service, and its exit status.

The shape is versioned and stable; docs/answers.md describes every field.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.agents.answer import Answer, answer_in
from runtime.pipeline.run_terms import Priority, RunMode
from runtime.primitives.money import told_money
from runtime.run.envelope import BOUND_REASONS, Envelope, Interrupt, Request
from runtime.run.stage_view import handled_failures
from serve.answer_explanation import attempts, explanation

DOCUMENT_SCHEMA_VERSION = 1

EXIT_ANSWERED = 0
EXIT_FAILED = 1
EXIT_NOTHING_FOUND = 3
EXIT_CLARIFICATION = 4
EXIT_BOUND = 5

# How a run ends that raised a question and whose caller does not wait.
_QUESTION_REASONS = frozenset({"clarification_required", "confirmation_required"})

_CITATION_FIELDS = ("file", "start_line", "end_line", "symbol", "quote", "why")


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents one question. `repo` is an absolute path; `limits` may only lower the pipeline's bounds.

    `wait`: a run that raises a question waits for the answer instead of ending with it. `clarify`: someone can answer
    questions raised after exploration; otherwise the answer reports what was found. `priority`: orders runs that wait
    for admission. `user_id`: the principal that asks, made by `serve.principals`. `durable`: the run is continued by a
    later system, however long it had none; None: if it waits. `run_mode`: how the pipeline is to run; None: as it is
    configured. `mode`: the mode of its capability that it was asked in; `product`: who answers, for its document.
    `repo_name`: how its document calls the repository, in the place of the path.
    `task`: what a pipeline that does more than answer is to do, as plain data.
    """

    question: str
    repo: str
    pipeline: str
    session_id: str | None = None
    user_id: str = "local"
    id: str | None = None
    limits: dict[str, int] = {}
    deadline_s: float | None = None
    explain: bool = False
    wait: bool = False
    clarify: bool = False
    priority: Priority = "normal"
    durable: bool | None = None
    run_mode: RunMode | None = None
    mode: str | None = None
    product: str | None = None
    repo_name: str | None = None
    task: dict[str, Any] | None = None


def asked_in(request: Request) -> Ask:
    """Return the question that a run was started with, for resuming it."""
    return Ask(
        question=request.raw_input,
        repo=str(request.metadata.get("repo", "")),
        pipeline=request.pipeline,
        session_id=request.session_id,
        user_id=request.user_id,
        wait=request.wait,
        run_mode=request.run_mode,
        mode=request.metadata.get("mode"),
        product=request.metadata.get("product"),
        repo_name=request.metadata.get("repo_name"),
        task=request.metadata.get("task"),
    )


def document_of(ask: Ask, envelope: Envelope, reasoner: str) -> dict[str, Any]:
    """Return the answer document of a run that is over, or that waits for `interrupt`."""
    answer = answer_in(envelope.outputs, envelope.terminal_reason == "completed")
    repository = envelope.outputs.get("perception", {}).get("repository")
    commit = repository.get("commit") if isinstance(repository, dict) else None
    document: dict[str, Any] = {"schema_version": DOCUMENT_SCHEMA_VERSION}
    if ask.id is not None:
        document["id"] = ask.id
    document |= {
        "run_id": envelope.run_id,
        "question": ask.question,
        "repo": ask.repo_name or ask.repo,
        "commit": commit if isinstance(commit, str) else None,
        "answer": answer.final_response or _without_answer(envelope),
        "citations": [_citation(item) for item in answer.citations or []],
        "commits": answer.commits,
        "findings": [_finding(item) for item in answer.findings],
        "files_examined": answer.files_examined,
        "open_goals": [goal.text for goal in envelope.goals.unanswered]
        if answer.open_goals is None
        else answer.open_goals,
        "terminal_reason": envelope.terminal_reason,
        "bound": envelope.terminal_reason if envelope.terminal_reason in BOUND_REASONS else answer.bound,
        "terminal_detail": envelope.terminal_detail or answer.ended_because,
        "partial": envelope.terminal_reason != "completed" or answer.partial or answer.bound is not None,
        "reasoner": reasoner,
        "usage": _usage(envelope),
    }
    if answer.parts:
        document["parts"] = [_finding(item) for item in answer.parts]
    document |= {name: said for name, said in _trust(answer).items() if said is not None}
    document |= {name: given for name, given in (("mode", ask.mode), ("product", ask.product)) if given is not None}
    if isinstance(fix := envelope.outputs.get("report", {}).get("fix"), dict):
        document["fix"] = fix
    if answer.final_response and answer.citations is None:
        document["uncited"] = True
    if (meaning := _meaning(envelope)) is not None:
        document["meaning"] = meaning
    if (vectors := _vectors(repository)) is not None:
        document["vectors"] = vectors
    if failures := handled_failures(envelope.stages, envelope.history):
        document["failures"] = [{"stage": stage, "error": error} for stage, error in failures.items()]
        document["partial"] = True
    if reasoner != "rules":
        document["rules_took_over"] = _rules_took_over(envelope)
        if answer.model_unused:
            document |= {"model_unused": True, "partial": True}
        document["claims_dropped"] = answer.claims_dropped
        document["claims_struck"] = answer.claims_struck
    if envelope.interrupt is not None and envelope.lifecycle == "waiting":
        document["interrupt"] = interrupt_document(envelope.interrupt)
    if ask.explain:
        document["attempts"] = attempts(envelope)
        document["explanation"] = explanation(envelope, document["citations"])
    return document


def exit_status(document: dict[str, Any]) -> int:
    """Return 0 answered, 1 failed, 3 nothing found, 4 a person's answer is needed, or 5 ended by a bound."""
    reason = document["terminal_reason"]
    if reason is None or reason in _QUESTION_REASONS:
        return EXIT_CLARIFICATION
    if reason == "completed" and (document.get("failures") or document.get("model_unused")):
        return EXIT_FAILED
    if reason in BOUND_REASONS or (reason == "completed" and document.get("bound")):
        return EXIT_BOUND
    if reason != "completed":
        return EXIT_FAILED
    if document.get("status") == "not_found":
        return EXIT_NOTHING_FOUND
    is_answered = document["citations"] or document.get("commits") or document.get("uncited")
    return EXIT_ANSWERED if is_answered else EXIT_NOTHING_FOUND


def _trust(answer: Answer) -> dict[str, Any]:
    return {"status": answer.status, "confidence": answer.confidence}


def interrupt_document(interrupt: Interrupt) -> dict[str, Any]:
    """Return the fields that a person needs to answer a question of a run."""
    fields = ("id", "kind", "question", "message", "stage", "expires_at_ms", "data")
    return {field: getattr(interrupt, field) for field in fields}


def _without_answer(envelope: Envelope) -> str:
    is_open = envelope.lifecycle == "waiting" or envelope.terminal_reason in _QUESTION_REASONS
    if envelope.interrupt is not None and is_open:
        return envelope.interrupt.question
    if envelope.terminal_reason is None:
        return f"The run has no answer yet: it is {envelope.lifecycle}."
    detail = f" ({envelope.terminal_detail})" if envelope.terminal_detail else ""
    return f"The run ended without an answer: {envelope.terminal_reason}{detail}."


def _citation(item: dict[str, Any]) -> dict[str, Any]:
    return {field: item[field] for field in _CITATION_FIELDS if item.get(field) is not None}


def _meaning(envelope: Envelope) -> float | None:
    """Return the share of the pieces that searches could compare by meaning; None if they went by words alone."""
    share = envelope.outputs.get("execution", {}).get("meaning")
    return float(share) if isinstance(share, int | float) else None


def _vectors(repository: object) -> dict[str, int] | None:
    """Return how many of the pieces all searches of the run compared by meaning; None without vectors."""
    fixed = repository.get("vectors") if isinstance(repository, dict) else None
    counts = {name: fixed.get(name) for name in ("compared", "of")} if isinstance(fixed, dict) else {}
    are_counts = counts and all(isinstance(count, int) for count in counts.values())
    return {name: count for name, count in counts.items() if isinstance(count, int)} if are_counts else None


def _finding(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "citations": [_citation(citation) for citation in item.get("citations", [])]}


def _usage(envelope: Envelope) -> dict[str, Any]:
    usage = envelope.usage
    finished_at_ms = envelope.finished_at_ms or envelope.received_at_ms
    return {
        "llm_calls": usage.llm_calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "tool_calls": usage.tool_calls,
        "hops": usage.agent_hops,
        "stages": envelope.goals.rounds_finished,
        "duration_ms": finished_at_ms - envelope.received_at_ms,
        **({"cost": told_money(usage.cost_micro)} if usage.cost_micro else {}),
        **({"slow_stages": usage.slow_stages} if usage.slow_stages else {}),
    }


def _rules_took_over(envelope: Envelope) -> list[dict[str, Any]]:
    """Return agent, hop and reason of every visit in which rules replaced the model."""
    kept = [output.get("rules_took_over") for output in envelope.outputs.values()]
    given = [record for each in kept if isinstance(each, list) for record in each if _is_took_over(record)]
    by_hop = {(record["hop"], record["agent"]): record for record in given}
    return [by_hop[key] for key in sorted(by_hop)]


def _is_took_over(record: object) -> bool:
    """Return True for {agent, hop, why}; an output of another capability may have anything under that key."""
    expected = {"agent": str, "hop": int, "why": str}
    return isinstance(record, dict) and {name: type(value) for name, value in record.items()} == expected

"""What a stage's result does to its run: outputs, goals, policies, items of a fan-out, retries, error routes."""

from __future__ import annotations

import msgspec

from runtime.bounds import REASON_OF_BOUND, Blocked
from runtime.envelope import InterruptRequest, TerminalReason
from runtime.goals import apply_patch
from runtime.ids import StageName
from runtime.loop_detection import detect_loop, digest_of
from runtime.pipeline import AgentConfig
from runtime.supervision import flow
from runtime.supervision.events import FailureKind, StageFailed, StageSucceeded
from runtime.supervision.state import InFlight
from runtime.supervision.transitions import Turn, goals_summary

REASON_OF_FAILURE: dict[tuple[FailureKind, bool], TerminalReason] = {
    ("tool", True): "tool_failed_recoverably",
    ("tool", False): "tool_failed_fatally",
    ("model", True): "llm_failed_fatally",
    ("model", False): "llm_failed_fatally",
    ("timeout", True): "tool_failed_recoverably",
    ("timeout", False): "tool_failed_recoverably",
    ("budget", True): "internal_error",
    ("budget", False): "internal_error",
    ("internal", True): "internal_error",
    ("internal", False): "internal_error",
}

replace = msgspec.structs.replace


def succeeded(turn: Turn, entry: InFlight, payload: StageSucceeded) -> None:
    """Take a result, or make a failure of one that lacks what the pipeline requires of it."""
    agent = turn.config.stages[entry.stage]
    error = _unfit(turn, agent, payload)
    if error is not None:
        failed(turn, entry, StageFailed(payload.key, "internal", error, usage=payload.usage))
        return
    digest = digest_of(payload.output) if turn.config.loop_detection else ""
    turn.settle(entry, "success", payload.usage, digest=digest)
    if entry.stage in turn.fan_outs:
        _item_succeeded(turn, agent, entry, payload)
    else:
        turn.mark(agent.name, "success")
        _judged(turn, agent, payload)


def _unfit(turn: Turn, agent: AgentConfig, payload: StageSucceeded) -> str | None:
    missing = [field for field in agent.required_output_fields if field not in payload.output]
    if missing and payload.interrupt is None:
        return f"output of stage '{agent.name}' lacks the required fields {', '.join(missing)}"
    if payload.interrupt is not None and agent.name in turn.fan_outs:
        return f"stage '{agent.name}' raised a question for one item; items of a fan-out cannot wait for a person"
    return None


def _item_succeeded(turn: Turn, agent: AgentConfig, entry: InFlight, payload: StageSucceeded) -> None:
    """Keep an item's result; with the last one the stage is done, its results in the order of the items."""
    fan_out = turn.fan_outs[entry.stage]
    fan_out = replace(fan_out, results={**fan_out.results, entry.key.item: payload})
    turn.fan_outs[entry.stage] = fan_out
    if len(fan_out.results) < len(fan_out.items):
        flow.issue_next_item(turn, entry.stage)
        return
    del turn.fan_outs[entry.stage]
    in_order = [fan_out.results[index] for index in range(len(fan_out.items))]
    for result in in_order:
        _apply_goals(turn, result)
    turn.mark(agent.name, "success")
    whole = StageSucceeded(payload.key, {"items": [result.output for result in in_order]})
    _judged(turn, agent, whole)


def _judged(turn: Turn, agent: AgentConfig, payload: StageSucceeded) -> None:
    """Let a result take effect, unless a policy denies it or wants a person's word first."""
    verdict = payload.policy
    if verdict is None or verdict.decision == "approved" or turn.ending is not None:
        take_effect(turn, agent, payload)
    elif verdict.decision == "denied":
        turn.finish("denied_by_policy", f"stage '{agent.name}': {verdict.reason or 'denied'}")
    else:
        question = verdict.reason or f"May stage '{agent.name}' go ahead?"
        flow.ask(turn, InterruptRequest("confirmation", question), StageName(agent.name))
        turn.held = replace(turn.held, unapproved=payload)


def take_effect(turn: Turn, agent: AgentConfig, payload: StageSucceeded) -> None:
    """Store a result and go where it leads."""
    turn.keep_output(agent.key, payload.output)
    _apply_goals(turn, payload)
    if turn.ending is not None:
        turn.finish(turn.ending.reason, turn.ending.detail)
        return
    loop = detect_loop(turn.envelope.history, turn.config.loop_detection) if turn.config.loop_detection else None
    if loop is not None:
        flow.end_by_bound(turn, Blocked("loop_detected", loop.description), agent.name)
    elif payload.interrupt is not None:
        flow.ask(turn, payload.interrupt, StageName(agent.name))
        flow.advance(turn)
    else:
        flow.route(turn, agent, payload.output)


def _apply_goals(turn: Turn, payload: StageSucceeded) -> None:
    if payload.goals is not None:
        turn.envelope = replace(turn.envelope, goals=apply_patch(turn.envelope.goals, payload.goals))
        turn.emit("goals.changed", data=goals_summary(turn.envelope.goals))


def failed(turn: Turn, entry: InFlight, payload: StageFailed, unreported: bool = False) -> None:
    """Book a failed attempt; try again, end by a bound, or let the stage fail for good.

    `unreported`: the attempt was cut off, so what it was granted counts as spent.
    """
    agent = turn.config.stages[entry.stage]
    turn.settle(entry, "error", None if unreported else payload.usage, payload.error)
    if turn.ending is not None:
        turn.finish(turn.ending.reason, turn.ending.detail)
    elif payload.kind == "budget" and payload.bound is not None:
        flow.end_by_bound(turn, Blocked(REASON_OF_BOUND[payload.bound], payload.error), agent.name)
    elif entry.retries < agent.max_retries:
        turn.retry_later(entry)
    else:
        attempts = "1 attempt" if entry.key.attempt == 1 else f"{entry.key.attempt} attempts"
        turn.drop(agent.name, "failed")
        reason = REASON_OF_FAILURE[(payload.kind, payload.recoverable)]
        flow.fail(turn, agent, reason, f"stage '{agent.name}' failed after {attempts}: {payload.error}")


def stage_of(turn: Turn, payload: StageSucceeded) -> str:
    """The stage whose visit a held result belongs to."""
    return next(record.stage for record in turn.envelope.history if record.hop == payload.key.hop)

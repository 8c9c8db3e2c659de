"""Applies stage results to a run: outputs, goals, policies, fan-out items, retries and error routes."""

from __future__ import annotations

import msgspec

from runtime.pipeline.config import END, AgentConfig
from runtime.primitives.ids import StageName
from runtime.run.bounds import REASON_OF_BOUND, Blocked
from runtime.run.envelope import InterruptRequest, TerminalReason
from runtime.run.goals import GoalsPatch, apply_patch
from runtime.run.loop_detection import detect_loop, digest_of
from runtime.run.policy_verdict import PolicyVerdict
from runtime.supervision import flow
from runtime.supervision.events import FailureKind, StageFailed, StageSucceeded
from runtime.supervision.state import FanOut, InFlight, Question
from runtime.supervision.transitions import Transition, goals_summary

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


def succeeded(transition: Transition, entry: InFlight, payload: StageSucceeded) -> None:
    """Accept a result, or turn it into a failure when it lacks what the pipeline requires."""
    agent = transition.config.stages[entry.stage]
    error = _output_problem(transition, agent, payload)
    if error is not None:
        failed(transition, entry, StageFailed(payload.key, "internal", error, usage=payload.usage))
        return
    fan_out = transition.fan_outs.get(entry.stage)
    if fan_out is not None:
        fan_out = replace(fan_out, results={**fan_out.results, entry.key.item: payload})
        transition.fan_outs[entry.stage] = fan_out
    whole = payload if fan_out is None else _joined_result(fan_out, payload)
    digest = digest_of(whole.output) if whole is not None and transition.config.loop_detection else ""
    transition.settle(entry, "success", payload.usage, digest=digest)
    if whole is None:
        flow.issue_next_item(transition, entry.stage)
        return
    transition.fan_outs.pop(entry.stage, None)
    _apply_policy(transition, agent, whole)


def _output_problem(transition: Transition, agent: AgentConfig, payload: StageSucceeded) -> str | None:
    missing = [field for field in agent.required_output_fields if field not in payload.output]
    if missing and payload.interrupt is None:
        return f"output of stage '{agent.name}' lacks the required fields {', '.join(missing)}"
    if agent.has_policies and payload.policy is None:
        return f"stage '{agent.name}' has policies, but its result came without their verdict"
    if payload.interrupt is not None and agent.name in transition.fan_outs:
        return f"stage '{agent.name}' raised a question for one item; items of a fan-out cannot wait for a person"
    return None


def _joined_result(fan_out: FanOut, last: StageSucceeded) -> StageSucceeded | None:
    """Merge the results of a fan-out into one, in the order of its items; None while some are missing."""
    if len(fan_out.results) < len(fan_out.items):
        return None
    in_order = [fan_out.results[index] for index in range(len(fan_out.items))]
    return StageSucceeded(
        last.key,
        {"items": [result.output for result in in_order]},
        goals=_merged_patches([result.goals for result in in_order if result.goals is not None]),
        policy=_strictest([result.policy for result in in_order if result.policy is not None]),
    )


def _merged_patches(patches: list[GoalsPatch]) -> GoalsPatch | None:
    """Merge the goal patches of several items; where two change the same goal, the later item's wins."""
    if not patches:
        return None
    return GoalsPatch(
        refine={goal: text for patch in patches for goal, text in patch.refine.items()},
        statuses={goal: status for patch in patches for goal, status in patch.statuses.items()},
        drop=tuple(goal for patch in patches for goal in patch.drop),
        add=tuple(goal for patch in patches for goal in patch.add),
        finish_round=next((p.finish_round for p in reversed(patches) if p.finish_round is not None), None),
    )


def _strictest(verdicts: list[PolicyVerdict]) -> PolicyVerdict | None:
    """Return the strictest verdict: denied, to be confirmed, approved; the first such item's reason."""
    for decision in ("denied", "requires_confirmation", "approved"):
        for verdict in verdicts:
            if verdict.decision == decision:
                return verdict
    return None


def _apply_policy(transition: Transition, agent: AgentConfig, payload: StageSucceeded) -> None:
    """Let a result take effect, unless its policy denies it or requires confirmation.

    After a bound has ended the run nobody is asked, and a result without approval is dropped.
    """
    verdict = payload.policy
    if verdict is None or verdict.decision == "approved":
        take_effect(transition, agent, payload)
        return
    transition.mark(agent.name, "failed")
    if transition.ending is not None:
        transition.finish(transition.ending.reason, transition.ending.detail)
    elif verdict.decision == "denied":
        transition.finish("denied_by_policy", f"stage '{agent.name}': {verdict.reason or 'denied'}")
    else:
        request = InterruptRequest("confirmation", verdict.reason or f"May stage '{agent.name}' go ahead?")
        flow.ask(transition, Question(StageName(agent.name), request, unapproved=payload))
        flow.advance(transition)


def take_effect(transition: Transition, agent: AgentConfig, payload: StageSucceeded) -> None:
    """Store a result and follow its route."""
    transition.mark(agent.name, "success")
    transition.keep_output(agent.key, payload.output)
    _apply_goals(transition, payload)
    if transition.ending is not None:
        transition.finish(transition.ending.reason, transition.ending.detail)
        return
    loop = _closed_loop(transition, agent)
    if loop is not None:
        flow.end_by_bound(transition, loop, agent.name)
    elif payload.interrupt is not None:
        flow.ask(transition, Question(StageName(agent.name), payload.interrupt))
        flow.advance(transition)
    else:
        flow.route(transition, agent, payload.output)


def _closed_loop(transition: Transition, agent: AgentConfig) -> Blocked | None:
    thresholds = transition.config.loop_detection
    loop = detect_loop(transition.envelope.history, agent.name, thresholds) if thresholds else None
    return Blocked("loop_detected", loop.description) if loop is not None else None


def settle_instant(transition: Transition) -> None:
    """Settle the visits that were over at once, one after the other: each may lead to another."""
    while transition.instant and not transition.is_over:
        agent, key, error = transition.instant.pop(0)
        if error is None:
            take_effect(transition, agent, StageSucceeded(key, {"items": []}))
        else:
            flow.fail(transition, agent, "internal_error", error)


def _apply_goals(transition: Transition, payload: StageSucceeded) -> None:
    if payload.goals is not None:
        transition.envelope = replace(transition.envelope, goals=apply_patch(transition.envelope.goals, payload.goals))
        transition.emit("goals.changed", data=goals_summary(transition.envelope.goals))


def failed(transition: Transition, entry: InFlight, payload: StageFailed, unreported: bool = False) -> None:
    """Record a failed attempt; retry, end by a bound, or let the stage fail for good.

    `unreported`: the attempt was cut off, so its grant counts as spent.
    """
    agent = transition.config.stages[entry.stage]
    transition.settle(entry, "error", None if unreported else payload.usage, payload.error)
    is_refused_budget = payload.kind == "budget" and payload.bound is not None
    if transition.ending is None and not is_refused_budget and entry.retries < agent.max_retries:
        transition.retry_later(entry)
        return
    transition.drop(agent.name, "failed")
    if payload.bound is not None and is_refused_budget:
        flow.end_by_bound(transition, Blocked(REASON_OF_BOUND[payload.bound], payload.error), agent.name)
        return
    is_continued = transition.ending is None and agent.error_next not in {None, END}
    loop = _closed_loop(transition, agent) if is_continued else None
    if loop is not None:
        flow.end_by_bound(transition, loop, agent.name)
        return
    attempts = "1 attempt" if entry.key.attempt == 1 else f"{entry.key.attempt} attempts"
    reason = REASON_OF_FAILURE[(payload.kind, payload.recoverable)]
    error = f"stage '{agent.name}' failed after {attempts}: {payload.error}"
    flow.fail(transition, agent, reason, error, is_timeout=payload.kind == "timeout")

"""Decides which state and commands follow from one event. Pure, deterministic, total; it never raises.

An event that comes late, twice or out of place leaves the state as it is, with the reason in `Decision.ignored`.
Results are matched by stage key, so a duplicate changes nothing. The semantics are documented in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import seconds
from runtime.run.bounds import REASON_OF_BOUND, SOFT_LIMIT, Blocked, Grant, bounds_for, further_grant
from runtime.run.envelope import BOUND_REASONS, InterruptRequest, InterruptResponse
from runtime.run.interrupts import outcome, refusal
from runtime.supervision import flow, results
from runtime.supervision.client_data import AcceptedData, BoundWarnedData, StageStartedData, ToolCalledData
from runtime.supervision.commands import EVENT_FAMILIES
from runtime.supervision.events import (
    EMITTED_NAME,
    MAX_EMITTED,
    ActorLost,
    BudgetRequested,
    CancelRequested,
    Event,
    InterruptAnswered,
    LatencyPassed,
    PauseRequested,
    Payload,
    QuotaExhausted,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    StageEmitted,
    StageFailed,
    StageStarted,
    StageSucceeded,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.state import Decision, Ending, InFlight, Question, RunState
from runtime.supervision.transitions import DEADLINE_TIMER, SOFT_DEADLINE_TIMER, STAGE_TIMERS, Transition

MAX_REISSUES = 3
NOT_IN_FLIGHT = "no such stage is in flight"

replace = msgspec.structs.replace


def decide(config: PipelineConfig, state: RunState, event: Event) -> Decision:
    """Return the next state and the commands that carry it out."""
    if event.run_id != state.envelope.run_id:
        return Decision(state, ignored=f"the event is of another run, {event.run_id}")
    if state.envelope.lifecycle == "terminated":
        return Decision(state, ignored="the run is over")
    is_request = isinstance(event.payload, RunRequested)
    if is_request != (state.envelope.lifecycle == "new"):
        return Decision(state, ignored="the run was requested already" if is_request else "no such run was requested")
    if state.envelope.lifecycle == "blocked" and not _reaches_a_blocked_run(event.payload):
        return Decision(state, ignored="the run is blocked until there is room for it")
    request = event.payload.request if isinstance(event.payload, RunRequested) else state.envelope.request
    transition = Transition(config.in_run_mode(request.run_mode), state, event.at_ms)
    ignored = HANDLERS[type(event.payload)](transition, event.payload)
    if ignored is not None:
        return Decision(state, ignored=ignored)
    results.settle_instant(transition)
    flow.withdraw_moot_question(transition)
    transition.warn_of_bounds()
    return transition.decision()


def _reaches_a_blocked_run(payload: Payload) -> bool:
    """Return True for events that a blocked run accepts; none of its stages can start, report or time out."""
    if isinstance(payload, TimerFired):
        return not payload.timer_id.startswith(STAGE_TIMERS)
    return isinstance(payload, RunAdmitted | RunAdopted | CancelRequested)


def _on_run_requested(transition: Transition, payload: RunRequested) -> str | None:
    transition.envelope = replace(
        transition.envelope,
        request=payload.request,
        config_hash=payload.config_hash or transition.config.config_hash,
        received_at_ms=transition.at_ms,
        bounds=bounds_for(transition.config, payload.request, transition.at_ms),
        lifecycle="ready",
        schema_version=payload.schema_version,
    )
    transition.calls_models = payload.calls_models
    question = payload.request.raw_input[:500]
    transition.emit("run.accepted", data=AcceptedData(pipeline=transition.config.name, question=question))
    deadline_ms = transition.envelope.bounds.deadline_ms
    if deadline_ms is not None:
        transition.set_timer(DEADLINE_TIMER, deadline_ms)
        transition.set_timer(
            SOFT_DEADLINE_TIMER, transition.at_ms + round(SOFT_LIMIT * (deadline_ms - transition.at_ms))
        )
    if not payload.queued:
        flow.begin(transition)
    return None


def _on_run_admitted(transition: Transition, _payload: RunAdmitted) -> str | None:
    if transition.envelope.lifecycle == "blocked":
        transition.envelope = replace(transition.envelope, lifecycle="running")
        _reissue_in_flight(transition)
    elif transition.envelope.lifecycle != "ready":
        return "the run does not wait to be admitted"
    elif transition.has_begun:
        _resume(transition)
    else:
        flow.begin(transition)
    return None


def _on_run_adopted(transition: Transition, payload: RunAdopted) -> str | None:
    """Reissue stages and set timers again, because the previous owner's in-flight state is unknown.

    Without room for it, a run that was in progress is blocked until it is admitted. In a fork, everything that is still
    to come moves by the time since the last event that it has from its source; its open question is shown again, with
    the time at which it expires now.
    """
    transition.shift(payload.shift_ms)
    interrupt = transition.envelope.interrupt
    if payload.shift_ms and interrupt is not None and interrupt.status == "pending" and interrupt.expires_at_ms:
        transition.show_interrupt()
    transition.calls_models = payload.calls_models
    if payload.queued and transition.envelope.lifecycle == "running":
        transition.envelope = replace(transition.envelope, lifecycle="blocked")
    if transition.envelope.lifecycle != "blocked":
        _reissue_in_flight(transition)
    for timer_id, due_ms in list(transition.timers.items()):
        if not timer_id.startswith(STAGE_TIMERS):
            transition.set_timer(timer_id, due_ms)
    return None


def _reissue_in_flight(transition: Transition) -> None:
    for entry in list(transition.in_flight.values()):
        if entry.waiting_retry:
            retry = f"retry:{entry.key}"
            transition.set_timer(retry, transition.timers[retry])
        else:
            transition.settle(entry, "error", None, "its supervisor changed; the stage is issued again")
            transition.reissue(entry, reissues=entry.reissues)


def _of_stage_in_flight(
    handle: Callable[[Transition, InFlight, Any], str | None],
) -> Callable[[Transition, Any], str | None]:
    """Give a handler the stage that its event reports on; events of a stage that is not in flight are ignored."""

    def on_report(transition: Transition, payload: Any) -> str | None:
        entry = transition.in_flight.get(str(payload.key))
        if entry is None or entry.waiting_retry:
            return NOT_IN_FLIGHT
        return handle(transition, entry, payload)

    return on_report


@_of_stage_in_flight
def _on_stage_started(transition: Transition, entry: InFlight, payload: StageStarted) -> str | None:
    if entry.started:
        return "the stage has started already"
    transition.in_flight[str(entry.key)] = replace(entry, started=True)
    transition.emit("stage.started", entry, data=StageStartedData(attempt=entry.key.attempt))
    return None


@_of_stage_in_flight
def _on_tool_called(transition: Transition, entry: InFlight, payload: ToolCalled) -> str | None:
    made = 0 if payload.status == "denied" else 1
    transition.in_flight[str(entry.key)] = replace(entry, tool_calls=entry.tool_calls + made)
    data = ToolCalledData(tool=payload.tool, status=payload.status, duration_ms=payload.duration_ms)
    transition.emit("tool.called", entry, data=data)
    return None


@_of_stage_in_flight
def _on_stage_emitted(transition: Transition, entry: InFlight, payload: StageEmitted) -> str | None:
    """Show the n-th event of a visit once, whichever attempt made it first: a stage that is issued again repeats it."""
    if payload.number <= entry.emitted:
        return f"event {payload.number} of this visit was emitted already"
    capability = transition.config.capability_id
    if payload.number > MAX_EMITTED or capability in EVENT_FAMILIES or not EMITTED_NAME.fullmatch(payload.name):
        return "no capability may emit that event"
    transition.in_flight[str(entry.key)] = replace(entry, emitted=payload.number)
    transition.emit(f"{capability}.{payload.name}", entry, data=payload.data)
    return None


@_of_stage_in_flight
def _on_latency_passed(transition: Transition, entry: InFlight, payload: LatencyPassed) -> str | None:
    if entry.is_slow:
        return "the visit was warned of already"
    transition.in_flight[str(entry.key)] = replace(entry, is_slow=True)
    usage = transition.envelope.usage
    transition.envelope = replace(transition.envelope, usage=replace(usage, slow_stages=usage.slow_stages + 1))
    transition.emit("bound.warned", entry, data=BoundWarnedData(bound="latency_budget_ms", allowed=payload.budget_ms))
    return None


@_of_stage_in_flight
def _on_budget_requested(transition: Transition, entry: InFlight, payload: BudgetRequested) -> str | None:
    asked = Grant(payload.llm_calls if transition.ending is None else 0, payload.tool_calls, payload.tokens)
    transition.give(
        entry, further_grant(transition.envelope, (other.grant for other in transition.in_flight.values()), asked)
    )
    return None


@_of_stage_in_flight
def _on_stage_succeeded(transition: Transition, entry: InFlight, payload: StageSucceeded) -> str | None:
    results.succeeded(transition, entry, payload)
    return None


@_of_stage_in_flight
def _on_stage_failed(transition: Transition, entry: InFlight, payload: StageFailed) -> str | None:
    results.failed(transition, entry, payload)
    return None


def _on_timer_fired(transition: Transition, payload: TimerFired) -> str | None:
    due_ms = transition.timers.pop(payload.timer_id, None)
    if due_ms is None:
        return "no such timer is set"
    if payload.timer_id == DEADLINE_TIMER:
        after = seconds(due_ms - transition.envelope.received_at_ms)
        told = f"the run's deadline passed {after} after the run was accepted"
        _on_deadline(transition, Blocked("deadline_exceeded", told))
        return None
    if payload.timer_id == SOFT_DEADLINE_TIMER:
        transition.emit("bound.warned", data=BoundWarnedData(bound="deadline"))
        return None
    kind, _, key_text = payload.timer_id.partition(":")
    if kind == "interrupt":
        _on_expiry(transition, payload.queued)
        return None
    entry = transition.in_flight.get(key_text)
    if entry is None:
        return None
    if kind == "retry":
        transition.reissue(entry, retries=entry.retries + 1)
        return None
    transition.cancel_stage(entry)
    limit_s = transition.config.stages[entry.stage].timeout_s or transition.config.default_timeout_s
    error = f"stage '{entry.stage}' took longer than its timeout of {limit_s:g} s"
    results.failed(transition, entry, StageFailed(entry.key, "timeout", error, recoverable=True), unreported=True)
    return None


def _on_deadline(transition: Transition, blocked: Blocked) -> None:
    if transition.ending is not None:
        return  # the final stage is at work already and has its grace period
    if transition.envelope.lifecycle == "ready" and not transition.has_begun:
        transition.finish(blocked.reason, blocked.detail)
        return
    blocked_keys = set(transition.in_flight) if transition.envelope.lifecycle == "blocked" else set[str]()
    flow.end_by_bound(transition, blocked, None)
    if blocked_keys & set(transition.in_flight):
        _reissue_in_flight(transition)


def _on_expiry(transition: Transition, queued: bool) -> None:
    """Continue without an answer, or end the run, as the pipeline configures for that kind of question."""
    interrupt, question = transition.envelope.interrupt, flow.open_question(transition)
    if interrupt is None or question is None:
        return
    transition.close_interrupt("expired")
    needs_consent = question.unapproved is not None
    if transition.config.interrupt_expiry.get(interrupt.kind, "end") == "proceed" and not needs_consent:
        _resume_when_admitted(transition, queued)
    elif interrupt.kind == "resource_exhausted" and question.failure is not None:
        _on_denial(transition, question)
    else:
        transition.finish("interrupt_expired", f"nobody answered '{interrupt.question}' in time")


def _on_interrupt_answered(transition: Transition, payload: InterruptAnswered) -> str | None:
    interrupt = transition.envelope.interrupt
    asker_id = transition.envelope.request.user_id
    refused = refusal(interrupt, payload.interrupt_id, payload.user_id, asker_id, transition.at_ms)
    if interrupt is None or refused is not None:
        return refused
    question = flow.open_question(transition)
    if question is None:
        return f"interrupt {interrupt.id} is withdrawn: the stage that asked was cancelled"
    response: InterruptResponse = replace(payload.response, received_at_ms=transition.at_ms)
    transition.close_interrupt("resolved", response)
    if outcome(interrupt.kind, response) == "denied":
        _on_denial(transition, question)
    else:
        _resume_when_admitted(transition, payload.queued)
    return None


def _resume_when_admitted(transition: Transition, queued: bool) -> None:
    """Resume the run now, or once there is room for it; until then it keeps the settled question."""
    if queued:
        transition.envelope = replace(transition.envelope, lifecycle="ready")
    else:
        _resume(transition)


def _resume(transition: Transition) -> None:
    question = flow.stop_waiting(transition)
    if question is not None and question.stage is not None and question.unapproved is not None:
        results.take_effect(transition, transition.config.stages[question.stage], question.unapproved)
    elif question is not None:
        flow.resume(transition, question)
    flow.resume_held(transition)


def _on_denial(transition: Transition, question: Question) -> None:
    if question.failure is not None and question.failure.reason in BOUND_REASONS:
        flow.end_by_bound(transition, Blocked(question.failure.reason, question.failure.detail), None)
    elif question.failure is not None:
        transition.finish(question.failure.reason, question.failure.detail)
    else:
        transition.finish("denied_by_policy", f"the answer to '{question.request.question}' was no")


def _on_pause_requested(transition: Transition, payload: PauseRequested) -> str | None:
    if transition.ending is not None:
        return "a run that is about to end cannot be paused"
    if transition.envelope.lifecycle != "running":
        return f"a run that is {transition.envelope.lifecycle} cannot be paused"
    flow.ask(transition, Question(None, InterruptRequest("checkpoint", payload.reason or "paused")))
    return None


def _on_quota_exhausted(transition: Transition, payload: QuotaExhausted) -> str | None:
    """Ask a caller who waits how to proceed; without one, treat the quota like a bound of the run itself."""
    if transition.ending is not None or transition.envelope.lifecycle != "running":
        standing = "about to end" if transition.ending else transition.envelope.lifecycle
        return f"a run that is {standing} is not stopped by a quota"
    reason = REASON_OF_BOUND[payload.bound]
    if payload.of_run or not transition.envelope.request.wait:
        flow.end_by_bound(transition, Blocked(reason, payload.detail), None)
        return None
    request = InterruptRequest("resource_exhausted", f"{payload.detail}. Approve to go on when there is room again.")
    flow.ask(transition, Question(None, request, failure=Ending(reason, payload.detail, transition.at_ms)))
    return None


def _on_cancel_requested(transition: Transition, payload: CancelRequested) -> str | None:
    transition.drop_all()
    transition.finish("user_cancelled", payload.reason or None)
    return None


def _on_actor_lost(transition: Transition, payload: ActorLost) -> str | None:
    lost: list[InFlight] = [
        entry
        for entry in transition.in_flight.values()
        if entry.stage == payload.agent and not entry.waiting_retry and (not payload.keys or entry.key in payload.keys)
    ]
    if not lost:
        return "nothing of this run was in that agent's hands"
    for entry in lost:
        if transition.is_over or str(entry.key) not in transition.in_flight:
            continue
        if entry.reissues < MAX_REISSUES:
            transition.settle(entry, "error", None, "its process died; the stage is issued again")
            transition.reissue(entry, reissues=entry.reissues + 1)
        else:
            error = f"the process of agent '{entry.stage}' died {MAX_REISSUES + 1} times under it"
            results.failed(transition, entry, StageFailed(entry.key, "internal", error), unreported=True)
    return None


Handler = Callable[[Transition, Any], str | None]

HANDLERS: dict[type, Handler] = {
    RunRequested: cast(Handler, _on_run_requested),
    RunAdmitted: cast(Handler, _on_run_admitted),
    RunAdopted: cast(Handler, _on_run_adopted),
    StageStarted: _on_stage_started,
    ToolCalled: _on_tool_called,
    LatencyPassed: _on_latency_passed,
    StageEmitted: _on_stage_emitted,
    BudgetRequested: _on_budget_requested,
    StageSucceeded: _on_stage_succeeded,
    StageFailed: _on_stage_failed,
    TimerFired: cast(Handler, _on_timer_fired),
    InterruptAnswered: cast(Handler, _on_interrupt_answered),
    PauseRequested: cast(Handler, _on_pause_requested),
    QuotaExhausted: cast(Handler, _on_quota_exhausted),
    CancelRequested: cast(Handler, _on_cancel_requested),
    ActorLost: cast(Handler, _on_actor_lost),
}

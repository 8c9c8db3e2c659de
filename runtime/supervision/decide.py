"""`decide`: what follows from one event. Pure, deterministic, total; it never raises.

An event that comes late, twice or out of place leaves the state as it is and says why in `Decision.ignored`. Results
are matched by stage key, so a doubled one changes nothing. The semantics are written down in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from runtime.pipeline.config import PipelineConfig
from runtime.run.bounds import REASON_OF_BOUND, SOFT_LIMIT, Blocked, Grant, bounds_for, further_grant
from runtime.run.envelope import BOUND_REASONS, InterruptRequest, InterruptResponse
from runtime.run.interrupts import outcome, refusal
from runtime.supervision import flow, results
from runtime.supervision.events import (
    ActorLost,
    BudgetRequested,
    CancelRequested,
    Event,
    InterruptAnswered,
    PauseRequested,
    Payload,
    QuotaExhausted,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    StageFailed,
    StageStarted,
    StageSucceeded,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.state import Decision, Ending, InFlight, Question, RunState
from runtime.supervision.transitions import DEADLINE_TIMER, SOFT_DEADLINE_TIMER, STAGE_TIMERS, Turn

MAX_REISSUES = 3
NOT_IN_FLIGHT = "no such stage is in flight"

replace = msgspec.structs.replace


def decide(config: PipelineConfig, state: RunState, event: Event) -> Decision:
    """The next state and the commands that carry it out."""
    if event.run_id != state.envelope.run_id:
        return Decision(state, ignored=f"the event is of another run, {event.run_id}")
    if state.envelope.lifecycle == "terminated":
        return Decision(state, ignored="the run is over")
    is_request = isinstance(event.payload, RunRequested)
    if is_request != (state.envelope.lifecycle == "new"):
        return Decision(state, ignored="the run was requested already" if is_request else "no such run was requested")
    if state.envelope.lifecycle == "blocked" and not _reaches_a_blocked_run(event.payload):
        return Decision(state, ignored="the run is blocked until there is room for it")
    turn = Turn(config, state, event.at_ms)
    ignored = HANDLERS[type(event.payload)](turn, event.payload)
    if ignored is not None:
        return Decision(state, ignored=ignored)
    results.settle_instant(turn)
    flow.withdraw_pointless_question(turn)
    turn.warn_of_bounds()
    return turn.decision()


def _reaches_a_blocked_run(payload: Payload) -> bool:
    """Nothing of a blocked run is in anybody's hands, so no stage of it can start, report or time out."""
    if isinstance(payload, TimerFired):
        return not payload.timer_id.startswith(STAGE_TIMERS)
    return isinstance(payload, RunAdmitted | RunAdopted | CancelRequested)


def _on_run_requested(turn: Turn, payload: RunRequested) -> str | None:
    turn.envelope = replace(
        turn.envelope,
        request=payload.request,
        config_hash=payload.config_hash or turn.config.config_hash,
        received_at_ms=turn.at_ms,
        bounds=bounds_for(turn.config, payload.request, turn.at_ms),
        lifecycle="ready",
    )
    turn.emit("run.accepted", data={"pipeline": turn.config.name, "question": payload.request.raw_input[:500]})
    deadline_ms = turn.envelope.bounds.deadline_ms
    if deadline_ms is not None:
        turn.set_timer(DEADLINE_TIMER, deadline_ms)
        turn.set_timer(SOFT_DEADLINE_TIMER, turn.at_ms + round(SOFT_LIMIT * (deadline_ms - turn.at_ms)))
    if not payload.queued:
        flow.begin(turn)
    return None


def _on_run_admitted(turn: Turn, _payload: RunAdmitted) -> str | None:
    if turn.envelope.lifecycle == "blocked":
        turn.envelope = replace(turn.envelope, lifecycle="running")
        _issue_again(turn)
    elif turn.envelope.lifecycle != "ready":
        return "the run does not wait to be admitted"
    elif turn.has_begun:
        _go_on(turn)
    else:
        flow.begin(turn)
    return None


def _on_run_adopted(turn: Turn, payload: RunAdopted) -> str | None:
    """Who drove the run before may have lost anything: stages are issued again, timers are set again.

    Without room for it, a run that was under way is blocked until it is admitted.
    """
    if payload.queued and turn.envelope.lifecycle == "running":
        turn.envelope = replace(turn.envelope, lifecycle="blocked")
    if turn.envelope.lifecycle != "blocked":
        _issue_again(turn)
    for timer_id, due_ms in list(turn.timers.items()):
        if not timer_id.startswith(STAGE_TIMERS):
            turn.set_timer(timer_id, due_ms)
    return None


def _issue_again(turn: Turn) -> None:
    for entry in list(turn.in_flight.values()):
        if entry.waiting_retry:
            retry = f"retry:{entry.key}"
            turn.set_timer(retry, turn.timers[retry])
        else:
            turn.settle(entry, "error", None, "its supervisor changed; the stage is issued again")
            turn.reissue(entry, reissues=entry.reissues)


def _on_stage_started(turn: Turn, payload: StageStarted) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return NOT_IN_FLIGHT
    if entry.started:
        return "the stage has started already"
    turn.in_flight[str(entry.key)] = replace(entry, started=True)
    turn.emit("stage.started", entry, data={"attempt": entry.key.attempt})
    return None


def _on_tool_called(turn: Turn, payload: ToolCalled) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return NOT_IN_FLIGHT
    made = 0 if payload.status == "denied" else 1
    turn.in_flight[str(entry.key)] = replace(entry, tool_calls=entry.tool_calls + made)
    data = {"tool": payload.tool, "status": payload.status, "duration_ms": payload.duration_ms}
    turn.emit("tool.called", entry, data=data)
    return None


def _on_budget_requested(turn: Turn, payload: BudgetRequested) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return NOT_IN_FLIGHT
    asked = Grant(payload.llm_calls if turn.ending is None else 0, payload.tool_calls, payload.tokens)
    turn.give(entry, further_grant(turn.envelope, (other.grant for other in turn.in_flight.values()), asked))
    return None


def _on_stage_succeeded(turn: Turn, payload: StageSucceeded) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return NOT_IN_FLIGHT
    results.succeeded(turn, entry, payload)
    return None


def _on_stage_failed(turn: Turn, payload: StageFailed) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return NOT_IN_FLIGHT
    results.failed(turn, entry, payload)
    return None


def _on_timer_fired(turn: Turn, payload: TimerFired) -> str | None:
    due_ms = turn.timers.pop(payload.timer_id, None)
    if due_ms is None:
        return "no such timer is set"
    if payload.timer_id == DEADLINE_TIMER:
        _on_deadline(turn, Blocked("deadline_exceeded", f"the run's deadline passed at {due_ms} ms"))
        return None
    if payload.timer_id == SOFT_DEADLINE_TIMER:
        turn.emit("bound.warned", data={"bound": "deadline"})
        return None
    kind, _, key_text = payload.timer_id.partition(":")
    if kind == "interrupt":
        _on_expiry(turn, payload.queued)
        return None
    entry = turn.in_flight.get(key_text)
    if entry is None:
        return None
    if kind == "retry":
        turn.reissue(entry, retries=entry.retries + 1)
        return None
    turn.cancel_stage(entry)
    limit_s = turn.config.stages[entry.stage].timeout_s or turn.config.default_timeout_s
    error = f"stage '{entry.stage}' took longer than its timeout of {limit_s:g} s"
    results.failed(turn, entry, StageFailed(entry.key, "timeout", error, recoverable=True), unreported=True)
    return None


def _on_deadline(turn: Turn, blocked: Blocked) -> None:
    if turn.ending is not None:
        return  # the final stage, at work already, has its grace
    if turn.envelope.lifecycle == "ready" and not turn.has_begun:
        turn.finish(blocked.reason, blocked.detail)
        return
    in_nobodys_hands = set(turn.in_flight) if turn.envelope.lifecycle == "blocked" else set[str]()
    flow.end_by_bound(turn, blocked, None)
    if in_nobodys_hands & set(turn.in_flight):
        _issue_again(turn)


def _on_expiry(turn: Turn, queued: bool) -> None:
    """Nobody answered in time: go on without, or end, as the pipeline says for that kind of question."""
    interrupt, question = turn.envelope.interrupt, flow.asked(turn)
    if interrupt is None or question is None:
        return
    turn.close_interrupt("expired")
    needs_consent = question.unapproved is not None
    if turn.config.interrupt_expiry.get(interrupt.kind, "end") == "proceed" and not needs_consent:
        _go_on_when_admitted(turn, queued)
    elif interrupt.kind == "resource_exhausted" and question.failure is not None:
        _on_denial(turn, question)
    else:
        turn.finish("interrupt_expired", f"nobody answered '{interrupt.question}' in time")


def _on_interrupt_answered(turn: Turn, payload: InterruptAnswered) -> str | None:
    interrupt = turn.envelope.interrupt
    asker_id = turn.envelope.request.user_id
    refused = refusal(interrupt, payload.interrupt_id, payload.user_id, asker_id, turn.at_ms)
    if interrupt is None or refused is not None:
        return refused
    question = flow.asked(turn)
    if question is None:
        return f"interrupt {interrupt.id} is withdrawn: what asked it was called off"
    response: InterruptResponse = replace(payload.response, received_at_ms=turn.at_ms)
    turn.close_interrupt("resolved", response)
    if outcome(interrupt.kind, response) == "denied":
        _on_denial(turn, question)
    else:
        _go_on_when_admitted(turn, payload.queued)
    return None


def _go_on_when_admitted(turn: Turn, queued: bool) -> None:
    """The question is settled; the run goes on now, or when there is room for it: until then it keeps the question."""
    if queued:
        turn.envelope = replace(turn.envelope, lifecycle="ready")
    else:
        _go_on(turn)


def _go_on(turn: Turn) -> None:
    question = flow.stop_waiting(turn)
    if question is not None and question.stage is not None and question.unapproved is not None:
        results.take_effect(turn, turn.config.stages[question.stage], question.unapproved)
    elif question is not None:
        flow.go_on(turn, question)
    flow.take_up_held(turn)


def _on_denial(turn: Turn, question: Question) -> None:
    if question.failure is not None and question.failure.reason in BOUND_REASONS:
        flow.end_by_bound(turn, Blocked(question.failure.reason, question.failure.detail), None)
    elif question.failure is not None:
        turn.finish(question.failure.reason, question.failure.detail)
    else:
        turn.finish("denied_by_policy", f"the answer to '{question.request.question}' was no")


def _on_pause_requested(turn: Turn, payload: PauseRequested) -> str | None:
    if turn.ending is not None:
        return "a run that is about to end cannot be paused"
    if turn.envelope.lifecycle != "running":
        return f"a run that is {turn.envelope.lifecycle} cannot be paused"
    flow.ask(turn, Question(None, InterruptRequest("checkpoint", payload.reason or "paused")))
    return None


def _on_quota_exhausted(turn: Turn, payload: QuotaExhausted) -> str | None:
    """A caller who waits is asked what to do; for another one it is a bound like those of the run itself."""
    if turn.ending is not None or turn.envelope.lifecycle != "running":
        return f"a run that is {'about to end' if turn.ending else turn.envelope.lifecycle} is not stopped by a quota"
    reason = REASON_OF_BOUND[payload.bound]
    if not turn.envelope.request.wait:
        flow.end_by_bound(turn, Blocked(reason, payload.detail), None)
        return None
    request = InterruptRequest("resource_exhausted", f"{payload.detail}. Approve to go on when there is room again.")
    flow.ask(turn, Question(None, request, failure=Ending(reason, payload.detail, turn.at_ms)))
    return None


def _on_cancel_requested(turn: Turn, payload: CancelRequested) -> str | None:
    turn.drop_all()
    turn.finish("user_cancelled", payload.reason or None)
    return None


def _on_actor_lost(turn: Turn, payload: ActorLost) -> str | None:
    lost: list[InFlight] = [
        entry
        for entry in turn.in_flight.values()
        if entry.stage == payload.agent and not entry.waiting_retry and (not payload.keys or entry.key in payload.keys)
    ]
    if not lost:
        return "nothing of this run was in that agent's hands"
    for entry in lost:
        if turn.is_over or str(entry.key) not in turn.in_flight:
            continue
        if entry.reissues < MAX_REISSUES:
            turn.settle(entry, "error", None, "its process died; the stage is issued again")
            turn.reissue(entry, reissues=entry.reissues + 1)
        else:
            error = f"the process of agent '{entry.stage}' died {MAX_REISSUES + 1} times under it"
            results.failed(turn, entry, StageFailed(entry.key, "internal", error), unreported=True)
    return None


Handler = Callable[[Turn, Any], str | None]

HANDLERS: dict[type, Handler] = {
    RunRequested: cast(Handler, _on_run_requested),
    RunAdmitted: cast(Handler, _on_run_admitted),
    RunAdopted: cast(Handler, _on_run_adopted),
    StageStarted: cast(Handler, _on_stage_started),
    ToolCalled: cast(Handler, _on_tool_called),
    BudgetRequested: cast(Handler, _on_budget_requested),
    StageSucceeded: cast(Handler, _on_stage_succeeded),
    StageFailed: cast(Handler, _on_stage_failed),
    TimerFired: cast(Handler, _on_timer_fired),
    InterruptAnswered: cast(Handler, _on_interrupt_answered),
    PauseRequested: cast(Handler, _on_pause_requested),
    QuotaExhausted: cast(Handler, _on_quota_exhausted),
    CancelRequested: cast(Handler, _on_cancel_requested),
    ActorLost: cast(Handler, _on_actor_lost),
}

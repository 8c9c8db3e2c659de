"""`decide`: what follows from one event. Pure, deterministic, total; it never raises.

An event that comes late, twice or out of place leaves the state as it is and says why in `Decision.ignored`. Results
are matched by stage key, so a doubled one changes nothing. The semantics are written down in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from runtime.bounds import REASON_OF_BOUND, Blocked, bounds_for
from runtime.envelope import TerminalReason
from runtime.goals import apply_patch
from runtime.pipeline import END, INTERRUPT_TARGETS, AgentConfig, PipelineConfig
from runtime.routing import next_move
from runtime.supervision import transitions
from runtime.supervision.events import (
    ActorLost,
    CancelRequested,
    Event,
    FailureKind,
    RunRequested,
    StageFailed,
    StageStarted,
    StageSucceeded,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.state import Decision, Ending, InFlight, RunState
from runtime.supervision.transitions import DEADLINE_TIMER, Turn

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

MAX_REISSUES = 3

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
    turn = Turn(config, state, event.at_ms)
    ignored = HANDLERS[type(event.payload)](turn, event.payload)
    if ignored is not None:
        return Decision(state, ignored=ignored)
    turn.warn_of_bounds()
    return turn.decision()


def _on_run_requested(turn: Turn, payload: RunRequested) -> str | None:
    turn.envelope = replace(
        turn.envelope,
        request=payload.request,
        config_hash=turn.config.config_hash,
        received_at_ms=turn.at_ms,
        bounds=bounds_for(turn.config, payload.request, turn.at_ms),
        lifecycle="running",
    )
    turn.emit("run.accepted", data={"pipeline": turn.config.name, "question": payload.request.raw_input[:500]})
    if turn.envelope.bounds.deadline_ms is not None:
        turn.set_timer(DEADLINE_TIMER, turn.envelope.bounds.deadline_ms)
    turn.enter(turn.config.first_stage.name)
    return None


def _on_stage_started(turn: Turn, payload: StageStarted) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return "no such stage is in flight"
    if entry.started:
        return "the stage has started already"
    turn.in_flight[str(entry.key)] = replace(entry, started=True)
    turn.emit("stage.started", entry, data={"attempt": entry.key.attempt})
    return None


def _on_tool_called(turn: Turn, payload: ToolCalled) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return "no such stage is in flight"
    made = 0 if payload.status == "denied" else 1
    turn.in_flight[str(entry.key)] = replace(entry, tool_calls=entry.tool_calls + made)
    data = {"tool": payload.tool, "status": payload.status, "duration_ms": payload.duration_ms}
    turn.emit("tool.called", entry, data=data)
    return None


def _on_stage_succeeded(turn: Turn, payload: StageSucceeded) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return "no such stage is in flight"
    agent = turn.config.stages[entry.stage]
    missing = [field for field in agent.required_output_fields if field not in payload.output]
    if missing and payload.interrupt is None:
        error = f"output of stage '{agent.name}' lacks the required fields {', '.join(missing)}"
        return _on_stage_failed(turn, StageFailed(payload.key, "internal", error, usage=payload.usage))
    turn.settle(entry, "success", payload.usage)
    turn.envelope = replace(turn.envelope, outputs={**turn.envelope.outputs, agent.key: payload.output})
    if payload.goals is not None:
        turn.envelope = replace(turn.envelope, goals=apply_patch(turn.envelope.goals, payload.goals))
        turn.emit("goals.changed", data=transitions.goals_summary(turn.envelope.goals))
    if turn.ending is not None:
        turn.finish(turn.ending.reason, turn.ending.detail)
    elif payload.interrupt is not None:
        turn.envelope = replace(turn.envelope, interrupt=payload.interrupt)
        turn.raise_interrupt(payload.interrupt)
    else:
        _route(turn, agent, payload.output)
    return None


def _route(turn: Turn, agent: AgentConfig, output: dict[str, Any]) -> None:
    move = next_move(agent, output)
    if move.target == END:
        turn.clear(move.clear)
        turn.finish("completed", None)
    elif move.target in INTERRUPT_TARGETS:
        turn.clear(move.clear)
        turn.raise_interrupt(transitions.interrupt_from_output(move.target, output))
    else:
        turn.move(agent.name, move.target, move.clear)


def _on_stage_failed(turn: Turn, payload: StageFailed) -> str | None:
    entry = turn.in_flight.get(str(payload.key))
    if entry is None or entry.waiting_retry:
        return "no such stage is in flight"
    agent = turn.config.stages[entry.stage]
    turn.settle(entry, "error", payload.usage, payload.error)
    if turn.ending is not None:
        turn.finish(turn.ending.reason, turn.ending.detail)
    elif payload.kind == "budget" and payload.bound is not None:
        turn.end_by_bound(Blocked(REASON_OF_BOUND[payload.bound], payload.error), agent.name)
    elif entry.retries < agent.max_retries:
        turn.retry_later(entry)
    elif agent.error_next == END:
        turn.finish("completed", f"stage '{agent.name}' failed and its error route ends the run: {payload.error}")
    elif agent.error_next is not None:
        turn.move(agent.name, agent.error_next, ())
    else:
        reason = REASON_OF_FAILURE[(payload.kind, payload.recoverable)]
        attempts = "1 attempt" if entry.key.attempt == 1 else f"{entry.key.attempt} attempts"
        turn.finish(reason, f"stage '{agent.name}' failed after {attempts}: {payload.error}")
    return None


def _on_timer_fired(turn: Turn, payload: TimerFired) -> str | None:
    due_ms = turn.timers.pop(payload.timer_id, None)
    if due_ms is None:
        return "no such timer is set"
    if payload.timer_id == DEADLINE_TIMER:
        _on_deadline(turn, Blocked("deadline_exceeded", f"the run's deadline passed at {due_ms} ms"))
        return None
    kind, _, key_text = payload.timer_id.partition(":")
    entry = turn.in_flight.get(key_text)
    if entry is None:
        return None
    if kind == "retry":
        turn.reissue(entry, retries=entry.retries + 1)
        return None
    turn.cancel_stage(entry)
    limit_s = turn.config.stages[entry.stage].timeout_s or turn.config.default_timeout_s
    error = f"stage '{entry.stage}' took longer than its timeout of {limit_s:g} s"
    return _on_stage_failed(turn, StageFailed(entry.key, "timeout", error, recoverable=True))


def _on_deadline(turn: Turn, blocked: Blocked) -> None:
    """The final stage, if it is at work already, keeps its grace; anything else stops."""
    final = turn.config.final_stage
    if any(entry.stage == final and not entry.waiting_retry for entry in turn.in_flight.values()):
        turn.ending = turn.ending or Ending(blocked.reason, blocked.detail, turn.at_ms)
        return
    turn.cancel_all("cancelled")
    turn.end_by_bound(blocked, None)


def _on_cancel_requested(turn: Turn, payload: CancelRequested) -> str | None:
    turn.cancel_all("cancelled")
    turn.finish("user_cancelled", payload.reason or None)
    return None


def _on_actor_lost(turn: Turn, payload: ActorLost) -> str | None:
    lost: list[InFlight] = [
        entry for entry in turn.in_flight.values() if entry.stage == payload.agent and not entry.waiting_retry
    ]
    if not lost:
        return "nothing of this run was in that agent's hands"
    for entry in lost:
        if entry.reissues < MAX_REISSUES:
            turn.settle(entry, "error", transitions.NO_USAGE, "its process died; the stage is issued again")
            turn.reissue(entry, reissues=entry.reissues + 1)
        else:
            error = f"the process of agent '{entry.stage}' died {MAX_REISSUES + 1} times under it"
            _on_stage_failed(turn, StageFailed(entry.key, "internal", error))
    return None


Handler = Callable[[Turn, Any], str | None]

HANDLERS: dict[type, Handler] = {
    RunRequested: cast(Handler, _on_run_requested),
    StageStarted: cast(Handler, _on_stage_started),
    ToolCalled: cast(Handler, _on_tool_called),
    StageSucceeded: cast(Handler, _on_stage_succeeded),
    StageFailed: cast(Handler, _on_stage_failed),
    TimerFired: cast(Handler, _on_timer_fired),
    CancelRequested: cast(Handler, _on_cancel_requested),
    ActorLost: cast(Handler, _on_actor_lost),
}

"""Projects a run's log onto events for people and programs: actor, time, kind and payload.

Nothing is recorded twice: this is a view of the run's log, in its order. One entry of the log may become several
events, such as a result that changes the goals, took model calls and ended the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.goals import GoalsPatch
from runtime.supervision.commands import Finish, RunStage
from runtime.supervision.events import (
    ActorLost,
    BudgetRequested,
    CancelRequested,
    Event,
    InterruptAnswered,
    LatencyPassed,
    PauseRequested,
    QuotaExhausted,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    StageEmitted,
    StageFailed,
    StageStarted,
    StageSucceeded,
    StageUsage,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.replay import decisions
from runtime.supervision.state import Decision, RunState

LoggedKind = Literal[
    "request",
    "stage_transition",
    "tool_call",
    "llm_call",
    "goal_update",
    "interrupt",
    "error",
    "control",
    "response",
]

Entry = tuple[LoggedKind, dict[str, Any]]


class LoggedEvent(msgspec.Struct, frozen=True):
    """Describes one event of a run. `event_id` is unique; the part before its dot is the position in the run's log.

    `agent`: the stage that caused it; None for callers, timers and the supervisor. `envelope_id`: the run.
    """

    event_id: str
    timestamp_ms: int
    event_type: LoggedKind
    agent: str | None
    payload: dict[str, Any]
    envelope_id: RunId


def event_log(config: PipelineConfig, events: Iterable[Event]) -> Iterator[LoggedEvent]:
    """Yield the events of a run in order; `events` is its log from the beginning."""
    for event, before, decision in decisions(config, events):
        agent = _agent(before, event)
        entries = [*_ENTRIES_OF[type(event.payload)](event.payload), *_consequences(before, decision)]
        for number, (kind, payload) in enumerate(entries, 1):
            event_id = f"{event.run_id}:{event.seq}.{number}"
            whose = None if kind in {"response", "request"} else payload.pop("agent", agent)
            yield LoggedEvent(event_id, event.at_ms, kind, whose, payload, event.run_id)


def _agent(before: RunState, event: Event) -> str | None:
    """Return the stage that reported; None for late reports, and for events that no stage reported."""
    key = getattr(event.payload, "key", None)
    entry = before.in_flight.get(str(key)) if key is not None else None
    return entry.stage if entry is not None else None


def _consequences(before: RunState, decision: Decision) -> Iterator[Entry]:
    after = decision.state
    for command in decision.commands:
        if isinstance(command, RunStage):
            key = command.key
            yield "stage_transition", {"agent": command.stage, "to": "issued", "visit": key.hop, "attempt": key.attempt}
    asked = after.envelope.interrupt
    if asked is not None and (before.envelope.interrupt is None or before.envelope.interrupt.id != asked.id):
        yield "interrupt", {"id": asked.id, "kind": asked.kind, "question": asked.question}
    if any(isinstance(command, Finish) for command in decision.commands):
        ended = after.envelope
        yield "response", {"terminal_reason": ended.terminal_reason, "detail": ended.terminal_detail}


def _requested(payload: RunRequested) -> dict[str, Any]:
    request = payload.request
    named = {"run_mode": request.run_mode} if request.run_mode is not None else {}
    return {"pipeline": request.pipeline, "raw_input": request.raw_input, **named}


def _started(_: StageStarted) -> list[Entry]:
    return [("stage_transition", {"to": "started"})]


def _succeeded(payload: StageSucceeded) -> list[Entry]:
    entries: list[Entry] = [*_model_calls(payload.usage)]
    if payload.goals is not None and payload.goals != GoalsPatch():
        entries.append(("goal_update", _plain(payload.goals)))
    usage = _plain(payload.usage)
    return [*entries, ("stage_transition", {"to": "succeeded", "gave": sorted(payload.output), "usage": usage})]


def _failed(payload: StageFailed) -> list[Entry]:
    failure = {"kind": payload.kind, "error": payload.error, "recoverable": payload.recoverable}
    return [*_model_calls(payload.usage), ("error", failure), ("stage_transition", {"to": "failed"})]


def _model_calls(usage: StageUsage) -> list[Entry]:
    if not usage.llm_calls:
        return []
    told = {"calls": usage.llm_calls, "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    return [("llm_call", told | ({"cost_micro": usage.cost_micro} if usage.cost_micro else {}))]


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.msgpack.decode(msgspec.msgpack.encode(value))  # as on the wire: tuples become lists
    return plain


def _entry_with(kind: LoggedKind, what: str, *fields: str) -> Callable[[Any], list[Entry]]:
    """Return a function that makes one entry of that kind, with those fields of the payload."""

    def entries(payload: Any) -> list[Entry]:
        return [(kind, {"what": what, **{name: getattr(payload, name) for name in fields}})]

    return entries


_ENTRIES_OF: dict[type, Callable[[Any], list[Entry]]] = {
    RunRequested: lambda payload: [("request", _requested(payload))],
    StageStarted: _started,
    StageSucceeded: _succeeded,
    StageFailed: _failed,
    ToolCalled: lambda payload: [
        ("tool_call", {"tool": payload.tool, "status": payload.status, "duration_ms": payload.duration_ms})
    ],
    LatencyPassed: _entry_with("control", "latency_passed", "budget_ms"),
    StageEmitted: _entry_with("control", "emitted", "name", "number", "data"),
    BudgetRequested: _entry_with("control", "budget_requested", "llm_calls", "tool_calls", "tokens"),
    InterruptAnswered: lambda payload: [
        ("interrupt", {"id": payload.interrupt_id, "answered_by": payload.user_id, **_plain(payload.response)})
    ],
    RunAdmitted: _entry_with("control", "admitted"),
    RunAdopted: _entry_with("control", "adopted", "reason"),
    PauseRequested: _entry_with("control", "pause_requested", "reason"),
    CancelRequested: _entry_with("control", "cancel_requested", "reason"),
    QuotaExhausted: _entry_with("error", "quota_exhausted", "bound", "detail"),
    TimerFired: _entry_with("control", "timer_fired", "timer_id"),
    ActorLost: lambda payload: [("error", {"what": "agent_lost", "agent": payload.agent})],
}

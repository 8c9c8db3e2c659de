"""Replays a run's log: derives its state, its client events, and the reason for each step.

State is the fold of the log: the same events give the same state, so all of these can be derived at any time, from the
log and the pipeline alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import StageName
from runtime.run.routing import next_move
from runtime.supervision.commands import ClientEvent, Emit, Finish, RunStage
from runtime.supervision.decide import decide
from runtime.supervision.events import (
    ActorLost,
    CancelRequested,
    Event,
    InterruptAnswered,
    PauseRequested,
    QuotaExhausted,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    StageFailed,
    StageSucceeded,
    TimerFired,
)
from runtime.supervision.state import Decision, FanOut, RunState, new_state


class Reason(msgspec.Struct, frozen=True):
    """Explains one step of a run: the event at `seq`, and its consequences."""

    seq: int
    at_ms: int
    event: str
    stage: str | None
    what: str
    why: str


def decisions(
    config: PipelineConfig, events: Iterable[Event], state: RunState | None = None
) -> Iterator[tuple[Event, RunState, Decision]]:
    """Yield each event with the state before it and its decision, from `state`, or from a log that begins at 1."""
    for event in events:
        before = state or new_state(event.run_id)
        decision = decide(config, before, event)
        yield event, before, decision
        state = decision.state


def fold(config: PipelineConfig, events: Sequence[Event]) -> RunState:
    """Return the state after all of `events`, of which there is at least one."""
    *_, (_, _, last) = decisions(config, events)
    return last.state


def client_events_of(config: PipelineConfig, events: Iterable[Event]) -> Iterator[ClientEvent]:
    """Yield the events that callers saw of a run."""
    for _, _, decision in decisions(config, events):
        yield from (command.event for command in decision.commands if isinstance(command, Emit))


def explain(config: PipelineConfig, events: Sequence[Event]) -> list[Reason]:
    """Return the chain of decisions behind a run's state, one entry for each event with consequences."""
    reasons = []
    for event, before, decision in decisions(config, events):
        what = _consequences(before, decision)
        if what:
            name = str(event.payload.__struct_config__.tag)
            why = _why(config, before, event, decision.state)
            reasons.append(Reason(event.seq, event.at_ms, name, _stage_of(before, event), "; ".join(what), why))
    return reasons


def _consequences(before: RunState, decision: Decision) -> list[str]:
    """Return the consequences of an event in few words; empty when there are none."""
    after = decision.state
    what = []
    if after.ending is not None and before.ending is None:
        what.append(f"the run is at its limit: {after.ending.detail}")
    for command in decision.commands:
        if isinstance(command, RunStage):
            item = f" for item {command.key.item + 1}" if command.stage in after.fan_outs else ""
            what.append(f"stage '{command.stage}' was told to run{item}")
        elif isinstance(command, Emit) and command.event.type == "interrupt.raised":
            if after.envelope.lifecycle == "waiting":
                what.append(f"the run waits for an answer: {command.event.data['question']}")
        elif isinstance(command, Emit) and command.event.type == "interrupt.resolved":
            if command.event.data["status"] == "cancelled" and after.envelope.lifecycle in {"waiting", "ready"}:
                what.append("the open question was withdrawn, because the stage that asked was cancelled")
        elif isinstance(command, Finish):
            detail = after.envelope.terminal_detail
            what.append(f"the run ended: {command.reason}" + (f" ({detail})" if detail else ""))
    for key, entry in after.in_flight.items():
        if entry.waiting_retry and not (key in before.in_flight and before.in_flight[key].waiting_retry):
            what.append(f"stage '{entry.stage}' is tried again after a pause")
    return what


def _stage_of(before: RunState, event: Event) -> StageName | None:
    key = getattr(event.payload, "key", None)
    entry = before.in_flight.get(str(key)) if key is not None else None
    return entry.stage if entry else None


def _why(config: PipelineConfig, before: RunState, event: Event, after: RunState) -> str:
    payload = event.payload
    stage = _stage_of(before, event)
    if isinstance(payload, StageSucceeded) and stage is not None:
        return _why_after_success(config, before, stage, payload, after)
    if isinstance(payload, StageFailed):
        return f"'{stage}' failed ({payload.kind}): {payload.error}"
    if isinstance(payload, TimerFired):
        return _why_after_timer(before, payload.timer_id)
    if isinstance(payload, InterruptAnswered):
        return _why_after_answer(before, payload)
    explanation = _WHY.get(type(payload))
    return explanation(payload) if explanation else str(payload.__struct_config__.tag).replace("_", " ")


def _why_after_success(
    config: PipelineConfig, before: RunState, stage: StageName, payload: StageSucceeded, after: RunState
) -> str:
    """Return the reason for the next step after a stage's result: the first of these that applies."""
    record = after.envelope.history[len(before.envelope.history)]
    fan_out = before.fan_outs.get(stage)
    if record.status == "error":
        return f"'{stage}' failed (internal): {record.error}"
    if fan_out is not None and len(fan_out.results) + 1 < len(fan_out.items):
        return f"'{stage}' is done with item {payload.key.item + 1} of {len(fan_out.items)}"
    verdicts = {part.policy.decision for part in _parts(fan_out, payload) if part.policy is not None}
    if "denied" in verdicts:
        return f"the policy of '{stage}' denied its result"
    if "requires_confirmation" in verdicts:
        return f"the policy of '{stage}' wants a person's word before its result takes effect"
    if before.ending is not None:
        return f"'{stage}' gave the answer at the limit ({before.ending.detail})"
    if _ended_by_loop(after):
        return f"'{stage}' succeeded, and does again what it has done before"
    if payload.interrupt is not None:
        return f"'{stage}' asks: {payload.interrupt.question}"
    output = payload.output if fan_out is None else {"items": [part.output for part in _parts(fan_out, payload)]}
    return _why_routed(config, stage, output)


def _ended_by_loop(after: RunState) -> bool:
    reason = after.ending.reason if after.ending is not None else after.envelope.terminal_reason
    return reason == "loop_detected"


def _parts(fan_out: FanOut | None, last: StageSucceeded) -> list[StageSucceeded]:
    """Return a result with those of the other items of its fan-out, in the order of the items."""
    results = {**(fan_out.results if fan_out else {}), last.key.item: last}
    return [results[index] for index in sorted(results)]


def _why_routed(config: PipelineConfig, stage: StageName, output: dict[str, Any]) -> str:
    agent = config.stages[stage]
    move = next_move(agent, output)
    if move.rule is not None:
        rule = agent.routing_rules[move.rule]
        found = f"rule {move.rule + 1} matched: {rule.condition} = {rule.value!r} leads to '{move.target}'"
        return f"'{stage}' succeeded; {found}"
    if config.is_parallel and agent.default_next is None:
        return f"'{stage}' succeeded and routes nowhere; what requires it may start"
    return f"'{stage}' succeeded; no rule matched, so its default is '{move.target}'"


def _why_after_timer(before: RunState, timer_id: str) -> str:
    kind, _, key = timer_id.partition(":")
    entry = before.in_flight.get(key)
    if kind == "timeout" and entry is not None:
        return f"'{entry.stage}' took longer than its timeout"
    if kind == "retry" and entry is not None:
        return f"the pause before the next attempt of '{entry.stage}' is over"
    if kind == "interrupt" and before.envelope.interrupt is not None:
        return f"nobody answered in time: {before.envelope.interrupt.question}"
    return _TIMERS.get(kind, "timer fired")


_TIMERS = {
    "deadline": "the run's deadline passed",
    "soft_deadline": "80 % of the time until the run's deadline have passed",
}


def _why_after_answer(before: RunState, payload: InterruptAnswered) -> str:
    response, interrupt = payload.response, before.envelope.interrupt
    answer = response.decision or {True: "yes", False: "no", None: response.text}[response.approved]
    return f"'{payload.user_id}' answered '{interrupt.question if interrupt else ''}': {answer or 'go on'}"


def _with_reason(text: str) -> Callable[[Any], str]:
    return lambda payload: f"{text}: {payload.reason}" if payload.reason else text


_WHY: dict[type, Callable[[Any], str]] = {
    RunRequested: lambda payload: "a caller asked" + ("; the run waits to be admitted" if payload.queued else ""),
    RunAdmitted: lambda payload: "there was room for the run",
    RunAdopted: _with_reason("a supervisor took the run up"),
    PauseRequested: _with_reason("a caller wanted the run to hold"),
    QuotaExhausted: lambda payload: payload.detail,
    CancelRequested: _with_reason("a caller wanted the run to stop"),
    ActorLost: lambda payload: f"the process of agent '{payload.agent}' died",
}

"""A run's log, read again: its state, what callers saw, and why each thing happened.

State is the fold of the log: the same events give the same state, so any of these can be had at any time, from the log
and the pipeline alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from runtime.ids import RunId, StageKey
from runtime.pipeline import PipelineConfig
from runtime.routing import next_move
from runtime.supervision.commands import ClientEvent, Emit, Finish, RunStage
from runtime.supervision.decide import decide
from runtime.supervision.events import Event, StageFailed, StageSucceeded
from runtime.supervision.state import Decision, RunState, new_state


class Reason(msgspec.Struct, frozen=True):
    """One step of a run: what happened at `seq`, and what followed from it."""

    seq: int
    at_ms: int
    event: str
    stage: str | None
    what: str
    why: str


def decisions(config: PipelineConfig, events: Iterable[Event]) -> Iterator[tuple[Event, RunState, Decision]]:
    """Each event with the state before it and the decision on it, from a log that begins at 1."""
    state: RunState | None = None
    for event in events:
        before = state or new_state(event.run_id)
        decision = decide(config, before, event)
        yield event, before, decision
        state = decision.state


def fold(config: PipelineConfig, events: Sequence[Event]) -> RunState:
    """The state after all of `events`, of which there is at least one."""
    *_, (_, _, last) = decisions(config, events)
    return last.state


def shown(config: PipelineConfig, events: Iterable[Event]) -> Iterator[ClientEvent]:
    """What callers saw of a run."""
    for _, _, decision in decisions(config, events):
        yield from (command.event for command in decision.commands if isinstance(command, Emit))


def renamed(event: Event, run_id: RunId) -> Event:
    """The same event as one of another run: keys, timers and interrupts carry the id of their run, too."""
    changes: dict[str, Any] = {}
    key = getattr(event.payload, "key", None)
    if isinstance(key, StageKey):
        changes["key"] = msgspec.structs.replace(key, run_id=run_id)
    for field in ("timer_id", "interrupt_id"):
        if hasattr(event.payload, field):
            changes[field] = getattr(event.payload, field).replace(event.run_id, run_id)
    return Event(run_id, event.seq, event.at_ms, msgspec.structs.replace(event.payload, **changes))


def explain(config: PipelineConfig, events: Sequence[Event]) -> list[Reason]:
    """The chain of decisions that led a run to where it is, one line for each event from which something followed."""
    reasons = []
    for event, before, decision in decisions(config, events):
        issued = [command for command in decision.commands if isinstance(command, RunStage)]
        ended = next((command for command in decision.commands if isinstance(command, Finish)), None)
        if not issued and ended is None:
            continue
        what = [f"stage '{command.stage}' was told to run" for command in issued]
        if ended is not None:
            detail = decision.state.envelope.terminal_detail
            what.append(f"the run ended: {ended.reason}" + (f" ({detail})" if detail else ""))
        name = str(event.payload.__struct_config__.tag)
        reasons.append(
            Reason(event.seq, event.at_ms, name, _stage(before, event), "; ".join(what), _why(config, before, event))
        )
    return reasons


def _stage(before: RunState, event: Event) -> str | None:
    key = getattr(event.payload, "key", None)
    entry = before.in_flight.get(str(key)) if key is not None else None
    return str(entry.stage) if entry else None


def _why(config: PipelineConfig, before: RunState, event: Event) -> str:
    stage = _stage(before, event)
    payload = event.payload
    if isinstance(payload, StageFailed):
        return f"'{stage}' failed ({payload.kind}): {payload.error}"
    if not isinstance(payload, StageSucceeded) or stage is None:
        return str(payload.__struct_config__.tag).replace("_", " ")
    if before.ending is not None:
        return f"'{stage}' gave the answer at the limit ({before.ending.detail})"
    if payload.interrupt is not None:
        return f"'{stage}' asks: {payload.interrupt.question}"
    agent = config.stages[stage]
    move = next_move(agent, payload.output)
    if move.rule is None:
        return f"'{stage}' succeeded; no rule matched, so its default is '{move.target}'"
    rule = agent.routing_rules[move.rule]
    return (
        f"'{stage}' succeeded; rule {move.rule + 1} matched: {rule.condition} = {rule.value!r} leads to '{move.target}'"
    )

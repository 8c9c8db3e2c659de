"""Folds the events of a run into counts for metrics.

Pure: the same events give the same counts, whichever process drives the run. Values of labels that pipelines and models
choose are bounded where they are added up (`runtime.hosting.run_meter`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from runtime.pipeline.config import PipelineConfig, StageMeasures
from runtime.primitives.ids import StageName
from runtime.primitives.metrics import (
    CONFIDENCE,
    DECISIONS,
    HOPS,
    ISSUES,
    REPORTS,
    REQUEST_S,
    REQUESTS,
    RETRIES,
    RETRY_REASONS,
    SLOW_STAGES,
    STAGE_S,
    TOOL_CALLS,
    CounterMetric,
    HistogramMetric,
)
from runtime.run.envelope import Usage
from runtime.supervision.commands import Command, RunStage, SetTimer
from runtime.supervision.events import ActorLost, Event, Payload, RunAdopted, StageFailed, StageSucceeded, TimerFired
from runtime.supervision.state import Decision, RunState
from runtime.tools.result import USABLE

# The strategy of an attempt that was not made.
_SKIPPED = "skipped"
_RETRY_TIMER = "retry:"
# Events of processes that are gone, after which their stages are issued again.
_LOSSES = (ActorLost, RunAdopted)
_REASONS: Mapping[type, str] = {TimerFired: "timeout", ActorLost: "process_lost", RunAdopted: "supervisor_lost"}
# A field that claims more of one kind was not counted by a check.
MOST_OF_ONE = 1_000_000


# What is added to a counter, or observed in a histogram, under these values of its labels.
Count = tuple[CounterMetric | HistogramMetric, float, tuple[str, ...]]


def counts_of(config: PipelineConfig, before: RunState, event: Event, decision: Decision) -> list[Count]:
    """Return what an event of a run adds to the metrics; `before`: the state that it was decided on.

    Every event of every run passes here: most add nothing, and are to cost next to nothing.
    """
    then, now = before.envelope, decision.state.envelope
    found: list[Count] = []
    if now.usage is not then.usage:
        _spent(then.usage, now.usage, found)
    may_repeat = type(event.payload) in _LOSSES
    if now.history is not then.history:
        for record in now.history[len(then.history) :]:
            found.append((STAGE_S, record.duration_ms / 1000, (record.stage, record.status)))
            may_repeat = may_repeat or record.status == "error"
    if may_repeat:
        found += _repeated(before, event.payload, decision.commands)
    if config.measured_stages and type(event.payload) is StageSucceeded:
        found += _of_output(config, before, event.payload)
    if now.lifecycle == "terminated" and then.lifecycle != "terminated":
        found.append((REQUESTS, 1, (str(now.terminal_reason),)))
        found.append((REQUEST_S, max(0, event.at_ms - now.received_at_ms) / 1000, ()))
    return found


def _spent(then: Usage, now: Usage, found: list[Count]) -> None:
    if now.agent_hops != then.agent_hops:
        found.append((HOPS, now.agent_hops - then.agent_hops, ()))
    if now.tool_calls != then.tool_calls:
        found.append((TOOL_CALLS, now.tool_calls - then.tool_calls, ()))
    if now.slow_stages != then.slow_stages:
        found.append((SLOW_STAGES, now.slow_stages - then.slow_stages, ()))


def _repeated(before: RunState, payload: Payload, commands: tuple[Command, ...]) -> Iterator[Count]:
    """Count the stages that commands repeat, after a failure or because a process or the supervisor was lost."""
    for command in commands:
        stage: StageName | None = None
        if type(command) is SetTimer and command.timer_id.startswith(_RETRY_TIMER):
            entry = before.in_flight.get(command.timer_id.removeprefix(_RETRY_TIMER))
            stage = None if entry is None else entry.stage
        elif type(command) is RunStage and command.key.attempt > 1 and type(payload) in _LOSSES:
            stage = command.stage
        if stage is not None:
            yield RETRIES, 1, (stage, "stage")
            yield RETRY_REASONS, 1, (_reason(payload),)


def _reason(payload: Payload) -> str:
    """Return why an attempt is repeated: the kind of its failure, or what was lost."""
    return payload.kind if isinstance(payload, StageFailed) else _REASONS.get(type(payload), "internal")


def _of_output(config: PipelineConfig, before: RunState, payload: StageSucceeded) -> Iterator[Count]:
    """Count the fields of an output that the pipeline names; outputs of attempts that no longer count are left out."""
    entry = before.in_flight.get(str(payload.key))
    measures = None if entry is None else config.measured_stages.get(entry.stage)
    if entry is None or measures is None:
        return
    output = payload.output
    verdict, confidence = _field(output, measures.verdict), _field(output, measures.confidence)
    if isinstance(verdict, str) and verdict:
        yield DECISIONS, 1, (verdict,)
    if isinstance(confidence, int | float) and not isinstance(confidence, bool) and math.isfinite(confidence):
        yield CONFIDENCE, min(max(float(confidence), 0.0), 1.0), ()
    yield from _of_issues(measures, output)
    yield from _of_repeated_work(entry.stage, measures, output)


def _of_issues(measures: StageMeasures, output: Mapping[str, Any]) -> Iterator[Count]:
    issues = _field(output, measures.issues)
    if not isinstance(issues, Mapping):
        return
    found = {str(kind): count for kind, count in issues.items() if isinstance(count, int) and 0 < count <= MOST_OF_ONE}
    yield REPORTS, 1, ("issues" if found else "clean",)
    for kind, count in found.items():
        yield ISSUES, count, (kind,)


def _of_repeated_work(stage: str, measures: StageMeasures, output: Mapping[str, Any]) -> Iterator[Count]:
    """Count routes back to an earlier stage, and attempts of a step that follow one without a usable result."""
    retries = measures.retries
    kind = None if retries is None else retries.kinds.get(str(_field(output, retries.field)))
    if retries is not None and kind is not None:
        yield RETRIES, 1, (stage, kind)
        yield RETRY_REASONS, 1, (str(_field(output, retries.reason) or kind),)
    steps = _field(output, measures.step_attempts)
    for attempts in steps.values() if isinstance(steps, Mapping) else ():
        for former, following in _pairs(attempts):
            # One that follows a usable result looks for something else: callers after a definition, the next file.
            if former.get("status") not in USABLE and following.get("strategy") != _SKIPPED:
                yield RETRIES, 1, (stage, "step")
                yield RETRY_REASONS, 1, (str(former.get("status")),)


def _field(output: Mapping[str, Any], name: str | None) -> Any:
    return None if name is None else output.get(name)


def _pairs(attempts: object) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each attempt of a step with the one after it."""
    for former, following in pairwise(attempts if isinstance(attempts, list) else []):
        if isinstance(former, Mapping) and isinstance(following, Mapping):
            yield former, following

"""Collects events of several runs for one write, and what is needed to undo them together."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runtime.hosting.limits.admission import Place
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.primitives.spans import LateSpan, is_traced
from runtime.run.envelope import Envelope
from runtime.store.run_log import Entry
from runtime.supervision.commands import Command
from runtime.supervision.events import Event, Payload, StageStarted
from runtime.supervision.run_counts import Count, counts_of
from runtime.supervision.run_spans import spans_of
from runtime.supervision.state import Decision, RunState


class Kept(NamedTuple):
    """Holds what a run was before a batch: state, last event, number of client events, place in the queue."""

    state: RunState
    logged: int
    client_events: int
    place: Place | None


class Observed(NamedTuple):
    """Holds what an event adds to the metrics, and the spans that it completes."""

    counts: list[Count]
    spans: list[LateSpan]


_NOTHING = Observed([], [])


def observed(config: PipelineConfig, before: RunState, event: Event, decision: Decision) -> Observed:
    """Return what is to be told of an event once it is recorded.

    It is found out at once, while the processor has at hand what was decided on.
    """
    then, now = before.envelope, decision.state.envelope
    if type(event.payload) is StageStarted and now.usage is then.usage and now.lifecycle == then.lifecycle:
        return _NOTHING  # as it is with nearly half of all events
    spans = spans_of(before, event, decision) if is_traced(event.run_id) else []
    return Observed(counts_of(config, before, event, decision), spans)


class RunBatch(msgspec.Struct):
    """Collects entries for one write, and the data to undo them.

    `before`: each run before the batch. `opened`: runs that the batch added to the table. `settled`: pending commands
    of earlier events that were handed out in this batch; `replayed`: payloads in it that were recorded already.
    `counts` and `spans`: what its events add to the metrics and to traces.
    """

    entries: list[Entry] = []
    before: dict[RunId, Kept] = {}
    payloads: dict[RunId, list[Payload]] = {}
    opened: list[RunId] = []
    settled: dict[RunId, list[Command]] = {}
    replayed: list[tuple[RunId, Payload]] = []
    counts: list[Count] = []
    spans: list[LateSpan] = []

    def add(self, entry: Entry, before: Kept, seen: Observed) -> None:
        """Add an event that has been decided on; `before`: the run before it."""
        self.counts += seen.counts
        self.spans += seen.spans
        run_id = entry.event.run_id
        self.before.setdefault(run_id, before)
        self.payloads.setdefault(run_id, []).append(entry.event.payload)
        self.entries.append(entry)


class Spent(NamedTuple):
    """Counts what runs have spent; the cost in millionths of the currency."""

    llm_calls: int = 0
    tokens: int = 0
    cost_micro: int = 0

    def plus(self, other: Spent) -> Spent:
        """Return the sum of both."""
        return Spent(*(one + another for one, another in zip(self, other, strict=True)))


def spent_since(before: Envelope, after: Envelope) -> Spent:
    """Return what a run has spent between two of its states."""
    now, then = after.usage, before.usage
    tokens = now.tokens_in + now.tokens_out - then.tokens_in - then.tokens_out
    return Spent(now.llm_calls - then.llm_calls, tokens, now.cost_micro - then.cost_micro)

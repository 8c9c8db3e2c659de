"""Collects events of several runs for one write, and what is needed to undo them together."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runtime.hosting.limits.admission import Place
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.store.run_log import Entry
from runtime.supervision.commands import Command
from runtime.supervision.events import Event, Payload
from runtime.supervision.state import Decision, RunState


class Kept(NamedTuple):
    """Holds what a run was before a batch: state, last event, number of client events, place in the queue."""

    state: RunState
    logged: int
    client_events: int
    place: Place | None


class Decided(NamedTuple):
    """Holds an event with the rules and the state that it was decided on, and the decision."""

    config: PipelineConfig
    before: RunState
    event: Event
    decision: Decision


class RunBatch(msgspec.Struct):
    """Collects entries for one write, and the data to undo them.

    `before`: each run before the batch. `opened`: runs that the batch added to the table. `settled`: pending commands
    of earlier events that were handed out in this batch; `replayed`: payloads in it that were recorded already.
    `decided`: its events with their decisions, in their order.
    """

    entries: list[Entry] = []
    before: dict[RunId, Kept] = {}
    payloads: dict[RunId, list[Payload]] = {}
    opened: list[RunId] = []
    settled: dict[RunId, list[Command]] = {}
    replayed: list[tuple[RunId, Payload]] = []
    decided: list[Decided] = []

    def add(self, entry: Entry, before: Kept, decided: Decided) -> None:
        """Add an event that has been decided on; `before`: the run before it."""
        self.decided.append(decided)
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

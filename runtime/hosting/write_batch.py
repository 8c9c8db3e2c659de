"""What happens to several runs and is recorded with one write: kept together, or taken back together."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.store.run_log import Entry
from runtime.supervision.commands import Command
from runtime.supervision.events import Payload
from runtime.supervision.state import RunState


class Kept(NamedTuple):
    """How far a run is recorded: its state, its last event, how many events callers may see; its place in the queue."""

    state: RunState
    logged: int
    client_events: int
    place: int | None


class RunBatch(msgspec.Struct):
    """Entries that wait for their write, and what it takes to undo them.

    `before`: each run as it was. `opened`: runs that the table did not have. `settled`: what was owed to callers from
    earlier, and handed to them in this batch; `replayed`: what they repeated in it that was on record already.
    """

    entries: list[Entry] = []
    before: dict[RunId, Kept] = {}
    payloads: dict[RunId, list[Payload]] = {}
    opened: list[RunId] = []
    settled: dict[RunId, list[Command]] = {}
    replayed: list[tuple[RunId, Payload]] = []

    def add(self, entry: Entry, before: Kept) -> None:
        """Take an event that has been decided on; `before`: the run as it was until then."""
        run_id = entry.event.run_id
        self.before.setdefault(run_id, before)
        self.payloads.setdefault(run_id, []).append(entry.event.payload)
        self.entries.append(entry)


def spent_since(before: Envelope, after: Envelope) -> tuple[int, int]:
    """Model calls and tokens that a run has spent between two of its states."""
    calls, tokens = after.usage.llm_calls, after.usage.tokens_in + after.usage.tokens_out
    return calls - before.usage.llm_calls, tokens - before.usage.tokens_in - before.usage.tokens_out

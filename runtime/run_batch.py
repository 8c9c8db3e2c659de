"""What happens to several runs and is recorded with one write: kept together, or taken back together."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runtime.envelope import Envelope
from runtime.ids import RunId
from runtime.store.run_log import Entry
from runtime.supervision.events import Payload
from runtime.supervision.state import RunState


class Kept(NamedTuple):
    """How far a run is recorded: its state, its last event, and how many events callers may see."""

    state: RunState
    logged: int
    client_events: int


class RunBatch(msgspec.Struct):
    """Entries that wait for their write. `before` holds each run as it was, None for one that began in this batch."""

    entries: list[Entry] = []
    before: dict[RunId, Kept | None] = {}
    payloads: dict[RunId, list[Payload]] = {}

    def add(self, entry: Entry, before: Kept) -> None:
        """Take an event that has been decided on; `before`: the run as it was until then."""
        run_id = entry.event.run_id
        self.before.setdefault(run_id, before if before.logged else None)
        self.payloads.setdefault(run_id, []).append(entry.event.payload)
        self.entries.append(entry)


def spent_since(before: Envelope | None, after: Envelope) -> tuple[int, int]:
    """Model calls and tokens that a run has spent between two of its states."""
    calls, tokens = after.usage.llm_calls, after.usage.tokens_in + after.usage.tokens_out
    if before is None:
        return calls, tokens
    return calls - before.usage.llm_calls, tokens - before.usage.tokens_in - before.usage.tokens_out

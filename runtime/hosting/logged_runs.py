"""Reads runs from the log: to continue them, to read them when finished, or to fork them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runtime.errors import JeevesError, SettingsError, StateStorageError, UnknownNameError, WireError
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request, Usage
from runtime.store.run_log import Entry, RunLog
from runtime.store.run_records import RunUsage
from runtime.supervision.decide import decide
from runtime.supervision.events import Event, RunAdopted, RunRequested, request_event
from runtime.supervision.forking import with_run_id
from runtime.supervision.replay import decisions, fold
from runtime.supervision.state import Decision, RunState


class LoggedRun(NamedTuple):
    """Holds a run's events from the first on, its request and its rules."""

    config: PipelineConfig
    request: Request
    events: list[Event]


def entry_of(config: PipelineConfig, event: Event, after: Envelope) -> Entry:
    """Return the log entry of an event; `after` is the envelope of the run after it."""
    is_over = after.lifecycle == "terminated"
    return Entry(config.name, event, is_over, after.lifecycle, after.terminal_reason, usage_of(after.usage))


def usage_of(usage: Usage) -> RunUsage:
    """Return what the log keeps of a run's spending."""
    return RunUsage(usage.llm_calls, usage.tool_calls, usage.tokens_in, usage.tokens_out, usage.cost_micro)


def adoption_of(
    copy: LoggedRun, state: RunState, adopted: RunAdopted, now_ms: int
) -> tuple[Event, Decision, list[Entry]]:
    """Return the event with which a fork begins to differ from its source, its decision, and its entry.

    A fork of a run that is over has no such entry. It is recorded in one write with the copied events: without it, the
    fork would be taken up with the deadlines of the past.
    """
    last = copy.events[-1]
    payload = msgspec.structs.replace(adopted, shift_ms=now_ms - last.at_ms)
    event = Event(last.run_id, last.seq + 1, now_ms, payload)
    decision = decide(copy.config, state, event)
    entry = [] if decision.ignored else [entry_of(copy.config, event, decision.state.envelope)]
    return event, decision, entry


def is_of_one_run(error: JeevesError) -> bool:
    """Return True if an error of reading or continuing a run concerns that run alone, and not the whole log."""
    if isinstance(error, StateStorageError):
        return error.values.get("problem") == "damaged"
    return isinstance(error, UnknownNameError | SettingsError | WireError)


class LoggedRuns:
    """Reads the runs of one log."""

    def __init__(self, run_log: RunLog, pinned: PinnedPipelines) -> None:
        self._log = run_log
        self._pinned = pinned

    def to_go_on(self, events: list[Event]) -> LoggedRun:
        """Return the run of these events. Raises SettingsError if it cannot continue under the rules of its start."""
        first = request_event(events)
        config = self._pinned.to_go_on(first, f"run {events[0].run_id} began; it cannot go on")
        return LoggedRun(config, first.request, events)

    def finished(self, run_id: RunId) -> LoggedRun | None:
        """Return a finished run; None if there is none, if it is not over, or if its rules were not stored."""
        events = self._log.events(run_id)
        first = events[0].payload if events else None
        config = self._pinned.to_read(first) if isinstance(first, RunRequested) else None
        if config is None or not isinstance(first, RunRequested):
            return None
        if fold(config, events).envelope.lifecycle != "terminated":
            return None
        return LoggedRun(config, first.request, events)

    def copied(self, source: RunId, at_seq: int, run_id: RunId) -> tuple[LoggedRun, list[Entry]]:
        """Copy the events of `source` up to `at_seq` (inclusive) for `run_id`; return the copy and its log entries.

        Raises UnknownNameError if there is no such run or event, and SettingsError if its pipeline has changed.
        """
        events = [event for event in self._log.events(source) if event.seq <= at_seq]
        if not events or events[-1].seq != at_seq:
            raise UnknownNameError(f"run '{source}' has no event {at_seq}", name=source, known=[])
        first = request_event(events)
        config = self._pinned.to_go_on(first, f"run {source} began; it cannot be forked")
        copies = [with_run_id(event, run_id) for event in events]
        entries = [entry_of(config, event, after.state.envelope) for event, _, after in decisions(config, copies)]
        return LoggedRun(config, first.request, copies), entries

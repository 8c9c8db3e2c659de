"""Keeps the runs of a run table in memory: state, rules, last recorded event, client events."""

from __future__ import annotations

from collections import OrderedDict

from runtime.hosting.limits.admission import Place
from runtime.hosting.write_batch import Kept
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.supervision.commands import ClientEvent, Emit
from runtime.supervision.events import Event
from runtime.supervision.state import Decision, RunState, new_state

FINISHED_RUNS_KEPT = 1_000


class RunBooks:
    """Holds runs by id; of the finished ones, the last thousand."""

    def __init__(self) -> None:
        self.states: dict[RunId, RunState] = {}
        self.rules: dict[RunId, PipelineConfig] = {}
        self.logged: dict[RunId, int] = {}
        self._events: dict[RunId, list[ClientEvent]] = {}
        self._shown_from: dict[RunId, int] = {}
        self._finished: OrderedDict[RunId, None] = OrderedDict()

    def __contains__(self, run_id: object) -> bool:
        return run_id in self.states

    def open(self, run_id: RunId, config: PipelineConfig) -> None:
        """Add a run under its rules, with nothing recorded."""
        self.rules[run_id] = config
        self.states[run_id] = new_state(run_id)
        self.logged[run_id] = 0
        self._events[run_id] = []

    def stand_at(self, run_id: RunId, seq: int, state: RunState) -> None:
        """Set a run to a state saved after event `seq`; earlier client events are in the log alone."""
        self.states[run_id], self.logged[run_id] = state, seq
        self._shown_from[run_id] = state.next_event_seq - 1

    def advance(self, event: Event, decision: Decision) -> None:
        """Apply an event and its decision."""
        run_id = event.run_id
        self.logged[run_id] = event.seq
        self.states[run_id] = decision.state
        self._events[run_id].extend(command.event for command in decision.commands if isinstance(command, Emit))

    def note_finished(self, run_id: RunId) -> list[RunId]:
        """Mark a run as finished; return the finished runs to forget, oldest first."""
        self._finished[run_id] = None
        too_many = max(0, len(self._finished) - FINISHED_RUNS_KEPT)
        return [self._finished.popitem(last=False)[0] for _ in range(too_many)]

    def kept(self, run_id: RunId, place: Place | None) -> Kept:
        """Return the current state of a run, for `put_back`."""
        return Kept(self.states[run_id], self.logged[run_id], len(self._events[run_id]), place)

    def put_back(self, run_id: RunId, before: Kept) -> None:
        """Undo the events of a run since `before`, which were not recorded."""
        self.states[run_id], self.logged[run_id] = before.state, before.logged
        del self._events[run_id][before.client_events :]
        self._finished.pop(run_id, None)

    def shown_since(self, run_id: RunId, after_seq: int) -> list[ClientEvent] | None:
        """Return the client events after `after_seq`; None if only the log has all of them."""
        shown_from = self._shown_from.get(run_id, 0)
        return None if after_seq < shown_from else self._events[run_id][max(0, after_seq - shown_from) :]

    @property
    def running(self) -> int:
        """The number of runs that are not finished."""
        return len(self.states) - len(self._finished)

    def forget(self, run_id: RunId) -> None:
        """Remove a run."""
        for book in (self.states, self.rules, self.logged, self._events, self._shown_from):
            book.pop(run_id, None)

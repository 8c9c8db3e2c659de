"""The runs that one supervisor drives: decide, keep the record, and only then hand out commands.

Every host (the local runner, the supervisor actor) owns one `RunTable` and carries out what it returns. It is not
thread-safe: a host calls it from one event loop.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from runtime.clock import Clock
from runtime.envelope import Envelope, Request
from runtime.errors import InputError, UnknownNameError
from runtime.ids import RunId, new_run_id
from runtime.pipeline import PipelineConfig
from runtime.store.run_log import RunLog
from runtime.supervision.commands import ClientEvent, Command, Emit
from runtime.supervision.decide import decide
from runtime.supervision.events import Event, Payload, RunRequested
from runtime.supervision.state import RunState, new_state

log = logging.getLogger(__name__)

FINISHED_RUNS_KEPT = 1_000


class RunTable:
    """Runs by id, their states and the events that callers see."""

    def __init__(self, pipelines: Mapping[str, PipelineConfig], run_log: RunLog, clock: Clock) -> None:
        self._pipelines = dict(pipelines)
        self._log = run_log
        self._clock = clock
        self._states: dict[RunId, RunState] = {}
        self._rules: dict[RunId, PipelineConfig] = {}
        self._logged: dict[RunId, int] = {}
        self._events: dict[RunId, list[ClientEvent]] = {}
        self._finished: OrderedDict[RunId, None] = OrderedDict()

    def submit(self, request: Request, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """Accept a request: its first record is kept when this returns.

        A run id that is known already changes nothing. Raises UnknownNameError for a pipeline that is not there,
        InputError for a request that cannot be put on the wire, and StateStorageError when nothing could be written.
        """
        config = self._pipelines.get(request.pipeline)
        if config is None:
            known = sorted(self._pipelines)
            raise UnknownNameError(
                f"no pipeline is named '{request.pipeline}'; known: {', '.join(known)}",
                name=request.pipeline,
                known=known,
            )
        try:
            request = msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=Request)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"the request cannot be recorded: {error}") from error
        run_id = run_id or new_run_id(self._clock.now_ms())
        if run_id in self._states:
            return run_id, self.handle(run_id, RunRequested(request))
        self._rules[run_id] = config
        self._states[run_id] = new_state(run_id)
        self._logged[run_id] = 0
        self._events[run_id] = []
        try:
            return run_id, self.handle(run_id, RunRequested(request))
        except Exception:
            self._forget(run_id)
            raise

    def handle(self, run_id: RunId, payload: Payload) -> list[Command]:
        """Record what happened and return what is to be done about it.

        Deciding is pure, so it comes first: what changes nothing (late, doubled, of an unknown run) is not recorded,
        and nothing is handed out or remembered before the record is kept.
        """
        state = self._states.get(run_id)
        if state is None:
            log.info("event.unknown_run", extra={"run_id": run_id, "event": type(payload).__name__})
            return []
        config = self._rules[run_id]
        event = Event(run_id, self._logged[run_id] + 1, self._clock.now_ms(), payload)
        decision = decide(config, state, event)
        if decision.ignored is not None:
            fields = {"run_id": run_id, "event": type(payload).__name__, "reason": decision.ignored}
            log.debug("event.ignored", extra=fields)
            return []
        self._log.append(config.name, event)
        self._logged[run_id] = event.seq
        self._states[run_id] = decision.state
        shown = [command.event for command in decision.commands if isinstance(command, Emit)]
        self._events[run_id].extend(shown)
        if decision.state.envelope.lifecycle == "terminated":
            self._note_finished(run_id)
        return list(decision.commands)

    def envelope(self, run_id: RunId) -> Envelope:
        """The envelope of a run as it stands. Raises UnknownNameError."""
        return self._state(run_id).envelope

    def is_over(self, run_id: RunId) -> bool:
        """True when the run has ended. Raises UnknownNameError."""
        return self._state(run_id).envelope.lifecycle == "terminated"

    def client_events(self, run_id: RunId, after_seq: int = 0) -> list[ClientEvent]:
        """What callers may see of a run, from `after_seq` (exclusive) on. Raises UnknownNameError."""
        self._state(run_id)
        return self._events[run_id][max(0, after_seq) :]

    def runs_with(self, agent: str) -> list[RunId]:
        """Runs that have something in the hands of `agent`."""
        return [
            run_id
            for run_id, state in self._states.items()
            if any(entry.stage == agent for entry in state.in_flight.values())
        ]

    @property
    def running(self) -> int:
        """How many runs are not over."""
        return len(self._states) - len(self._finished)

    def _state(self, run_id: RunId) -> RunState:
        state = self._states.get(run_id)
        if state is None:
            raise UnknownNameError(f"no run '{run_id}' is known here", name=run_id, known=[])
        return state

    def _note_finished(self, run_id: RunId) -> None:
        self._finished[run_id] = None
        while len(self._finished) > FINISHED_RUNS_KEPT:
            oldest, _ = self._finished.popitem(last=False)
            self._forget(oldest)

    def _forget(self, run_id: RunId) -> None:
        for table in (self._states, self._rules, self._logged, self._events):
            table.pop(run_id, None)

"""The runs that one supervisor drives: decide, keep the record, and only then hand out commands.

Every host (the local runner, the supervisor actor) owns one `RunTable` and carries out what it returns. It is not
thread-safe: a host calls it from one event loop.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from runtime.admission import Candidate, Quotas, RateLimiter, next_admitted
from runtime.clock import Clock
from runtime.envelope import Envelope, InterruptResponse, Request
from runtime.errors import InputError, InterruptError, SettingsError, UnknownNameError
from runtime.ids import RunId, new_run_id
from runtime.interrupts import refusal
from runtime.pipeline import PipelineConfig
from runtime.store.run_log import RunLog
from runtime.supervision.commands import ClientEvent, Command, Emit
from runtime.supervision.decide import decide
from runtime.supervision.events import Event, InterruptAnswered, Payload, RunAdmitted, RunAdopted, RunRequested
from runtime.supervision.replay import fold, renamed, shown
from runtime.supervision.state import RunState, new_state

log = logging.getLogger(__name__)

FINISHED_RUNS_KEPT = 1_000
NO_QUOTAS = Quotas()


class RunTable:
    """Runs by id, their states and the events that callers see."""

    def __init__(
        self,
        pipelines: Mapping[str, PipelineConfig],
        run_log: RunLog,
        clock: Clock,
        quotas: Quotas = NO_QUOTAS,
        rates: RateLimiter | None = None,
    ) -> None:
        self._pipelines = dict(pipelines)
        self._quotas = quotas
        self._rates = rates
        self._candidates: dict[RunId, Candidate] = {}
        self._log = run_log
        self._clock = clock
        self._states: dict[RunId, RunState] = {}
        self._rules: dict[RunId, PipelineConfig] = {}
        self._logged: dict[RunId, int] = {}
        self._events: dict[RunId, list[ClientEvent]] = {}
        self._finished: OrderedDict[RunId, None] = OrderedDict()

    def submit(self, request: Request, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """Accept a request: its first record is kept when this returns. Over the quotas it waits to be admitted.

        A run id that is known already changes nothing. Raises UnknownNameError for a pipeline that is not there,
        RateLimitedError for a user who asks too often, InputError for a request that cannot be put on the wire, and
        StateStorageError when nothing could be written.
        """
        config = self._config(request.pipeline)
        try:
            request = msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=Request)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"the request cannot be recorded: {error}") from error
        run_id = run_id or new_run_id(self._clock.now_ms())
        if run_id in self._states:
            return run_id, self.handle(run_id, RunRequested(request))
        if self._rates is not None:
            self._rates.take(request.user_id, self._clock.now_ms())
        candidate = Candidate(run_id, request.user_id, request.session_id, request.priority or config.priority)
        begins = bool(next_admitted([candidate], self._under_way(), self._quotas))
        self._open(run_id, config, candidate)
        try:
            return run_id, self.handle(run_id, RunRequested(request, not begins, config.config_hash))
        except Exception:
            self._forget(run_id)
            raise

    def admit(self) -> list[tuple[RunId, list[Command]]]:
        """Let waiting runs begin as far as the quotas allow, by priority; a host calls it when a run ended or waits."""
        waiting = [self._candidates[r] for r, state in self._states.items() if state.envelope.lifecycle == "ready"]
        if not waiting:
            return []
        admitted = next_admitted(waiting, self._under_way(), self._quotas)
        return [(run_id, self.handle(run_id, RunAdmitted())) for run_id in admitted]

    def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> list[Command]:
        """Take a person's answer. Raises InterruptError that says why it cannot be taken; nothing is changed then."""
        envelope = self._state(run_id).envelope
        now_ms = self._clock.now_ms()
        refused = refusal(envelope.interrupt, interrupt_id, user_id, envelope.request.user_id, now_ms)
        if refused is None and envelope.lifecycle != "waiting":
            refused = f"run {run_id} is {envelope.lifecycle} and waits for no answer"
        if refused is not None:
            raise InterruptError(refused, run_id=run_id, interrupt_id=interrupt_id)
        return self.handle(run_id, InterruptAnswered(interrupt_id, user_id, response))

    def fork(self, source: RunId, at_seq: int, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """A new run with the same past as `source` up to event `at_seq` (inclusive), and a future of its own.

        Raises UnknownNameError when there is no such run or event, and SettingsError when its pipeline has changed.
        """
        events = [event for event in self._log.events(source) if event.seq <= at_seq]
        if not events or events[-1].seq != at_seq:
            raise UnknownNameError(f"run '{source}' has no event {at_seq}", name=source, known=[])
        first = events[0].payload
        assert isinstance(first, RunRequested)
        config = self._config(first.request.pipeline)
        if first.config_hash and first.config_hash != config.config_hash:
            raise SettingsError(f"pipeline '{config.name}' has changed since run {source} began; it cannot be forked")
        run_id = run_id or new_run_id(self._clock.now_ms())
        copies = [renamed(event, run_id) for event in events]
        state = fold(config, copies)
        request = first.request
        self._open(run_id, config, Candidate(run_id, request.user_id, request.session_id, config.priority))
        for event in copies:
            self._log.append(config.name, event)
        self._states[run_id], self._logged[run_id] = state, at_seq
        self._events[run_id] = list(shown(config, copies))
        return run_id, self.handle(run_id, RunAdopted(f"forked from {source} at event {at_seq}"))

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

    def pipeline_of(self, run_id: RunId) -> str:
        """The name of a run's pipeline. Raises UnknownNameError."""
        self._state(run_id)
        return self._rules[run_id].name

    @property
    def running(self) -> int:
        """How many runs are not over."""
        return len(self._states) - len(self._finished)

    def _config(self, pipeline: str) -> PipelineConfig:
        config = self._pipelines.get(pipeline)
        if config is None:
            known = sorted(self._pipelines)
            raise UnknownNameError(
                f"no pipeline is named '{pipeline}'; known: {', '.join(known)}", name=pipeline, known=known
            )
        return config

    def _open(self, run_id: RunId, config: PipelineConfig, candidate: Candidate) -> None:
        self._rules[run_id] = config
        self._candidates[run_id] = candidate
        self._states[run_id] = new_state(run_id)
        self._logged[run_id] = 0
        self._events[run_id] = []

    def _under_way(self) -> list[Candidate]:
        if self._quotas == NO_QUOTAS:
            return []
        return [self._candidates[r] for r, state in self._states.items() if state.envelope.lifecycle == "running"]

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
        for table in (self._states, self._rules, self._logged, self._events, self._candidates):
            table.pop(run_id, None)

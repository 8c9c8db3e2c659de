"""The runs that one supervisor drives: decide, keep the record, and only then hand out commands.

Every host (the local runner, the supervisor actor) owns one `RunTable` and carries out what it returns. It is not
thread-safe: a host calls it from one event loop. (Over 400 lines: what is recorded, what is owed to callers, and how
both are taken back when a write fails are one set of books.)
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from runtime.errors import (
    InputError,
    InterruptError,
    SettingsError,
    StateStorageError,
    UnknownNameError,
)
from runtime.hosting.admission import Quotas
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.hosting.rate_limits import RateLimiter
from runtime.hosting.run_quotas import RunQuotas
from runtime.hosting.snapshots import RunSnapshots
from runtime.hosting.write_batch import Kept, RunBatch
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId, StageName, new_run_id
from runtime.run.bounds import check_limits
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.run.interrupts import refusal
from runtime.store.run_log import Entry, RunLog
from runtime.supervision.commands import ClientEvent, Command, Emit
from runtime.supervision.decide import decide
from runtime.supervision.events import (
    BudgetRequested,
    Event,
    InterruptAnswered,
    Payload,
    QuotaExhausted,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.replay import client_events_of, decisions, fold, with_run_id
from runtime.supervision.state import Decision, RunState, new_state

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
        owner: str | None = None,
        epoch: int | None = None,
    ) -> None:
        """With an `owner` the log is taken over: what its former owner still tries to write is refused.

        Who has taken it over already, with a lease, gives the `epoch` instead.
        """
        self._pinned = PinnedPipelines(pipelines, run_log)
        self._shown_from: dict[RunId, int] = {}
        self._room = RunQuotas(quotas, rates, clock)
        self._log = run_log
        self._epoch = epoch if owner is None else run_log.take_over(owner)
        self._snapshots = RunSnapshots(run_log, self._epoch)
        self._batch: RunBatch | None = None
        self._unsure: dict[RunId, list[Payload]] = {}
        self._said_again: dict[RunId, list[Payload]] = {}
        self._owed: dict[RunId, list[Command]] = {}
        self._clock = clock
        self._states: dict[RunId, RunState] = {}
        self._rules: dict[RunId, PipelineConfig] = {}
        self._logged: dict[RunId, int] = {}
        self._events: dict[RunId, list[ClientEvent]] = {}
        self._finished: OrderedDict[RunId, None] = OrderedDict()

    def submit(self, request: Request, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """Accept a request: its first record is kept when this returns. Over the quotas it waits to be admitted.

        A run id that is known already changes nothing. Raises UnknownNameError for a pipeline that is not there,
        RateLimitedError for a user who asks too often or has spent a quota, OverloadedError when too many wait,
        InputError for limits that the pipeline does not have and for what cannot be put on the wire, and
        StateStorageError when nothing could be written.
        """
        config = self._pinned.today(request.pipeline)
        try:
            request = msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=Request)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"the request cannot be recorded: {error}") from error
        if run_id is not None and run_id not in self._states and (events := self._log.events(run_id)):
            return run_id, self._take_up(events)
        run_id = run_id or new_run_id(self._clock.now_ms())
        if run_id in self._states:
            return run_id, self.handle(run_id, RunRequested(request))
        check_limits(config, request)
        request = self._room.permitted(request)
        self._pinned.keep(config)
        begins = self._open(run_id, config, request)
        try:
            return run_id, self.handle(run_id, RunRequested(request, not begins, config.config_hash))
        except Exception:
            self._forget(run_id)
            raise

    def recover(self) -> Iterator[tuple[RunId, list[Command]]]:
        """Take up the unfinished runs of the log, oldest first; the commands issue again what was in flight.

        A host that owns the log calls it once at its start, before anything else, and again from the beginning when
        the log fails meanwhile. A run goes on under the rules that it began under; one that cannot, because its rules
        were not kept or because today's agents do not fit them any more, stays in the log untouched.
        """
        for row in self._log.unfinished():
            if row.run_id in self._states:
                continue
            try:
                yield row.run_id, self._take_up_standing(row.run_id)
            except (UnknownNameError, SettingsError) as error:
                log.error("run.not_taken_up", extra={"run_id": row.run_id, "reason": error.message})

    def catch_up(self, run_id: RunId) -> list[Command]:
        """What is owed since a record failed that was kept after all. Raises StateStorageError as long as nobody knows.

        A host calls it some time after `handle` or `answer` raised; any later event of the run does the same.
        """
        self._make_sure(run_id)
        return self._settled(run_id)

    def admit(self) -> Iterator[tuple[RunId, list[Command]]]:
        """Let waiting runs begin or go on as far as the quotas allow, by priority, and stop whose user has spent one.

        A host calls it after every event. One run after the other, so that what one of them is given is not lost when
        the next cannot be recorded.
        """
        while (overspent := self._room.next_overspent()) is not None:
            run_id, exhausted = overspent
            try:
                commands = self.handle(run_id, exhausted)
            except StateStorageError:
                self._room.tell_again(run_id)
                raise
            yield run_id, commands
        while (admitted := self._room.next_run()) is not None:
            yield admitted, self.handle(admitted, RunAdmitted())

    def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> list[Command]:
        """Take a person's answer. Raises InterruptError that says why it cannot be taken; nothing is changed then."""
        self._make_sure(run_id)
        envelope = self._state(run_id).envelope
        now_ms = self._clock.now_ms()
        refused = refusal(envelope.interrupt, interrupt_id, user_id, envelope.request.user_id, now_ms)
        if refused is None and envelope.lifecycle != "waiting":
            refused = f"run {run_id} is {envelope.lifecycle} and waits for no answer"
        if refused is not None:
            raise InterruptError(refused, run_id=run_id, interrupt_id=interrupt_id)
        return self.handle(run_id, InterruptAnswered(interrupt_id, user_id, response, self._room.must_queue(run_id)))

    def fork(self, source: RunId, at_seq: int, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """A new run with the same past as `source` up to event `at_seq` (inclusive), and a future of its own.

        A run id that is known already changes nothing. Raises UnknownNameError when there is no such run or event, and
        SettingsError when its pipeline has changed and it cannot go on under the rules that it began under.
        """
        if run_id is not None and run_id in self._states:
            return run_id, []
        if run_id is not None and (forked := self._log.events(run_id)):
            return run_id, self._take_up(forked, may_wait=True)
        events = [event for event in self._log.events(source) if event.seq <= at_seq]
        if not events or events[-1].seq != at_seq:
            raise UnknownNameError(f"run '{source}' has no event {at_seq}", name=source, known=[])
        first = events[0].payload
        assert isinstance(first, RunRequested)
        config = self._pinned.to_go_on(first, f"run {source} began; it cannot be forked")
        run_id = run_id or new_run_id(self._clock.now_ms())
        copies = [with_run_id(event, run_id) for event in events]
        is_over = fold(config, copies).envelope.lifecycle == "terminated"
        entries = [Entry(config.name, event, is_over and event.seq == at_seq) for event in copies]
        self._log.append_all(entries, self._epoch)
        self._remember(config, first.request, copies)
        try:
            said = f"forked from {source} at event {at_seq}"
            return run_id, self.handle(run_id, RunAdopted(said, self._room.must_queue(run_id)))
        except Exception:
            self._forget(run_id)
            raise

    def handle(self, run_id: RunId, payload: Payload) -> list[Command]:
        """Record what happened and return what is to be done about it.

        Deciding is pure, so it comes first: what changes nothing (late, doubled, of an unknown run) is not recorded,
        and nothing is handed out or remembered before the record is kept. Raises StateStorageError when it may not have
        been kept: the host says it again later, and is then given what an event led to that was kept after all.
        """
        self._make_sure(run_id)
        if payload in self._said_again.get(run_id, ()):
            self._said_again[run_id].remove(payload)
            if self._batch is not None:
                self._batch.said_again.append((run_id, payload))
            return self._settled(run_id)
        state = self._states.get(run_id)
        if state is None:
            log.info("event.unknown_run", extra={"run_id": run_id, "event": type(payload).__name__})
            return []
        config = self._rules[run_id]
        if isinstance(payload, TimerFired) and state.envelope.lifecycle == "waiting" and self._room.must_queue(run_id):
            payload = TimerFired(payload.timer_id, queued=True)
        event = Event(run_id, self._logged[run_id] + 1, self._clock.now_ms(), payload)
        decision = decide(config, state, event)
        if decision.ignored is not None:
            fields = {"run_id": run_id, "event": type(payload).__name__, "reason": decision.ignored}
            log.debug("event.ignored", extra=fields)
            return self._settled(run_id)
        entry = _entry(config, event, decision.state.envelope)
        if self._batch is not None:
            place = self._room.place(run_id)
            self._batch.add(entry, Kept(state, self._logged[run_id], len(self._events[run_id]), place))
            return [*self._settled(run_id), *self._took_effect(event, decision)]
        try:
            self._log.append_all([entry], self._epoch)
        except StateStorageError:
            self._unsure[run_id] = [payload]
            raise
        commands = self._took_effect(event, decision)
        self._recorded(run_id, state, event.seq - 1)
        return [*self._settled(run_id), *commands]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Record all that is handled inside with one write. Nothing of it may be handed out before this ends.

        Raises StateStorageError when it may not have been kept: then all of it is as `handle` leaves what failed.
        """
        self._batch = batch = RunBatch()
        try:
            yield
            self._batch = None
            if batch.entries:
                self._log.append_all(batch.entries, self._epoch)
        except BaseException:
            self._batch = None
            self._take_back(batch)
            raise
        for run_id, before in batch.before.items():
            if run_id in self._states:
                self._recorded(run_id, before.state, before.logged)

    def _recorded(self, run_id: RunId, before: RunState, logged_before: int) -> None:
        """What happened to a run since then is on record."""
        state, config_hash = self._states[run_id], self._rules[run_id].config_hash
        self._room.book(run_id, before.envelope, state.envelope)
        self._snapshots.keep_when_due(run_id, logged_before, self._logged[run_id], state, config_hash)

    def _take_back(self, batch: RunBatch) -> None:
        """Leave every run as it was before the batch, and owe again what was handed out in it."""
        for run_id in batch.opened:
            self._forget(run_id)  # whoever asked asks again, under the same id; the log says then whether it was kept
        for run_id, before in batch.before.items():
            if run_id not in self._states:
                continue
            self._states[run_id], self._logged[run_id] = before.state, before.logged
            del self._events[run_id][before.client_events :]
            self._finished.pop(run_id, None)
            self._room.put_back(run_id, before.state.envelope, before.place)
            self._unsure[run_id] = batch.payloads[run_id]
            if any(isinstance(payload, QuotaExhausted) for payload in batch.payloads[run_id]):
                self._room.tell_again(run_id)
        for run_id, payload in batch.said_again:
            if run_id in self._states:
                self._said_again.setdefault(run_id, []).append(payload)
        for run_id, commands in batch.settled.items():
            if run_id in self._states:
                self._owed[run_id] = [*commands, *self._owed.get(run_id, [])]

    def _settled(self, run_id: RunId) -> list[Command]:
        """What the run is owed; a batch that fails owes it again."""
        owed = self._owed.pop(run_id, [])
        if self._batch is not None and owed:
            self._batch.settled.setdefault(run_id, []).extend(owed)
        return owed

    def _took_effect(self, event: Event, decision: Decision) -> tuple[Command, ...]:
        run_id = event.run_id
        self._logged[run_id] = event.seq
        self._states[run_id] = decision.state
        self._events[run_id].extend(command.event for command in decision.commands if isinstance(command, Emit))
        self._room.note(run_id, decision.state.envelope)
        if decision.state.envelope.lifecycle == "terminated":
            self._note_finished(run_id)
        return decision.commands

    def _make_sure(self, run_id: RunId) -> None:
        """After a record failed, read what the log has: an event that was kept after all takes effect now."""
        if run_id not in self._unsure:
            return
        for event in self._log.events(run_id, self._logged[run_id]):
            before = self._states[run_id].envelope
            decision = decide(self._rules[run_id], self._states[run_id], event)
            self._owed.setdefault(run_id, []).extend(self._took_effect(event, decision))
            self._room.book(run_id, before, decision.state.envelope)
            if isinstance(event.payload, ToolCalled | BudgetRequested) and event.payload in self._unsure[run_id]:
                # Whoever said it says it again, and means the same one.
                self._said_again.setdefault(run_id, []).append(event.payload)
        del self._unsure[run_id]

    def _take_up_standing(self, run_id: RunId) -> list[Command]:
        """Drive a run of the log from its newest snapshot, or from its beginning where there is none of use."""
        standing = self._snapshots.newest(run_id)
        if standing is None:
            return self._take_up(self._log.events(run_id))
        request = standing.state.envelope.request
        began = RunRequested(request, config_hash=standing.config_hash)
        config = self._pinned.to_go_on(began, f"run {run_id} began; it cannot go on")
        self._open(run_id, config, request)
        self._states[run_id], self._logged[run_id] = standing.state, standing.seq
        self._shown_from[run_id] = standing.state.next_event_seq - 1
        for event, _, decision in decisions(config, self._log.events(run_id, standing.seq), standing.state):
            self._took_effect(event, decision)
        self._room.note(run_id, self._states[run_id].envelope)
        if self._states[run_id].envelope.lifecycle == "terminated":
            return []
        return self._adopt(run_id, may_wait=False)

    def _take_up(self, events: list[Event], may_wait: bool = False) -> list[Command]:
        """Drive a run of the log from where it stands; where it `may_wait`, as soon as there is room for it."""
        run_id, first = events[0].run_id, events[0].payload
        assert isinstance(first, RunRequested)
        config = self._pinned.to_go_on(first, f"run {run_id} began; it cannot go on")
        if self._remember(config, first.request, events).envelope.lifecycle == "terminated":
            return []
        return self._adopt(run_id, may_wait)

    def _adopt(self, run_id: RunId, may_wait: bool) -> list[Command]:
        try:
            queued = may_wait and self._room.must_queue(run_id)
            return self.handle(run_id, RunAdopted(f"taken up from the log at event {self._logged[run_id]}", queued))
        except Exception:
            self._forget(run_id)
            raise

    def _remember(self, config: PipelineConfig, request: Request, events: list[Event]) -> RunState:
        """Take a run of the log into the table as it stands."""
        run_id = events[0].run_id
        self._open(run_id, config, request)
        for event, _, decision in decisions(config, events):
            self._took_effect(event, decision)
        return self._states[run_id]

    def envelope(self, run_id: RunId) -> Envelope:
        """The envelope of a run as it stands. Raises UnknownNameError."""
        return self._state(run_id).envelope

    def is_over(self, run_id: RunId) -> bool:
        """True when the run has ended. Raises UnknownNameError."""
        return self._state(run_id).envelope.lifecycle == "terminated"

    def client_events(self, run_id: RunId, after_seq: int = 0) -> list[ClientEvent]:
        """What callers may see of a run, from `after_seq` (exclusive) on. Raises UnknownNameError."""
        self._state(run_id)
        shown_from = self._shown_from.get(run_id, 0)
        if after_seq < shown_from:  # of what was before the snapshot, the log tells
            return [
                event
                for event in client_events_of(self._rules[run_id], self._log.events(run_id))
                if event.seq > after_seq
            ]
        return self._events[run_id][max(0, after_seq - shown_from) :]

    def at_work(self, run_id: RunId) -> dict[str, StageName]:
        """The attempts that are under way, by key, with their stages; none of a run that is not in the table."""
        state = self._states.get(run_id)
        return {} if state is None else {key: entry.stage for key, entry in state.in_flight.items()}

    def rules_of(self, run_id: RunId) -> PipelineConfig:
        """The rules that a run began under. Raises UnknownNameError."""
        self._state(run_id)
        return self._rules[run_id]

    def check_owner(self) -> None:
        """Raise FencedError when somebody else took the log over; a host asks at every heartbeat.

        A deposed owner that has nothing to write would never learn of it otherwise, and keep the new one from being
        heard.
        """
        if self._epoch is not None:
            self._log.check_owner(self._epoch)

    @property
    def epoch(self) -> int | None:
        """The epoch under which this table's owner writes; None without an owner."""
        return self._epoch

    @property
    def running(self) -> int:
        """How many runs are not over."""
        return len(self._states) - len(self._finished)

    @property
    def has_candidates(self) -> bool:
        """True when `admit` may have something to say."""
        return self._room.has_candidates

    def _open(self, run_id: RunId, config: PipelineConfig, request: Request) -> bool:
        """Make room in the table for a run; True when the quotas have room for it as well."""
        self._rules[run_id] = config
        self._states[run_id] = new_state(run_id)
        self._logged[run_id] = 0
        self._events[run_id] = []
        if self._batch is not None:
            self._batch.opened.append(run_id)
        return self._room.open(run_id, request, request.priority or config.priority)

    def _state(self, run_id: RunId) -> RunState:
        state = self._states.get(run_id) or self._finished_before(run_id)
        if state is None:
            raise UnknownNameError(f"no run '{run_id}' is known here", name=run_id, known=[])
        return state

    def _finished_before(self, run_id: RunId) -> RunState | None:
        """A run that is over and is not in the table any more, or never was in this one: read from the log again."""
        events = self._log.events(run_id)
        first = events[0].payload if events else None
        config = self._pinned.to_read(first) if isinstance(first, RunRequested) else None
        if config is None or not isinstance(first, RunRequested):
            return None
        if fold(config, events).envelope.lifecycle != "terminated":
            return None
        return self._remember(config, first.request, events)

    def _note_finished(self, run_id: RunId) -> None:
        self._finished[run_id] = None
        while len(self._finished) > FINISHED_RUNS_KEPT:
            oldest, _ = self._finished.popitem(last=False)
            self._forget(oldest)

    def _forget(self, run_id: RunId) -> None:
        self._unsure.pop(run_id, None)
        self._said_again.pop(run_id, None)
        self._room.forget(run_id)
        for table in (self._states, self._rules, self._logged, self._events, self._owed, self._shown_from):
            table.pop(run_id, None)


def _entry(config: PipelineConfig, event: Event, after: Envelope) -> Entry:
    return Entry(config.name, event, after.lifecycle == "terminated", after.lifecycle, after.terminal_reason)

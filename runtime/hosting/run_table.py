"""The runs that one supervisor drives: decide, keep the record, and only then hand out commands.

Every `SupervisorHost` owns one `RunTable` and carries out what it returns. It is not thread-safe. What it remembers of
runs is in `RunBooks`, what became of writes that failed in `UnconfirmedRecords`, and who may begin in `RunQuotas`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from runtime.errors import InputError, InterruptError, SettingsError, StateStorageError, UnknownNameError
from runtime.hosting.admission import Quotas
from runtime.hosting.logged_runs import LoggedRun, LoggedRuns, entry_of
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.hosting.rate_limits import RateLimiter
from runtime.hosting.run_books import RunBooks
from runtime.hosting.run_quotas import RunQuotas
from runtime.hosting.snapshots import RunSnapshots
from runtime.hosting.unconfirmed_records import UnconfirmedRecords
from runtime.hosting.write_batch import RunBatch
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId, StageName, new_run_id
from runtime.run.bounds import check_limits
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.run.interrupts import refusal
from runtime.store.run_log import RunLog
from runtime.supervision.commands import ClientEvent, Command
from runtime.supervision.decide import decide
from runtime.supervision.events import (
    Event,
    InterruptAnswered,
    Payload,
    QuotaExhausted,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    TimerFired,
)
from runtime.supervision.replay import client_events_of, decisions
from runtime.supervision.state import Decision, RunState

log = logging.getLogger(__name__)

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
        self._room = RunQuotas(quotas, rates, clock)
        self._logged_runs = LoggedRuns(run_log, self._pinned)
        self._log = run_log
        self._epoch = epoch if owner is None else run_log.take_over(owner)
        self._snapshots = RunSnapshots(run_log, self._epoch)
        self._batch: RunBatch | None = None
        self._clock = clock
        self._books = RunBooks()
        self._unconfirmed = UnconfirmedRecords()

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
        if run_id is not None and run_id not in self._books and (events := self._log.events(run_id)):
            return run_id, self._take_up(events)
        run_id = run_id or new_run_id(self._clock.now_ms())
        if run_id in self._books:
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
            if row.run_id in self._books:
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
        if run_id is not None and run_id in self._books:
            return run_id, []
        if run_id is not None and (forked := self._log.events(run_id)):
            return run_id, self._take_up(forked, may_wait=True)
        run_id = run_id or new_run_id(self._clock.now_ms())
        copy, entries = self._logged_runs.copied(source, at_seq, run_id)
        self._log.append_all(entries, self._epoch)
        self._remember(copy)
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
        if self._unconfirmed.is_replayed(run_id, payload, self._batch):
            return self._settled(run_id)
        state = self._books.states.get(run_id)
        if state is None:
            log.info("event.unknown_run", extra={"run_id": run_id, "event": type(payload).__name__})
            return []
        config = self._books.rules[run_id]
        if isinstance(payload, TimerFired) and state.envelope.lifecycle == "waiting" and self._room.must_queue(run_id):
            payload = TimerFired(payload.timer_id, queued=True)
        event = Event(run_id, self._books.logged[run_id] + 1, self._clock.now_ms(), payload)
        decision = decide(config, state, event)
        if decision.ignored is not None:
            fields = {"run_id": run_id, "event": type(payload).__name__, "reason": decision.ignored}
            log.debug("event.ignored", extra=fields)
            return self._settled(run_id)
        entry = entry_of(config, event, decision.state.envelope)
        if self._batch is not None:
            place = self._room.place(run_id)
            self._batch.add(entry, self._books.kept(run_id, place))
            return [*self._settled(run_id), *self._took_effect(event, decision)]
        try:
            self._log.append_all([entry], self._epoch)
        except StateStorageError:
            self._unconfirmed.failed(run_id, [payload])
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
            if run_id in self._books:
                self._recorded(run_id, before.state, before.logged)

    def _recorded(self, run_id: RunId, before: RunState, logged_before: int) -> None:
        """What happened to a run since then is on record."""
        state, config_hash = self._books.states[run_id], self._books.rules[run_id].config_hash
        self._room.book(run_id, before.envelope, state.envelope)
        self._snapshots.keep_when_due(run_id, logged_before, self._books.logged[run_id], state, config_hash)

    def _take_back(self, batch: RunBatch) -> None:
        """Leave every run as it was before the batch, and owe again what was handed out in it."""
        for run_id in batch.opened:
            self._forget(run_id)  # whoever asked asks again, under the same id; the log says then whether it was kept
        for run_id, before in batch.before.items():
            if run_id not in self._books:
                continue
            self._books.put_back(run_id, before)
            self._room.put_back(run_id, before.state.envelope, before.place)
            self._unconfirmed.failed(run_id, batch.payloads[run_id])
            if any(isinstance(payload, QuotaExhausted) for payload in batch.payloads[run_id]):
                self._room.tell_again(run_id)
        named = dict.fromkeys([*(run_id for run_id, _ in batch.replayed), *batch.settled])
        self._unconfirmed.requeue(batch, (run_id for run_id in named if run_id in self._books))

    def _settled(self, run_id: RunId) -> list[Command]:
        return self._unconfirmed.take_pending(run_id, self._batch)

    def _took_effect(self, event: Event, decision: Decision) -> tuple[Command, ...]:
        run_id = event.run_id
        self._books.advance(event, decision)
        self._room.note(run_id, decision.state.envelope)
        if decision.state.envelope.lifecycle == "terminated":
            for oldest in self._books.note_finished(run_id):
                self._forget(oldest)
        return decision.commands

    def _make_sure(self, run_id: RunId) -> None:
        """After a record failed, read what the log has: an event that was kept after all takes effect now."""
        if run_id not in self._unconfirmed:
            return
        books = self._books
        for event in self._log.events(run_id, books.logged[run_id]):
            before = books.states[run_id].envelope
            decision = decide(books.rules[run_id], books.states[run_id], event)
            self._unconfirmed.was_kept(run_id, event.payload, self._took_effect(event, decision))
            self._room.book(run_id, before, decision.state.envelope)
        self._unconfirmed.confirmed(run_id)

    def _take_up_standing(self, run_id: RunId) -> list[Command]:
        """Drive a run of the log from its newest snapshot, or from its beginning where there is none of use."""
        standing = self._snapshots.newest(run_id)
        if standing is None:
            return self._take_up(self._log.events(run_id))
        request = standing.state.envelope.request
        began = RunRequested(request, config_hash=standing.config_hash)
        config = self._pinned.to_go_on(began, f"run {run_id} began; it cannot go on")
        self._open(run_id, config, request)
        self._books.stand_at(run_id, standing.seq, standing.state)
        for event, _, decision in decisions(config, self._log.events(run_id, standing.seq), standing.state):
            self._took_effect(event, decision)
        self._room.note(run_id, self._books.states[run_id].envelope)
        if self._books.states[run_id].envelope.lifecycle == "terminated":
            return []
        return self._adopt(run_id, may_wait=False)

    def _take_up(self, events: list[Event], may_wait: bool = False) -> list[Command]:
        """Drive a run of the log from where it stands; where it `may_wait`, as soon as there is room for it."""
        run = self._logged_runs.to_go_on(events)
        if self._remember(run).envelope.lifecycle == "terminated":
            return []
        return self._adopt(events[0].run_id, may_wait)

    def _adopt(self, run_id: RunId, may_wait: bool) -> list[Command]:
        try:
            queued = may_wait and self._room.must_queue(run_id)
            said = f"taken up from the log at event {self._books.logged[run_id]}"
            return self.handle(run_id, RunAdopted(said, queued))
        except Exception:
            self._forget(run_id)
            raise

    def _remember(self, run: LoggedRun) -> RunState:
        """Take a run of the log into the table as it stands."""
        run_id = run.events[0].run_id
        self._open(run_id, run.config, run.request)
        for event, _, decision in decisions(run.config, run.events):
            self._took_effect(event, decision)
        return self._books.states[run_id]

    def envelope(self, run_id: RunId) -> Envelope:
        """The envelope of a run as it stands. Raises UnknownNameError."""
        return self._state(run_id).envelope

    def is_over(self, run_id: RunId) -> bool:
        """True when the run has ended. Raises UnknownNameError."""
        return self._state(run_id).envelope.lifecycle == "terminated"

    def client_events(self, run_id: RunId, after_seq: int = 0) -> list[ClientEvent]:
        """What callers may see of a run, from `after_seq` (exclusive) on. Raises UnknownNameError."""
        self._state(run_id)
        known = self._books.shown_since(run_id, after_seq)
        if known is not None:
            return known
        # Of what was before the snapshot, the log tells.
        return [
            event
            for event in client_events_of(self._books.rules[run_id], self._log.events(run_id))
            if event.seq > after_seq
        ]

    def at_work(self, run_id: RunId) -> dict[str, StageName]:
        """The attempts that are under way, by key, with their stages; none of a run that is not in the table."""
        state = self._books.states.get(run_id)
        return {} if state is None else {key: entry.stage for key, entry in state.in_flight.items()}

    def rules_of(self, run_id: RunId) -> PipelineConfig:
        """The rules that a run began under. Raises UnknownNameError."""
        self._state(run_id)
        return self._books.rules[run_id]

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
        return self._books.running

    @property
    def has_candidates(self) -> bool:
        """True when `admit` may have something to say."""
        return self._room.has_candidates

    def _open(self, run_id: RunId, config: PipelineConfig, request: Request) -> bool:
        """Make room in the table for a run; True when the quotas have room for it as well."""
        self._books.open(run_id, config)
        if self._batch is not None:
            self._batch.opened.append(run_id)
        return self._room.open(run_id, request, request.priority or config.priority)

    def _state(self, run_id: RunId) -> RunState:
        state = self._books.states.get(run_id)
        if state is not None:
            return state
        # One that is over may not be in the table any more, or never was in this one.
        finished = self._logged_runs.finished(run_id)
        if finished is None:
            raise UnknownNameError(f"no run '{run_id}' is known here", name=run_id, known=[])
        return self._remember(finished)

    def _forget(self, run_id: RunId) -> None:
        self._unconfirmed.forget(run_id)
        self._room.forget(run_id)
        self._books.forget(run_id)

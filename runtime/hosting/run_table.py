"""Drives the runs of one supervisor: decides, records, and only then returns commands.

Every `SupervisorHost` owns one `RunTable` and carries out the commands that it returns. It is not thread-safe. The
state of runs is in `RunBooks`, failed writes are in `UnconfirmedRecords`, admission is in `RunQuotas`. (Over 400 lines:
every way in which an event is decided, recorded and taken back is held together here.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from runtime.errors import InputError, InterruptError, JeevesError, StateStorageError, UnknownNameError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.rate_limits import RateLimiter
from runtime.hosting.logged_runs import LoggedRun, LoggedRuns, adoption_of, entry_of, is_of_one_run
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.hosting.run_books import RunBooks
from runtime.hosting.run_meter import RunMeter
from runtime.hosting.run_quotas import RunQuotas
from runtime.hosting.snapshots import RunSnapshots
from runtime.hosting.unconfirmed_records import UnconfirmedRecords
from runtime.hosting.write_batch import RunBatch, observed
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.run_modes import check_run_mode
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId, StageName, new_run_id
from runtime.primitives.spans import LateSpan, emit
from runtime.run.bounds import check_limits
from runtime.run.envelope import SCHEMA_VERSION, Envelope, InterruptResponse, Request
from runtime.run.interrupts import refusal
from runtime.store.run_log import Entry, RunLog
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
from runtime.supervision.run_counts import Count
from runtime.supervision.state import Decision, RunState

log = logging.getLogger(__name__)

NO_QUOTAS = Quotas()


class RunTable:
    """Drives runs by id, with their states and client events."""

    def __init__(
        self,
        pipelines: Mapping[str, PipelineConfig],
        run_log: RunLog,
        clock: Clock,
        quotas: Quotas = NO_QUOTAS,
        rates: RateLimiter | None = None,
        owner: str | None = None,
        epoch: int | None = None,
        calls_models: bool = True,
        meter: RunMeter | None = None,
    ) -> None:
        """Take over the log if there is an `owner`: later writes of its former owner are refused.

        A caller that has taken it over already, with a lease, gives the `epoch` instead. `calls_models`: False when
        its agents reason without models. `meter` counts events once they are recorded.
        """
        self._meter = meter or RunMeter()
        self._calls_models = calls_models
        self._pinned = PinnedPipelines(pipelines, run_log)
        self.quotas = RunQuotas(quotas, rates, clock)
        self._logged_runs = LoggedRuns(run_log, self._pinned)
        self._log = run_log
        self._epoch = epoch if owner is None else run_log.take_over(owner)
        self._snapshots = RunSnapshots(run_log, self._epoch)
        self._batch: RunBatch | None = None
        self._clock = clock
        self._books = RunBooks()
        self._unconfirmed = UnconfirmedRecords()

    def submit(self, request: Request, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """Accept a request: its first event is recorded before this returns. Over the quotas it waits for admission.

        A run id that is known already changes nothing. Raises UnknownNameError for an unknown pipeline,
        RateLimitedError for a user who submits too often or has used up a quota, OverloadedError if too many runs wait,
        InputError for limits that the pipeline does not have, a run mode that it cannot run in and requests that cannot
        be encoded, and
        StateStorageError if nothing could be written.
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
        check_run_mode(config, request.run_mode)
        request = self.quotas.permitted(request)
        self._pinned.keep(config)
        begins = self._open(run_id, config, request)
        try:
            return run_id, self.handle(run_id, self._requested(request, not begins, config))
        except Exception:
            self._forget(run_id)
            raise

    def recover(self) -> Iterator[tuple[RunId, list[Command]]]:
        """Recover the unfinished runs of the log, oldest first; the commands reissue what was in flight.

        A host that owns the log calls it once at its start, before anything else, and again from the beginning if the
        log fails meanwhile. A run continues under the rules that it started under; one that cannot, because its rules
        were not stored or are incompatible with the current agents, or because its log cannot be read, stays in the log
        untouched.
        """
        for row in self._log.unfinished():
            if row.run_id in self._books:
                continue
            try:
                yield row.run_id, self._take_up_standing(row.run_id)
            except JeevesError as error:
                if not is_of_one_run(error):
                    raise
                log.error("run.not_taken_up", extra={"run_id": row.run_id, "reason": error.message})

    def catch_up(self, run_id: RunId) -> list[Command]:
        """Return the commands of failed records that were kept after all. Raises StateStorageError while that is open.

        A host calls it some time after `handle` or `answer` raised; any later event of the run does the same.
        """
        self._make_sure(run_id)
        return self._settled(run_id)

    def admit(self) -> Iterator[tuple[RunId, list[Command]]]:
        """Start or continue waiting runs by priority within the quotas, and stop runs of users who used up a quota.

        A host calls it after every event. It yields run by run, so that the commands of one are not lost if the next
        cannot be recorded.
        """
        while (overspent := self.quotas.next_overspent()) is not None:
            run_id, exhausted = overspent
            try:
                commands = self.handle(run_id, exhausted)
            except StateStorageError:
                self.quotas.tell_again(run_id)
                raise
            yield run_id, commands
        while (admitted := self.quotas.next_run()) is not None:
            yield admitted, self.handle(admitted, RunAdmitted())

    def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> list[Command]:
        """Record a user's answer. Raises InterruptError with the reason if it is refused; nothing is changed then."""
        self._make_sure(run_id)
        envelope = self._state(run_id).envelope
        now_ms = self._clock.now_ms()
        refused = refusal(envelope.interrupt, interrupt_id, user_id, envelope.request.user_id, now_ms)
        if refused is None and envelope.lifecycle != "waiting":
            refused = f"run {run_id} is {envelope.lifecycle} and waits for no answer"
        if refused is not None:
            raise InterruptError(refused, run_id=run_id, interrupt_id=interrupt_id)
        return self.handle(run_id, InterruptAnswered(interrupt_id, user_id, response, self.quotas.must_queue(run_id)))

    def fork(self, source: RunId, at_seq: int, run_id: RunId | None = None) -> tuple[RunId, list[Command]]:
        """Start a run with the events of `source` up to `at_seq` (inclusive).

        A run id that is known already changes nothing. Raises UnknownNameError if there is no such run or event, and
        SettingsError if its pipeline has changed and it cannot continue under the rules that it started under.
        """
        if run_id is not None and run_id in self._books:
            return run_id, []
        if run_id is not None and (forked := self._log.events(run_id)):
            return run_id, self._take_up(forked, may_wait=True)
        run_id = run_id or new_run_id(self._clock.now_ms())
        copy, entries = self._logged_runs.copied(source, at_seq, run_id)
        self.quotas.refuse_beyond_reserved(copy.request.user_id)
        state = self._remember(copy)
        try:
            said, must_queue = f"forked from {source} at event {at_seq}", self.quotas.must_queue(run_id)
            adopted = RunAdopted(said, must_queue, calls_models=self._calls_models)
            event, decision, entry = adoption_of(copy, state, adopted, self._clock.now_ms())
            self._write([*entries, *entry])
        except Exception:
            self._forget(run_id)
            raise
        for _ in entry:
            self._tell(*observed(copy.config, state, event, decision))
        commands = [command for _ in entry for command in self._took_effect(event, decision)]
        self._recorded(run_id, state, at_seq)
        return run_id, commands

    def handle(self, run_id: RunId, payload: Payload) -> list[Command]:
        """Record an event and return the commands that follow from it.

        Deciding is pure, so it comes first: an event that changes nothing (late, doubled, of an unknown run) is not
        recorded, and no state changes and no command is returned before the record is kept. Raises StateStorageError if
        it may not have been kept: the host repeats it later, and gets the commands if it was kept after all.
        """
        self._make_sure(run_id)
        if self._unconfirmed.is_replayed(run_id, payload, self._batch):
            return self._settled(run_id)
        state = self._books.states.get(run_id)
        if state is None:
            log.info("event.unknown_run", extra={"run_id": run_id, "event": type(payload).__name__})
            return []
        config = self._books.rules[run_id]
        if isinstance(payload, TimerFired) and state.envelope.lifecycle == "waiting" and self.quotas.must_queue(run_id):
            payload = TimerFired(payload.timer_id, queued=True)
        event = Event(run_id, self._books.logged[run_id] + 1, self._clock.now_ms(), payload)
        decision = decide(config, state, event)
        if decision.ignored is not None:
            fields = {"run_id": run_id, "event": type(payload).__name__, "reason": decision.ignored}
            log.debug("event.ignored", extra=fields)
            return self._settled(run_id)
        entry, seen = entry_of(config, event, decision.state.envelope), observed(config, state, event, decision)
        if self._batch is not None:
            place = self.quotas.place(run_id)
            self._batch.add(entry, self._books.kept(run_id, place), seen)
            return [*self._settled(run_id), *self._took_effect(event, decision)]
        try:
            self._write([entry])
        except StateStorageError:
            self._unconfirmed.failed(run_id, [payload])
            raise
        self._tell(*seen)
        commands = self._took_effect(event, decision)
        self._recorded(run_id, state, event.seq - 1)
        return [*self._settled(run_id), *commands]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Record all events handled inside in one write. Their commands may not be carried out before this ends.

        Raises StateStorageError if it may not have been kept: all of its events are then as after a failed `handle`.
        """
        self._batch = batch = RunBatch()
        try:
            yield
            self._batch = None
            if batch.entries:
                self._write(batch.entries)
        except BaseException:
            self._batch = None
            self._take_back(batch)
            raise
        self._tell(batch.counts, batch.spans)
        for run_id, before in batch.before.items():
            if run_id in self._books:
                self._recorded(run_id, before.state, before.logged)

    def _write(self, entries: list[Entry]) -> None:
        """Append entries to the log, and count how long that took. Raises StateStorageError."""
        started_s = self._clock.monotonic_s()
        self._log.append_all(entries, self._epoch)
        self._meter.wrote(self._clock.monotonic_s() - started_s)

    def _tell(self, counts: list[Count], spans: list[LateSpan]) -> None:
        """Count what recorded events add to the metrics, and emit the spans that they complete."""
        self._meter.add(counts)
        for span in spans:
            emit(span)

    def _recorded(self, run_id: RunId, before: RunState, logged_before: int) -> None:
        """Book the spending of a run since `before`, and save a snapshot if one is due, after a write."""
        state, config_hash = self._books.states[run_id], self._books.rules[run_id].config_hash
        self.quotas.book(run_id, before.envelope, state.envelope)
        self._snapshots.keep_when_due(run_id, logged_before, self._books.logged[run_id], state, config_hash)

    def _take_back(self, batch: RunBatch) -> None:
        """Restore every run to its state before a failed batch, and requeue the pending commands handed out in it."""
        for run_id in batch.opened:
            self._forget(run_id)  # the caller repeats it with the same id; the log then shows whether it was kept
        for run_id, before in batch.before.items():
            if run_id not in self._books:
                continue
            self._books.put_back(run_id, before)
            self.quotas.put_back(run_id, before.state.envelope, before.place)
            self._unconfirmed.failed(run_id, batch.payloads[run_id])
            if any(isinstance(payload, QuotaExhausted) for payload in batch.payloads[run_id]):
                self.quotas.tell_again(run_id)
        named = dict.fromkeys([*(run_id for run_id, _ in batch.replayed), *batch.settled])
        self._unconfirmed.requeue(batch, (run_id for run_id in named if run_id in self._books))

    def _settled(self, run_id: RunId) -> list[Command]:
        return self._unconfirmed.take_pending(run_id, self._batch)

    def _took_effect(self, event: Event, decision: Decision) -> tuple[Command, ...]:
        run_id = event.run_id
        self._books.advance(event, decision)
        self.quotas.note(run_id, decision.state.envelope)
        if decision.state.envelope.lifecycle == "terminated":
            for oldest in self._books.note_finished(run_id):
                self._forget(oldest)
        return decision.commands

    def _make_sure(self, run_id: RunId) -> None:
        """Read the log after a record failed: an event that was kept after all takes effect now."""
        if run_id not in self._unconfirmed:
            return
        books = self._books
        for event in self._log.events(run_id, books.logged[run_id]):
            state = books.states[run_id]
            before = state.envelope
            decision = decide(books.rules[run_id], state, event)
            self._tell(*observed(books.rules[run_id], state, event, decision))
            self._unconfirmed.was_kept(run_id, event.payload, self._took_effect(event, decision))
            self.quotas.book(run_id, before, decision.state.envelope)
        self._unconfirmed.confirmed(run_id)

    def _take_up_standing(self, run_id: RunId) -> list[Command]:
        """Recover a run of the log from its newest snapshot, or from its first event if there is no usable one."""
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
        self.quotas.note(run_id, self._books.states[run_id].envelope)
        if self._books.states[run_id].envelope.lifecycle == "terminated":
            return []
        return self._adopt(run_id, may_wait=False)

    def _take_up(self, events: list[Event], may_wait: bool = False) -> list[Command]:
        """Recover a run from its events; if it `may_wait`, it continues as soon as there is room for it."""
        run = self._logged_runs.to_go_on(events)
        if self._remember(run).envelope.lifecycle == "terminated":
            return []
        return self._adopt(events[0].run_id, may_wait)

    def _adopt(self, run_id: RunId, may_wait: bool) -> list[Command]:
        try:
            queued = may_wait and self.quotas.must_queue(run_id)
            said = f"taken up from the log at event {self._books.logged[run_id]}"
            return self.handle(run_id, RunAdopted(said, queued, calls_models=self._calls_models))
        except Exception:
            self._forget(run_id)
            raise

    def _remember(self, run: LoggedRun) -> RunState:
        """Add a run of the log to the table in its current state."""
        run_id = run.events[0].run_id
        self._open(run_id, run.config, run.request)
        for event, _, decision in decisions(run.config, run.events):
            self._took_effect(event, decision)
        return self._books.states[run_id]

    def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run. Raises UnknownNameError."""
        return self._state(run_id).envelope

    def is_over(self, run_id: RunId) -> bool:
        """Return whether the run has ended. Raises UnknownNameError."""
        return self.envelope(run_id).lifecycle == "terminated"

    def client_events(self, run_id: RunId, after_seq: int = 0) -> list[ClientEvent]:
        """Return the client events of a run after `after_seq`. Raises UnknownNameError."""
        self._state(run_id)
        known = self._books.shown_since(run_id, after_seq)
        if known is not None:
            return known
        # Client events from before the snapshot are in the log.
        every = client_events_of(self._books.rules[run_id], self._log.events(run_id))
        return [event for event in every if event.seq > after_seq]

    def at_work(self, run_id: RunId) -> dict[str, StageName]:
        """Return the stages of the attempts in flight, by key; none for a run that is not in the table."""
        state = self._books.states.get(run_id)
        return {} if state is None else {key: entry.stage for key, entry in state.in_flight.items()}

    def rules_of(self, run_id: RunId) -> PipelineConfig:
        """Return the rules that a run started under. Raises UnknownNameError."""
        self._state(run_id)
        return self._books.rules[run_id]

    def check_owner(self) -> None:
        """Raise FencedError if another owner took the log over; a host checks it at every heartbeat.

        A deposed owner with nothing to write would never notice otherwise, and keep messages of the new one from being
        accepted.
        """
        if self._epoch is not None:
            self._log.check_owner(self._epoch)

    @property
    def epoch(self) -> int | None:
        """The epoch under which this table's owner writes; None without an owner."""
        return self._epoch

    @property
    def running(self) -> int:
        """The number of runs that are not finished."""
        return self._books.running

    @property
    def queued(self) -> int:
        """The number of accepted runs that wait for room."""
        return self.quotas.waiting

    @property
    def has_candidates(self) -> bool:
        """True if `admit` may have a run to start, continue or stop."""
        return self.quotas.has_candidates

    def _open(self, run_id: RunId, config: PipelineConfig, request: Request) -> bool:
        """Add a run to the table; return True if the quotas have room for it, too."""
        self._books.open(run_id, config)
        if self._batch is not None:
            self._batch.opened.append(run_id)
        return self.quotas.open(run_id, request, request.priority or config.priority)

    def _requested(self, request: Request, queued: bool, config: PipelineConfig) -> RunRequested:
        return RunRequested(request, queued, config.config_hash, SCHEMA_VERSION, self._calls_models)

    def _state(self, run_id: RunId) -> RunState:
        state = self._books.states.get(run_id)
        if state is not None:
            return state
        # A finished run may have been removed from the table, or was never in it.
        finished = self._logged_runs.finished(run_id)
        if finished is None:
            raise UnknownNameError(f"no run '{run_id}' is known here", name=run_id, known=[])
        return self._remember(finished)

    def _forget(self, run_id: RunId) -> None:
        self._unconfirmed.forget(run_id)
        self.quotas.forget(run_id)
        self._books.forget(run_id)

"""Implements a supervisor without I/O: inputs from agents, callers and timers, outputs for a shell.

    on_report, on_timer, submit …  →  a job for the run table  →  write  →  frames, replies, timers to set

Every input returns outputs for its shell (`runtime.hosting.host_outputs`). Nothing is sent, replied or acknowledged
before the events that it rests on are recorded; inputs that no sender would repeat are retried until they are. There is
no event loop, thread or clock in here: the shell calls `write` on `WriteDue`, and passes the time of a monotonic clock.
The run log is reached through the run table alone, in `write`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from runtime.agents.reporter import Report
from runtime.errors import FencedError, StateStorageError
from runtime.hosting.attempt_tracker import AttemptTracker
from runtime.hosting.command_dispatch import CommandDispatch, Directory
from runtime.hosting.group_commit import Job, collect_until_failure
from runtime.hosting.host_outputs import (
    Deposed,
    LeaseNotRenewed,
    NotRecorded,
    Output,
    Recovered,
    Reply,
    ReportRecorded,
    RunChanged,
    SendStage,
)
from runtime.hosting.record_queue import RecordQueue
from runtime.hosting.report_inbox import ReportInbox
from runtime.hosting.run_table import RunTable
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.run.envelope import InterruptResponse, Request
from runtime.supervision.commands import Command
from runtime.supervision.events import ActorLost, Payload, StageFailed, TimerFired

TAKEN_UP_AT_ONCE = 100

Asked = tuple[RunId, list[Command]]


def _no_lease() -> None:
    """Renew nothing: no other owner can take over a log that only this process uses."""


class SupervisorHost:
    """Decides for one supervisor through its `RunTable`. `renew_lease` raises FencedError if another owner took over.

    `sends_again`: messages may get lost and are resent.
    """

    def __init__(
        self,
        table: RunTable,
        directory: Directory,
        renew_lease: Callable[[], None] = _no_lease,
        inbox: ReportInbox | None = None,
        sends_again: bool = True,
    ) -> None:
        self._table = table
        self._renew_lease = renew_lease
        self._inbox = inbox or ReportInbox()
        self._attempts = AttemptTracker()
        self._dispatch = CommandDispatch(directory, table.rules_of, self._attempts, sends_again)
        self._outputs: list[Output] = []
        self._records = RecordQueue(table, self._emit)
        self._held: list[Job[Any]] = []
        self._is_admitting = False
        self._now_ms = 0
        self.is_recovered = False

    def begin(self, takes_up: bool) -> list[Output]:
        """Recover the unfinished runs of the log if `takes_up` is set; requests are held back until that is done."""
        if takes_up:
            self._take_up_some()
        else:
            self._recovered()
        return self._taken()

    def submit(self, token: object, request: Request, run_id: RunId | None = None) -> list[Output]:
        """Accept a request; a caller whose request failed repeats it with the same id."""
        return self._ask(token, run_id, lambda: self._table.submit(request, run_id), is_said_again=True)

    def fork(self, token: object, source: RunId, at_seq: int, run_id: RunId | None = None) -> list[Output]:
        """Start a run with the events of another, up to `at_seq` (inclusive)."""
        return self._ask(
            token, run_id, lambda: self._table.fork(source, at_seq, run_id), is_said_again=True, is_one_event=False
        )

    def answer(
        self, token: object, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse
    ) -> list[Output]:
        """Record a user's answer to an interrupt of a run."""
        return self._ask(token, run_id, lambda: (run_id, self._table.answer(run_id, interrupt_id, user_id, response)))

    def demand(self, token: object, run_id: RunId, payload: Payload) -> list[Output]:
        """Record a caller's event for a run; the reply is an UnknownNameError if there is no such run."""

        def action() -> Asked:
            self._table.envelope(run_id)
            return run_id, self._table.handle(run_id, payload)

        return self._ask(token, run_id, action)

    def withdraw(self, token: object) -> list[Output]:
        """Drop the pending jobs of a caller that is gone."""
        self._held = [job for job in self._held if job.token is not token]
        self._records.withdraw(token)
        return self._taken()

    def on_report(self, report_id: MessageId, report: Report, origin: object = None) -> list[Output]:
        """Record an agent's report on an attempt, once; the outputs that follow from it carry `origin`."""
        arrival = self._inbox.arrives(report_id)
        run_id = report.key.run_id
        if arrival == "recorded":
            self._outputs.append(ReportRecorded(report_id, report.agent, run_id, origin))
        elif arrival == "new":

            def then(commands: list[Command]) -> None:
                self._report_recorded(report_id, report, commands, origin)

            def failed(error: Exception) -> None:
                self._inbox.has_failed(report_id)
                self._outputs.append(NotRecorded(run_id, error, report_id))
                self._settle_after(error, run_id)

            self._add(Job(lambda: self._handle_all(report), then, failed, is_one_event=len(report.payloads) < 2))
        return self._taken()

    def on_incarnation(self, address: Address, incarnation: str, origin: object = None) -> list[Output]:
        """Record the current process of an agent; attempts of a former one are lost."""
        self._lose(address, self._attempts.on_incarnation(address, incarnation), origin)
        return self._taken()

    def on_refused(self, address: Address, key: StageKey) -> list[Output]:
        """Fail an attempt whose address the bus does not know."""
        self._dispatch.give_up(key)
        error = f"the bus could not hand the stage to {address}: nobody is expected there"
        self._record_event(key.run_id, StageFailed(key, "internal", error))
        return self._taken()

    def on_timer(self, run_id: RunId, timer_id: str) -> list[Output]:
        """Record that a timer of a run is due."""
        self._record_event(run_id, TimerFired(timer_id))
        return self._taken()

    def on_retry(self, number: int) -> list[Output]:
        """Queue the job of a `RetryIn` whose delay is over."""
        self._records.retry(number)
        return self._taken()

    def on_heartbeat(self) -> list[Output]:
        """Renew the lease, and admit runs that waited for quotas that only time restores."""
        try:
            self._renew_lease()
        except FencedError as error:
            self._records.depose(error)
        except StateStorageError as error:
            self._emit(LeaseNotRenewed(error))
        self._admit()
        return self._taken()

    def on_quotas(self) -> list[Output]:
        """Stop runs whose users have used up a quota elsewhere, and admit those that may go on."""
        self._admit()
        return self._taken()

    def on_bus_lost(self) -> None:
        """Resend all stages that are not acknowledged: what the bus had in hand is gone."""
        self._dispatch.lose()

    def write(self, now_ms: int) -> list[Output]:
        """Record the inputs since the last write, and return the outputs that follow from them."""
        self._now_ms = now_ms
        self._records.write()
        return self._taken()

    def due(self, now_ms: int) -> list[SendStage]:
        """Return the unacknowledged stages that are to be resent now."""
        return [] if self._records.is_deposed else self._dispatch.due(now_ms)

    def next_due_ms(self) -> int | None:
        """Return when a stage may have to be resent next; None if all are acknowledged."""
        return self._dispatch.next_due_ms()

    def awaits(self, message_id: MessageId) -> bool:
        """Return True while a message is neither acknowledged nor cancelled."""
        return self._dispatch.awaits(message_id)

    def _ask(
        self,
        token: object,
        run_id: RunId | None,
        action: Callable[[], Asked],
        is_said_again: bool = False,
        is_one_event: bool = True,
    ) -> list[Output]:
        def then(asked: Asked) -> None:
            self._carry_out(*asked)
            self._outputs.append(Reply(token, asked[0]))
            self._admit()

        def failed(error: Exception) -> None:
            self._outputs.append(Reply(token, run_id, error))
            if run_id is not None and not is_said_again:
                self._settle_after(error, run_id)

        self._add(Job(action, then, failed, token, is_one_event=is_one_event))
        return self._taken()

    def _handle_all(self, report: Report) -> list[Command]:
        run_id = report.key.run_id
        if len(report.payloads) == 1:
            return self._table.handle(run_id, report.payloads[0])
        return [command for payload in report.payloads for command in self._table.handle(run_id, payload)]

    def _report_recorded(self, report_id: MessageId, report: Report, commands: list[Command], origin: object) -> None:
        key, agent = report.key, report.agent
        self._inbox.is_recorded(report_id)
        self._dispatch.acknowledge(key, self._now_ms)
        is_held = self._attempts.on_report(key, agent, report.incarnation, report.has_ended)
        if report.was_refused or not is_held:
            self._lose(agent, {key.run_id: (key,)}, origin)
        self._carry_out(key.run_id, commands, origin)
        self._outputs.append(ReportRecorded(report_id, agent, key.run_id, origin, report.has_ended))
        self._admit()

    def _lose(self, address: Address, lost: dict[RunId, tuple[StageKey, ...]], origin: object) -> None:
        """Record attempts as lost with their process, so that they are reissued; no other sender reports that."""
        stage = self._dispatch.stage_of(address)
        if stage is None:
            return
        for run_id, keys in lost.items():
            for key in keys:
                self._dispatch.forget(key)
            self._record_event(run_id, ActorLost(stage, keys), origin)

    def _record_event(self, run_id: RunId, payload: Payload, origin: object = None) -> None:
        """Record an event that no sender would repeat, and retry until the log has it."""

        def then(commands: list[Command]) -> None:
            self._carry_out(run_id, commands, origin)
            self._admit()

        self._records.retry_until_recorded(run_id, lambda: self._table.handle(run_id, payload), then, is_one_event=True)

    def _settle_after(self, error: Exception, run_id: RunId) -> None:
        """Find out whether an event whose write failed was recorded after all."""
        if isinstance(error, StateStorageError):
            self._records.settle(run_id, lambda commands: self._carry_out(run_id, commands))

    def _carry_out(self, run_id: RunId, commands: list[Command], origin: object = None) -> None:
        self._outputs += self._dispatch.outputs(run_id, commands, self._now_ms, origin)
        self._outputs.append(RunChanged(run_id))

    def _admit(self) -> None:
        """Start or continue waiting runs while the quotas allow it."""
        if self._is_admitting or not self._table.has_candidates:
            return
        self._is_admitting = True

        def then(admitted: list[Asked]) -> None:
            self._is_admitting = False
            for run_id, commands in admitted:
                self._carry_out(run_id, commands)
            if admitted:
                self._admit()  # one of them may have stopped short because of the log

        def given_up() -> None:
            self._is_admitting = False

        self._records.retry_until_recorded(None, lambda: collect_until_failure(self._table.admit()), then, given_up)

    def _take_up_some(self) -> None:
        """Recover up to `TAKEN_UP_AT_ONCE` runs in one write, and repeat until none is left."""

        def action() -> list[Asked]:
            return collect_until_failure(itertools.islice(self._table.recover(), TAKEN_UP_AT_ONCE))

        def then(taken_up: list[Asked]) -> None:
            for run_id, commands in taken_up:
                self._carry_out(run_id, commands)
            if taken_up:
                self._take_up_some()
            else:
                self._recovered()

        self._records.retry_until_recorded(None, action, then)

    def _recovered(self) -> None:
        self.is_recovered = True
        self._outputs.append(Recovered())
        held, self._held = self._held, []
        for job in held:
            self._records.add(job)
        self._admit()

    def _add(self, job: Job[Any]) -> None:
        """Add a job to the next write; hold it back until the runs of the log are recovered."""
        if self.is_recovered:
            self._records.add(job)
        else:
            self._held.append(job)

    def _emit(self, output: Output) -> None:
        self._outputs.append(output)

    def _taken(self) -> list[Output]:
        taken, self._outputs = self._outputs, []
        if self._records.is_deposed:
            return [output for output in taken if isinstance(output, Deposed)]
        return taken

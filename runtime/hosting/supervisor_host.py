"""One supervisor without I/O: what agents, callers, timers and processes say goes in, what to do about it comes out.

    on_report, on_timer, submit …  →  a job for the run table  →  write  →  frames, replies, timers to set

Every input returns what its shell is to do (`runtime.hosting.host_outputs`). Nothing is sent, replied or acknowledged
before what it rests on is recorded; what nobody would say again is tried until it is. No event loop, thread or clock is
in here: the shell calls `write` when `WriteDue` says so, and says what time it is on a clock that never goes back. The
run log is reached through the run table alone, in `write`.
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
    """Nobody else can take a log that is in this process alone."""


class SupervisorHost:
    """Decides for one supervisor through its `RunTable`. `renew_lease` raises FencedError when somebody took over.

    `sends_again`: what is sent may get lost on its way.
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

    # What goes in.

    def begin(self, takes_up: bool) -> list[Output]:
        """Take up the unfinished runs of the log, if it `takes_up` any; whoever asks meanwhile waits for that."""
        if takes_up:
            self._take_up_some()
        else:
            self._recovered()
        return self._taken()

    def submit(self, token: object, request: Request, run_id: RunId | None = None) -> list[Output]:
        """Accept a request; who was told that it failed asks again under the same id."""
        return self._ask(token, run_id, lambda: self._table.submit(request, run_id), is_said_again=True)

    def fork(self, token: object, source: RunId, at_seq: int, run_id: RunId | None = None) -> list[Output]:
        """Begin a run with the past of another, up to event `at_seq` (inclusive)."""
        return self._ask(
            token, run_id, lambda: self._table.fork(source, at_seq, run_id), is_said_again=True, is_one_event=False
        )

    def answer(
        self, token: object, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse
    ) -> list[Output]:
        """Take a person's answer to a question of a run."""
        return self._ask(token, run_id, lambda: (run_id, self._table.answer(run_id, interrupt_id, user_id, response)))

    def demand(self, token: object, run_id: RunId, payload: Payload) -> list[Output]:
        """Do to a run what a caller wants; the reply is UnknownNameError when there is no such run."""

        def action() -> Asked:
            self._table.envelope(run_id)
            return run_id, self._table.handle(run_id, payload)

        return self._ask(token, run_id, action)

    def withdraw(self, token: object) -> list[Output]:
        """Whoever asked is not there any more: what has not been done yet is not done."""
        self._held = [job for job in self._held if job.token is not token]
        self._records.withdraw(token)
        return self._taken()

    def on_report(self, report_id: MessageId, report: Report, origin: object = None) -> list[Output]:
        """Record what an agent says of an attempt, once; `origin` comes back with what follows from it."""
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
        """An agent lives in that process now: what a former one had is lost."""
        self._lose(address, self._attempts.on_incarnation(address, incarnation), origin)
        return self._taken()

    def on_refused(self, address: Address, key: StageKey) -> list[Output]:
        """The bus expects nobody at the address that an attempt was sent to."""
        self._dispatch.give_up(key)
        error = f"the bus could not hand the stage to {address}: nobody is expected there"
        self._record_event(key.run_id, StageFailed(key, "internal", error))
        return self._taken()

    def on_timer(self, run_id: RunId, timer_id: str) -> list[Output]:
        """A timer of a run is due."""
        self._record_event(run_id, TimerFired(timer_id))
        return self._taken()

    def on_retry(self, number: int) -> list[Output]:
        """What `RetryIn` asked to be called."""
        self._records.retry(number)
        return self._taken()

    def on_heartbeat(self) -> list[Output]:
        """Stay the owner of the log; and let runs begin that wait for what time alone gives back."""
        try:
            self._renew_lease()
        except FencedError as error:
            self._records.depose(error)
        except StateStorageError as error:
            self._emit(LeaseNotRenewed(error))
        self._admit()
        return self._taken()

    def write(self, now_ms: int) -> list[Output]:
        """Record what has come since the last write, and say what follows from it."""
        self._now_ms = now_ms
        self._records.write()
        return self._taken()

    def due(self, now_ms: int) -> list[SendStage]:
        """What no agent has acknowledged for so long that it is to be sent again."""
        return [] if self._records.is_deposed else self._dispatch.due(now_ms)

    def next_due_ms(self) -> int | None:
        """When `due` has something to say; None when everything has arrived."""
        return self._dispatch.next_due_ms()

    def awaits(self, message_id: MessageId) -> bool:
        """True while a message is neither acknowledged nor called off."""
        return self._dispatch.awaits(message_id)

    # What follows.

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
        self._dispatch.acknowledge(key)
        is_held = self._attempts.on_report(key, agent, report.incarnation, report.has_ended)
        if report.was_refused or not is_held:
            self._lose(agent, {key.run_id: (key,)}, origin)
        self._carry_out(key.run_id, commands, origin)
        self._outputs.append(ReportRecorded(report_id, agent, key.run_id, origin))
        self._admit()

    def _lose(self, address: Address, lost: dict[RunId, tuple[StageKey, ...]], origin: object) -> None:
        """What a process had is to be done by another; nobody else would say so."""
        stage = self._dispatch.stage_of(address)
        if stage is None:
            return
        for run_id, keys in lost.items():
            for key in keys:
                self._dispatch.acknowledge(key)
            self._record_event(run_id, ActorLost(stage, keys), origin)

    def _record_event(self, run_id: RunId, payload: Payload, origin: object = None) -> None:
        """Record something that nobody would say again, however long the log takes."""

        def then(commands: list[Command]) -> None:
            self._carry_out(run_id, commands, origin)
            self._admit()

        self._records.retry_until_recorded(run_id, lambda: self._table.handle(run_id, payload), then, is_one_event=True)

    def _settle_after(self, error: Exception, run_id: RunId) -> None:
        """Whoever said it was told that it failed, and it may be on record after all."""
        if isinstance(error, StateStorageError):
            self._records.settle(run_id, lambda commands: self._carry_out(run_id, commands))

    def _carry_out(self, run_id: RunId, commands: list[Command], origin: object = None) -> None:
        self._outputs += self._dispatch.outputs(run_id, commands, self._now_ms, origin)
        self._outputs.append(RunChanged(run_id))

    def _admit(self) -> None:
        """Let waiting runs begin or go on as far as the quotas allow."""
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
        """Take up a number of runs with one write; none when all are taken up."""

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
        """Have it done with the next write, but not before the runs of the log are known."""
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

"""The supervisor as a process: the real `RunTable`, an outbox, an inbox, and timers that die with it.

It is a host like the actor on Ray: it carries out what the table returns and decides nothing. Before it sends, the
event is in the log; what it sends comes again until it is acknowledged; it acknowledges what it has recorded. When the
log says that somebody else has taken over, it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.delivery import Inbox
from runtime.envelope import Envelope
from runtime.errors import FencedError, InterruptError, StateStorageError, UnknownNameError
from runtime.ids import MessageId, RunId, StageKey
from runtime.run_table import RunTable
from runtime.simulator.holders import Holders
from runtime.simulator.messages import Answer, Report
from runtime.simulator.speaking import Speaker
from runtime.simulator.world import Message, World
from runtime.supervision.commands import CancelStage, Command, GiveGrant, RunStage, SetTimer
from runtime.supervision.events import (
    ActorLost,
    CancelRequested,
    PauseRequested,
    Payload,
    TimerFired,
)

RETRY_MS = 700
LEASE_MS = 3_000
HEARTBEAT_MS = 1_000
SUPERVISOR = "supervisor"


class Supervisor(Speaker):
    """One life of a supervisor. `open_table` takes the log over; `is_trusting`: doubles are not looked for."""

    def __init__(
        self,
        world: World,
        open_table: Callable[[], RunTable],
        on_record: Callable[[Supervisor], None],
        on_death: Callable[[Supervisor, int], None],
        is_trusting: bool = False,
    ) -> None:
        super().__init__(world, SUPERVISOR)
        self._open_table = open_table
        self._on_record = on_record
        self._on_death = on_death
        self._is_trusting = is_trusting
        self._table: RunTable | None = None
        self._inbox = Inbox()
        self._grants = 0
        self._holders = Holders()
        self._is_ready = False
        self._checked_ms = 0
        self.epoch = 0
        self._handlers: dict[str, Callable[[Message, RunTable], None]] = {
            "submit": self._submit,
            "report": self._report,
            "refused": self._refused,
            "hello": self._hello,
            "answer": self._answer,
            "watch": self._watch,
            "pause": self._pause,
            "cancel": self._cancel,
        }
        self.after(0, self._start)

    def _start(self) -> None:
        try:
            if self._table is None:
                self._table = self._open_table()
                self.epoch = self._table.epoch or 0
            for run_id, commands in self._table.recover():
                self._carry_out(run_id, commands)
            self._is_ready = True
            self._admit(self._table)
        except FencedError:
            self.die()
        except StateStorageError:
            self.after(RETRY_MS, self._start)

    def die(self, down_ms: int = LEASE_MS) -> None:
        """Be gone; somebody else is there in `down_ms`, if nobody is yet."""
        super().die()
        self._on_death(self, down_ms)

    def receive(self, message: Message) -> None:
        if message.kind == "ack":
            self.outbox.acknowledge(message.body)
        elif self._is_ready and self._table is not None:
            try:
                self._check_lease(self._table)
                self._handlers[message.kind](message, self._table)
            except FencedError:
                self.die()
            except StateStorageError:
                return

    def _check_lease(self, table: RunTable) -> None:
        """The heartbeat, made up for when there is something to do: only an owner may speak."""
        if self.world.now_ms >= self._checked_ms + HEARTBEAT_MS:
            table.check_owner()
            self._checked_ms = self.world.now_ms

    def _submit(self, message: Message, table: RunTable) -> None:
        run_id, request = message.body
        _, commands = table.submit(request, run_id)
        if self._recorded():
            self._carry_out(run_id, commands)
            self._reply(message, "accepted", run_id)

    def _report(self, message: Message, table: RunTable) -> None:
        report: Report = message.body
        key = report.payload.key
        if not self._inbox.is_double(message.id) or self._is_trusting:
            if not self._happened(key.run_id, report.payload):
                return
            self._inbox.note(message.id)
            self.outbox.acknowledge(_message_id_of(key))
        if not self._holders.heard(report) and not self._happened(key.run_id, ActorLost(report.agent)):
            return
        self.acknowledge(message, self.epoch)

    def _refused(self, message: Message, table: RunTable) -> None:
        """An agent was told to begin an attempt that a former life of it had begun: that one is lost."""
        report: Report = message.body
        key = report.payload.key
        self._carry_out(key.run_id, table.catch_up(key.run_id))
        if _message_id_of(key) not in self.outbox or self._happened(key.run_id, ActorLost(report.agent)):
            self.outbox.acknowledge(_message_id_of(key))
            self.acknowledge(message, self.epoch)

    def _hello(self, message: Message, table: RunTable) -> None:
        """An agent is back from the dead: what its former lives held is lost, unless that is known already."""
        agent, life = message.body
        self._holders.born(agent, life)
        for run_id in self._holders.runs():
            self._carry_out(run_id, table.catch_up(run_id))
            lost = self._holders.lost(run_id, agent, life)
            if lost and not self._happened(run_id, ActorLost(agent)):
                return
            for key in lost:
                self._holders.dropped(key)
        self.acknowledge(message, self.epoch)

    def _answer(self, message: Message, table: RunTable) -> None:
        answer: Answer = message.body
        try:
            commands = table.answer(answer.run_id, answer.interrupt_id, answer.user_id, answer.response)
        except (InterruptError, UnknownNameError) as error:
            self._reply(message, "answered", (answer, error.message))
            return
        except StateStorageError:
            self.after(RETRY_MS, self._settle, answer.run_id)
            raise
        if self._recorded():
            self._carry_out(answer.run_id, commands)
            self._reply(message, "answered", (answer, None))
            self._admit(table)

    def envelope(self, run_id: RunId) -> Envelope:
        """A run as this supervisor has it."""
        assert self._table is not None
        return self._table.envelope(run_id)

    def _watch(self, message: Message, table: RunTable) -> None:
        run_id, after_seq = message.body
        try:
            self._reply(message, "events", (after_seq, table.client_events(run_id, after_seq)))
        except UnknownNameError:
            return

    def _pause(self, message: Message, _table: RunTable) -> None:
        self._happened(message.body, PauseRequested("scripted"))

    def _cancel(self, message: Message, _table: RunTable) -> None:
        if self._happened(message.body, CancelRequested("scripted")):
            self.acknowledge(message, self.epoch)

    def _happened(self, run_id: RunId, payload: Payload) -> bool:
        """Record it and do what follows. False when it is to be said again, to this life or the next."""
        assert self._table is not None
        try:
            commands = self._table.handle(run_id, payload)
        except StateStorageError as error:
            if isinstance(error, FencedError):
                self.die()
            else:
                self.after(RETRY_MS, self._settle, run_id)
            return False
        if not self._recorded():
            return False
        self._carry_out(run_id, commands)
        self._admit(self._table)
        return True

    def _recorded(self) -> bool:
        """Whether this process still lives after something was recorded: the plan may end it right here."""
        self._on_record(self)
        return self.is_alive

    def _settle(self, run_id: RunId) -> None:
        assert self._table is not None
        try:
            self._carry_out(run_id, self._table.catch_up(run_id))
        except StateStorageError:
            self.after(RETRY_MS, self._settle, run_id)

    def _admit(self, table: RunTable) -> None:
        try:
            for run_id, commands in table.admit():
                self._carry_out(run_id, commands)
        except FencedError:
            self.die()
        except StateStorageError:
            self.after(RETRY_MS, self._admit, table)

    def _carry_out(self, run_id: RunId, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStage):
                self.outbox.acknowledge(_message_id_of(self._holders.issued(command.key)))
                self._tell(_message_id_of(command.key), "run", command)
            elif isinstance(command, CancelStage):
                self.outbox.acknowledge(_message_id_of(command.key))
                self._holders.dropped(command.key)
                self._tell(MessageId(f"cancel:{command.key}"), "cancel", command)
            elif isinstance(command, GiveGrant):
                self._grants += 1
                self._tell(MessageId(f"grant:{command.key}:{self._grants}"), "grant", command)
            elif isinstance(command, SetTimer):
                delay_ms = command.due_ms - self.world.now_ms - self.world.wall_skew_ms
                self.after(delay_ms, self._fire, run_id, command.timer_id)

    def _fire(self, run_id: RunId, timer_id: str) -> None:
        if not self._happened(run_id, TimerFired(timer_id)) and self.is_alive:
            self.after(RETRY_MS, self._fire, run_id, timer_id)

    def _tell(self, message_id: MessageId, kind: str, command: RunStage | CancelStage | GiveGrant) -> None:
        self.say(message_id, kind, command.stage, command, self.epoch)

    def _reply(self, message: Message, kind: str, body: Any) -> None:
        self.world.send(Message(message.id, kind, SUPERVISOR, message.source, body, self.epoch))


def _message_id_of(key: StageKey) -> MessageId:
    """Under which id a stage is told to run: the same, however often and by whichever supervisor."""
    return MessageId(f"run:{key}")

"""The supervisor as a process: the real `RunTable`, an outbox, an inbox, and timers that die with it.

It is a host like the actor on Ray: it carries out what the table returns and decides nothing. Before it sends, the
event is in the log; what it sends comes again until it is acknowledged; it acknowledges what it has recorded. Where the
plan says so it gathers messages for a while, and records what they led to with one write. When the log says that
somebody else has taken over, it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from runtime.bus.outbox import Inbox
from runtime.errors import FencedError, InterruptError, StateStorageError, UnknownNameError
from runtime.hosting.attempt_tracker import Holders
from runtime.hosting.run_table import RunTable
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.run.envelope import Envelope
from runtime.simulator.reports import Answer, Report
from runtime.simulator.resending_process import Speaker
from runtime.simulator.world import Message, World
from runtime.supervision.commands import CancelStage, Command, GiveGrant, RunStage, SetTimer
from runtime.supervision.events import (
    ActorLost,
    CancelRequested,
    PauseRequested,
    Payload,
    StageFailed,
    StageSucceeded,
    TimerFired,
)

RETRY_MS = 700
LEASE_MS = 3_000
HEARTBEAT_MS = 1_000
SUPERVISOR = "supervisor"


Then = Callable[[], None]
"""What follows from a message, once what it led to is recorded."""


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
        self._newest_lives: dict[str, int] = {}
        self._gathered: list[Message] = []
        self._is_ready = False
        self._checked_ms = 0
        self.epoch = 0
        self._handlers: dict[str, Callable[[Message, RunTable], Then]] = {
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
            for run_id, commands in self._taken_up(self._table):
                self._carry_out(run_id, commands)
            self._is_ready = True
            self._admit(self._table)
        except FencedError:
            self.die()
        except StateStorageError:
            self.after(RETRY_MS, self._start)

    def _taken_up(self, table: RunTable) -> Iterable[tuple[RunId, list[Command]]]:
        if not self.world.plan.gathers_ms:
            return table.recover()
        with table.together():
            return list(table.recover())

    def die(self, down_ms: int = LEASE_MS) -> None:
        """Be gone; somebody else is there in `down_ms`, if nobody is yet."""
        super().die()
        self._on_death(self, down_ms)

    def receive(self, message: Message) -> None:
        if message.kind == "ack":
            self.outbox.acknowledge(message.body)
        elif self._is_ready and self.world.plan.gathers_ms:
            if not self._gathered:
                self.after(self.world.plan.gathers_ms, self._deal_with_gathered)
            self._gathered.append(message)
        elif self._is_ready:
            self._deal_with([message])

    def _deal_with_gathered(self) -> None:
        messages, self._gathered = self._gathered, []
        self._deal_with(messages)

    def _deal_with(self, messages: list[Message]) -> None:
        """Several messages have one write: it keeps all that they led to, or nothing of it."""
        assert self._table is not None
        followed: list[Then] = []
        try:
            self._check_lease(self._table)
            if len(messages) == 1:
                self._decide(messages[0], self._table, followed)
            else:
                self._decide_together(messages, self._table, followed)
        except FencedError:
            self.die()
        except StateStorageError:
            for message in messages:
                self._settle_soon(_run_of(message))
        else:
            if followed and self._recorded():
                for then in followed:
                    if self.is_alive:
                        then()

    def _decide_together(self, messages: list[Message], table: RunTable, followed: list[Then]) -> None:
        with ExitStack() as stack:
            stack.enter_context(table.together())
            for message in messages:
                if stack.enter_context(self._inbox.in_hand(message.id)) or self._is_trusting:
                    self._decide(message, table, followed)

    def _decide(self, message: Message, table: RunTable, followed: list[Then]) -> None:
        """What cannot be recorded of one message is said again by whoever sent it; the others go on."""
        try:
            followed.append(self._handlers[message.kind](message, table))
        except FencedError:
            raise
        except StateStorageError:
            self._settle_soon(_run_of(message))

    def _check_lease(self, table: RunTable) -> None:
        """The heartbeat, made up for when there is something to do: only an owner may speak."""
        if self.world.now_ms >= self._checked_ms + HEARTBEAT_MS:
            table.check_owner()
            self._checked_ms = self.world.now_ms

    def _submit(self, message: Message, table: RunTable) -> Then:
        run_id, request = message.body
        _, commands = table.submit(request, run_id)

        def then() -> None:
            self._carry_out(run_id, commands)
            self._reply(message, "accepted", run_id)

        return then

    def _report(self, message: Message, table: RunTable) -> Then:
        report: Report = message.body
        key = report.payload.key
        if self._inbox.is_duplicate(message.id) and not self._is_trusting:
            return lambda: self.acknowledge(message, self.epoch)
        commands = table.handle(key.run_id, report.payload)

        def then() -> None:
            self._inbox.note(message.id)
            self.outbox.acknowledge(_message_id_of(key))
            has_ended = isinstance(report.payload, StageSucceeded | StageFailed)
            if not self._holders.heard(key, Address(report.agent), str(report.life), has_ended):
                self._lose(report.agent, {key.run_id: (key,)})
            if report.life != self._newest_lives.get(report.agent):
                self._lives(report.agent, report.life)
            self._carry_out(key.run_id, commands)
            self._admit(table)
            self.acknowledge(message, self.epoch)

        return then

    def _refused(self, message: Message, table: RunTable) -> Then:
        """An agent was told to begin an attempt that a former life of it had begun: that one is lost."""
        report: Report = message.body
        key = report.payload.key
        commands = table.catch_up(key.run_id)

        def then() -> None:
            self._carry_out(key.run_id, commands)
            if self.outbox.acknowledge(_message_id_of(key)):
                self._lose(report.agent, {key.run_id: (key,)})
            self.acknowledge(message, self.epoch)

        return then

    def _hello(self, message: Message, _table: RunTable) -> Then:
        """An agent is back from the dead: what its former lives held is lost, unless that is known already."""

        def then() -> None:
            self._lives(*message.body)
            self.acknowledge(message, self.epoch)

        return then

    def _lives(self, agent: str, life: int) -> None:
        """What a watch would find out: in which life the agent is, the newest that anybody has heard of."""
        newest = self._newest_lives[agent] = max(life, self._newest_lives.get(agent, 0))
        self._lose(agent, self._holders.lives(Address(agent), str(newest)))

    def _lose(self, agent: str, lost: dict[RunId, tuple[StageKey, ...]]) -> None:
        """Nobody would say it again, so this process does, until it is recorded."""
        for run_id, keys in lost.items():
            if not self._happened(run_id, ActorLost(agent, keys)) and self.is_alive:
                self.after(RETRY_MS, self._lose, agent, {run_id: keys})

    def _answer(self, message: Message, table: RunTable) -> Then:
        answer: Answer = message.body
        try:
            commands = table.answer(answer.run_id, answer.interrupt_id, answer.user_id, answer.response)
        except (InterruptError, UnknownNameError) as error:
            refusal = error.message
            return lambda: self._reply(message, "answered", (answer, refusal))

        def then() -> None:
            self._carry_out(answer.run_id, commands)
            self._reply(message, "answered", (answer, None))
            self._admit(table)

        return then

    def envelope(self, run_id: RunId) -> Envelope:
        """A run as this supervisor has it."""
        assert self._table is not None
        return self._table.envelope(run_id)

    def _watch(self, message: Message, table: RunTable) -> Then:
        run_id, after_seq = message.body

        def then() -> None:
            try:
                self._reply(message, "events", (after_seq, table.client_events(run_id, after_seq)))
            except (UnknownNameError, StateStorageError):
                return

        return then

    def _pause(self, message: Message, table: RunTable) -> Then:
        return self._demand(message.body, table.handle(message.body, PauseRequested("scripted")), table)

    def _cancel(self, message: Message, table: RunTable) -> Then:
        follow = self._demand(message.body, table.handle(message.body, CancelRequested("scripted")), table)

        def then() -> None:
            follow()
            self.acknowledge(message, self.epoch)

        return then

    def _demand(self, run_id: RunId, commands: list[Command], table: RunTable) -> Then:
        def then() -> None:
            self._carry_out(run_id, commands)
            self._admit(table)

        return then

    def _happened(self, run_id: RunId, payload: Payload) -> bool:
        """Record it and do what follows. False when it is to be said again, to this life or the next."""
        assert self._table is not None
        try:
            commands = self._table.handle(run_id, payload)
        except StateStorageError as error:
            if isinstance(error, FencedError):
                self.die()
            else:
                self._settle_soon(run_id)
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

    def _settle_soon(self, run_id: RunId | None) -> None:
        if run_id is not None:
            self.after(RETRY_MS, self._settle, run_id)

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


def _run_of(message: Message) -> RunId | None:
    """The run that a message is about, if what it led to may be on record although its write failed."""
    if message.kind in {"report", "refused"}:
        run_id: RunId = message.body.payload.key.run_id
        return run_id
    if message.kind == "answer":
        answer: Answer = message.body
        return answer.run_id
    return message.body if message.kind in {"pause", "cancel"} else None


def _message_id_of(key: StageKey) -> MessageId:
    """Under which id a stage is told to run: the same, however often and by whichever supervisor."""
    return MessageId(f"run:{key}")

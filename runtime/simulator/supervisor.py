"""Simulates the process of a supervisor, which drives a `SupervisorHost`; its timers die with it.

Messages go to the host; its outputs are sent, replied, or set as timers. A write is delayed by the plan's `gathers_ms`,
so that it records the effects of several messages. When the log shows that another owner has taken over, the process
ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.agents.reporter import Report
from runtime.errors import FencedError, InterruptError, StateStorageError, UnknownNameError
from runtime.hosting.command_dispatch import Directory
from runtime.hosting.host_outputs import (
    Deposed,
    DropTimers,
    Output,
    Reply,
    ReportRecorded,
    RetryIn,
    SendOnce,
    SendStage,
    StartTimer,
    WriteDue,
)
from runtime.hosting.record_queue import RETRY_S
from runtime.hosting.run_table import RunTable
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.primitives.ids import Address, MessageId, RunId, StageName
from runtime.run.envelope import Envelope
from runtime.simulator.reports import Answer
from runtime.simulator.world import Message, Process, World
from runtime.supervision.commands import CancelStage, GiveGrant, RunStage
from runtime.supervision.events import CancelRequested, PauseRequested

RETRY_MS = round(1000 * RETRY_S)
LEASE_MS = 3_000
HEARTBEAT_MS = 1_000
SUPERVISOR = "supervisor"

AGENTS = Directory(lambda _config, stage, _key: Address(stage), StageName)

OpenHost = Callable[[RunTable], SupervisorHost]


def open_host(table: RunTable) -> SupervisorHost:
    """Return the host that ships, over a table of the simulator."""
    return SupervisorHost(table, AGENTS, table.check_owner)


class Supervisor(Process):
    """Runs one incarnation of a supervisor. `open_table` takes the log over; `host_over` creates the host."""

    def __init__(
        self,
        world: World,
        open_table: Callable[[], RunTable],
        on_record: Callable[[Supervisor], None],
        on_death: Callable[[Supervisor, int], None],
        host_over: OpenHost = open_host,
    ) -> None:
        super().__init__(world, SUPERVISOR)
        self._open_table = open_table
        self._on_record = on_record
        self._on_death = on_death
        self._host_over = host_over
        self._table: RunTable | None = None
        self._host: SupervisorHost | None = None
        self._newest: dict[Address, int] = {}
        self._reported: dict[MessageId, Report] = {}
        self._over: set[RunId] = set()
        self._sent = 0
        self._timer = 0
        self._armed_ms: int | None = None
        self._checked_ms = 0
        self.epoch = 0
        self._takes: dict[str, Callable[[SupervisorHost, Message], list[Output]]] = {
            "submit": lambda host, message: host.submit(message, message.body[1], message.body[0]),
            "report": self._report,
            "hello": self._hello,
            "answer": self._answer,
            "watch": self._watch,
            "pause": lambda host, message: host.demand(message, message.body, PauseRequested("scripted")),
            "cancel": lambda host, message: host.demand(message, message.body, CancelRequested("scripted")),
        }
        self._acts: dict[type, Callable[[SupervisorHost, Any], None]] = {
            WriteDue: lambda _, __: self.after(world.plan.gathers_ms, self._write),
            SendStage: lambda _, send: self._send_stage(send),
            SendOnce: lambda _, send: self._send_once(send),
            ReportRecorded: self._recorded,
            Reply: lambda _, reply: self._reply(reply),
            StartTimer: lambda _, timer: self._start_timer(timer),
            DropTimers: lambda _, drop: self._over.add(drop.run_id),
            RetryIn: lambda _, retry: self.after(round(1000 * retry.delay_s), self._retry, retry.number),
            Deposed: lambda _, __: self.die(),
        }
        self.after(0, self._start)

    def _start(self) -> None:
        try:
            self._table = self._open_table()
        except FencedError:
            self.die()
        except StateStorageError:
            self.after(RETRY_MS, self._start)
        else:
            self.epoch = self._table.epoch or 0
            self._host = self._host_over(self._table)
            self._act(self._host.begin(takes_up=True))

    def die(self, down_ms: int = LEASE_MS) -> None:
        """End this process; a successor starts after `down_ms`, unless there is one by then."""
        super().die()
        self._on_death(self, down_ms)

    def receive(self, message: Message) -> None:
        if self._host is None:
            return
        # A due heartbeat precedes the message, since only the owner of the log may send.
        if self.world.now_ms >= self._checked_ms + HEARTBEAT_MS:
            self._checked_ms = self.world.now_ms
            self._act(self._host.on_heartbeat())
        if self.is_alive:
            self._act(self._takes[message.kind](self._host, message))

    def envelope(self, run_id: RunId) -> Envelope:
        """Return the envelope of a run as this supervisor has it."""
        assert self._table is not None
        return self._table.envelope(run_id)

    # What comes in.

    def _report(self, host: SupervisorHost, message: Message) -> list[Output]:
        self._reported[message.id] = message.body
        return host.on_report(message.id, message.body)

    def _hello(self, host: SupervisorHost, message: Message) -> list[Output]:
        """Acknowledge the restart of an agent and report its incarnation to the host."""
        self._acknowledge(message.source, message.id)
        return self._lives(host, *message.body)

    def _lives(self, host: SupervisorHost, agent: Address, life: int) -> list[Output]:
        """Report the newest known incarnation of an agent to the host, as a watch would."""
        newest = self._newest[agent] = max(life, self._newest.get(agent, 0))
        return host.on_incarnation(agent, str(newest))

    def _answer(self, host: SupervisorHost, message: Message) -> list[Output]:
        answer: Answer = message.body
        return host.answer(message, answer.run_id, answer.interrupt_id, answer.user_id, answer.response)

    def _watch(self, host: SupervisorHost, message: Message) -> list[Output]:
        assert self._table is not None
        run_id, after_seq = message.body
        if host.is_recovered:
            try:
                self._tell(message, "events", (after_seq, self._table.client_events(run_id, after_seq)))
            except (UnknownNameError, StateStorageError):
                return []
        return []

    # What goes out.

    def _act(self, outputs: list[Output]) -> None:
        for output in outputs:
            act = self._acts.get(type(output))
            if act is not None and self.is_alive and self._host is not None:
                act(self._host, output)

    def _write(self) -> None:
        assert self._host is not None
        outputs = self._host.write(self.world.now_ms)
        self._on_record(self)  # the plan may end this process right here, between a record and what follows from it
        self._act(outputs)
        self._arm()

    def _send_stage(self, send: SendStage) -> None:
        self._send(send.message_id, "run", send.command)
        self._arm()

    def _send_once(self, send: SendOnce) -> None:
        self._sent += 1
        kind = "cancel" if isinstance(send.command, CancelStage) else "grant"
        self._send(MessageId(f"{kind}:{self.epoch}:{self._sent}"), kind, send.command)

    def _send(self, message_id: MessageId, kind: str, command: RunStage | CancelStage | GiveGrant) -> None:
        self.world.send(Message(message_id, kind, self.address, command.stage, command, self.epoch))

    def _arm(self) -> None:
        due_ms = None if self._host is None or self.world.is_perfect else self._host.next_due_ms()
        if due_ms is not None and (self._armed_ms is None or due_ms < self._armed_ms):
            self._timer += 1
            self._armed_ms = due_ms
            self.after(due_ms - self.world.now_ms, self._resend, self._timer)

    def _resend(self, timer: int) -> None:
        assert self._host is not None
        if timer != self._timer:
            return  # an earlier one took its place
        self._armed_ms = None
        for send in self._host.due(self.world.now_ms):
            self._send(send.message_id, "run", send.command)
        self._arm()

    def _recorded(self, host: SupervisorHost, recorded: ReportRecorded) -> None:
        self._acknowledge(recorded.address, recorded.report_id)
        report = self._reported.pop(recorded.report_id, None)
        if report is not None and int(report.incarnation) != self._newest.get(report.agent):
            self._act(self._lives(host, report.agent, int(report.incarnation)))

    def _acknowledge(self, target: str, message_id: MessageId) -> None:
        if not self.world.is_perfect:
            self.world.send(Message(message_id, "ack", self.address, target, message_id, self.epoch))

    def _reply(self, reply: Reply) -> None:
        message = reply.token
        assert isinstance(message, Message)
        if message.kind == "answer":
            if reply.error is None:
                self._tell(message, "answered", (message.body, None))
            elif isinstance(reply.error, InterruptError | UnknownNameError):
                self._tell(message, "answered", (message.body, reply.error.message))
        elif reply.error is None and message.kind == "submit":
            self._tell(message, "accepted", reply.run_id)
        elif reply.error is None and message.kind == "cancel":
            self._acknowledge(message.source, message.id)

    def _tell(self, message: Message, kind: str, body: Any) -> None:
        self.world.send(Message(message.id, kind, self.address, message.source, body, self.epoch))

    def _start_timer(self, timer: StartTimer) -> None:
        delay_ms = timer.command.due_ms - self.world.now_ms - self.world.wall_skew_ms
        self.after(delay_ms, self._fire, timer.run_id, timer.command.timer_id)

    def _fire(self, run_id: RunId, timer_id: str) -> None:
        if run_id not in self._over and self._host is not None:
            self._act(self._host.on_timer(run_id, timer_id))

    def _retry(self, number: int) -> None:
        assert self._host is not None
        self._act(self._host.on_retry(number))

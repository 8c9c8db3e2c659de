"""An agent as a process: plays the scripts of one stage, and keeps to what a real agent has to keep to.

It takes an attempt up once, and only if no newer one of that visit is known; it stops the older one first. It says
everything again until it is acknowledged. It listens to no supervisor older than the newest that it knows of. What
breaks when it does not, `Habits` switches off one by one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.agents.reporter import Report, StagePayload
from runtime.bus.outbox import Inbox, NewestAttempts
from runtime.effects.journal import Journal
from runtime.errors import StateStorageError
from runtime.primitives.ids import Address, MessageId, StageKey
from runtime.simulator.ground_truth import Books
from runtime.simulator.resending_process import Speaker
from runtime.simulator.scripts import CallModel, CallTool, Failed, StageScript, Step, Succeeded, Wait, play
from runtime.simulator.stage_calls import RETRY_MS, Calls, Work
from runtime.simulator.supervisor import SUPERVISOR
from runtime.simulator.world import Message, World
from runtime.supervision.commands import CancelStage, RunStage
from runtime.supervision.events import StageFailed, StageStarted, StageSucceeded, StageUsage


class Habits(msgspec.Struct, frozen=True):
    """Protections that agents keep up."""

    dedup: bool = True
    fencing: bool = True
    reserve: bool = True


class Workplace(msgspec.Struct, frozen=True):
    """What every agent of a system has to do with."""

    world: World
    journal: Journal
    books: Books
    habits: Habits
    is_parallel: bool


class SimulatedAgent(Speaker):
    """One life of the agent of one stage, for every run. `epoch` is the newest owner's when it begins."""

    def __init__(self, place: Workplace, stage: str, script: StageScript, life: int, epoch: int) -> None:
        super().__init__(place.world, stage)
        self.life = life
        self._place = place
        self._script = script
        self._epoch = epoch
        self._working: dict[StageKey, Work] = {}
        self._inbox = Inbox()
        self._newest = NewestAttempts()
        self._calls = Calls(self, place.journal, place.books, self._report, self._go_on, place.habits.reserve)
        self._said = 0
        if life > 1:
            self._tell("hello", (stage, life))

    @property
    def is_busy(self) -> bool:
        """True while it works on something."""
        return bool(self._working)

    def receive(self, message: Message) -> None:
        if message.epoch is not None and self._place.habits.fencing:
            if message.epoch < self._epoch:
                return
            self._epoch = message.epoch
        if message.kind == "ack":
            self.outbox.acknowledge(message.body)
            return
        if self._place.habits.dedup and self._inbox.is_duplicate(message.id):
            return
        self._inbox.note(message.id)
        if message.kind == "run":
            self._take_up(message.body)
        elif message.kind == "cancel":
            self._cancel(message.body)
        elif message.body.key in self._working:
            self._working[message.body.key].grant(message.body.grant)

    def _take_up(self, command: RunStage) -> None:
        key = command.key
        admission = self._newest.admit(key)
        if admission == "outdated" or (admission == "duplicate" and self._place.habits.dedup):
            return
        for other in [work for work in self._working.values() if work.key.effect_key == key.effect_key]:
            self._drop(other)
        work = Work(command, play(self._script, command, self._place.is_parallel))
        self._working[key] = work
        self._begin(work)

    def _begin(self, work: Work) -> None:
        if work.is_dropped:
            return
        try:
            begins = self._place.journal.begin(work.key, f"{self.address}/{self.life}")
        except StateStorageError:
            self.after(RETRY_MS, self._begin, work)
            return
        if not begins:
            self._drop(work)
            self._tell("report", self._report_of(work.key, was_refused=True))
            return
        self._place.books.begun(work.key)
        self._report(StageStarted(work.key))
        self._go_on(work, None)

    def _cancel(self, command: CancelStage) -> None:
        self._inbox.note(MessageId(f"run:{command.key}"))
        if command.key in self._working:
            self._drop(self._working[command.key])

    def _drop(self, work: Work) -> None:
        work.is_dropped = True
        self._working.pop(work.key, None)

    def _go_on(self, work: Work, answer: Any) -> None:
        if work.is_dropped:
            return
        try:
            step: Step = work.steps.send(answer)
        except StopIteration as stop:
            self._end(work, stop.value)
            return
        if isinstance(step, Wait):
            self.after(step.span_ms, self._go_on, work, None)
        elif isinstance(step, CallModel):
            self._calls.model(work, step)
        elif isinstance(step, CallTool):
            self._calls.tool(work, step)

    def _end(self, work: Work, end: Succeeded | Failed) -> None:
        self._drop(work)
        usage = StageUsage(work.llm_calls, work.tool_calls, tokens_out=work.tokens)
        if isinstance(end, Succeeded):
            self._report(StageSucceeded(work.key, end.output, None, end.interrupt, usage, end.policy))
        else:
            self._report(StageFailed(work.key, end.kind, end.error, end.bound, True, usage))

    def _report(self, payload: StagePayload) -> None:
        self._tell("report", self._report_of(payload.key, payload))

    def _report_of(self, key: StageKey, *payloads: StagePayload, was_refused: bool = False) -> Report:
        return Report(key, Address(self.address), str(self.life), payloads, was_refused)

    def _tell(self, kind: str, body: Any) -> None:
        self._said += 1
        self.say(MessageId(f"{self.address}/{self.life}/{self._said}"), kind, SUPERVISOR, body)

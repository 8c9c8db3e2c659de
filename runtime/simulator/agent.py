"""Simulates an agent that plays the scripts of one stage and follows the protocol of real agents.

It starts an attempt once, and only if no newer one of that visit is known; it stops the older one first. It resends its
messages until they are acknowledged. It ignores supervisors with an older epoch than the newest that it knows. `Habits`
switches these protections off one by one.
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
    """Switches the protections that agents implement."""

    dedup: bool = True
    fencing: bool = True
    reserve: bool = True


class Workplace(msgspec.Struct, frozen=True):
    """Holds the parts of a system that all of its agents share."""

    world: World
    journal: Journal
    books: Books
    habits: Habits
    is_parallel: bool


class SimulatedAgent(Speaker):
    """Simulates one incarnation of a stage's agent, for all runs. `epoch` is the newest owner's when it starts."""

    def __init__(self, place: Workplace, stage: str, script: StageScript, life: int, epoch: int) -> None:
        super().__init__(place.world, stage)
        self.life = life
        self._place = place
        self._script = script
        self._epoch = epoch
        self._working: dict[StageKey, Work] = {}
        self._inbox = Inbox()
        self._newest = NewestAttempts()
        self._calls = Calls(self, place.journal, place.books, self._report, self._resume, place.habits.reserve)
        self._sent = 0
        if life > 1:
            self._tell("hello", (stage, life))

    @property
    def is_busy(self) -> bool:
        """True while an attempt is in progress."""
        return bool(self._working)

    def receive(self, message: Message) -> None:
        if message.epoch is not None and self._place.habits.fencing:
            if message.epoch < self._epoch:
                return
            if message.epoch > self._epoch:
                self._epoch = message.epoch
                self.outbox.lose()
        if message.kind == "ack":
            self.hear(message.body)
            return
        if self._place.habits.dedup and self._inbox.is_duplicate(message.id):
            return
        self._inbox.note(message.id)
        if message.kind == "run":
            self._start(message.body)
        elif message.kind == "cancel":
            self._cancel(message.body)
        elif message.body.key in self._working:
            self._working[message.body.key].grant(message.body.grant)

    def _start(self, command: RunStage) -> None:
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
        self._resume(work, None)

    def _cancel(self, command: CancelStage) -> None:
        self._inbox.note(MessageId(f"run:{command.key}"))
        if command.key in self._working:
            self._drop(self._working[command.key])

    def _drop(self, work: Work) -> None:
        work.is_dropped = True
        self._working.pop(work.key, None)

    def _resume(self, work: Work, answer: Any) -> None:
        if work.is_dropped:
            return
        try:
            step: Step = work.steps.send(answer)
        except StopIteration as stop:
            self._end(work, stop.value)
            return
        if isinstance(step, Wait):
            self.after(step.span_ms, self._resume, work, None)
        elif isinstance(step, CallModel):
            self._calls.model(work, step)
        elif isinstance(step, CallTool):
            self._calls.tool(work, step)

    def _end(self, work: Work, end: Succeeded | Failed) -> None:
        self._drop(work)
        more = self._script.exaggerates
        usage = StageUsage(work.llm_calls + more, work.tool_calls + more, tokens_out=work.tokens + more)
        if isinstance(end, Succeeded):
            self._report(StageSucceeded(work.key, end.output, None, end.interrupt, usage, end.policy))
        else:
            self._report(StageFailed(work.key, end.kind, end.error, end.bound, True, usage))

    def _report(self, payload: StagePayload) -> None:
        self._tell("report", self._report_of(payload.key, payload))

    def _report_of(self, key: StageKey, *payloads: StagePayload, was_refused: bool = False) -> Report:
        return Report(key, Address(self.address), str(self.life), payloads, was_refused)

    def _tell(self, kind: str, body: Any) -> None:
        self._sent += 1
        self.say(MessageId(f"{self.address}/{self.life}/{self._sent}"), kind, SUPERVISOR, body)

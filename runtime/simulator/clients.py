"""Simulates the users of runs: they submit a run, watch it and answer its interrupts.

They repeat most requests until they see the effect. The events that they saw and the accepted answers are kept for the
invariants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS
from runtime.primitives.ids import MessageId, RunId
from runtime.run.envelope import InterruptResponse
from runtime.simulator.reports import Answer
from runtime.simulator.scenarios import PlannedRun
from runtime.simulator.supervisor import SUPERVISOR
from runtime.simulator.world import Message, Process, World
from runtime.supervision.commands import ClientEvent

ASK_AGAIN_MS = 1_000
POLL_MS = 2_500
LONGEST_POLL_MS = 45_000
ANSWER_AGAIN_MS = 3_000
MOST_TRIES = 40
TOO_LATE_MS = 21_000


class Caller(Process):
    """Simulates the user of one run, who submits it, watches it to its end and answers its interrupts.

    `seen` are the client events in order; `complaints` the faults in them; `accepted` the answers that the supervisor
    accepted.
    """

    def __init__(self, world: World, planned: PlannedRun, on_end: Callable[[RunId], None]) -> None:
        super().__init__(world, f"caller/{planned.run_id}")
        self._planned = planned
        self._run_id = planned.run_id
        self._on_end = on_end
        self._sent = 0
        self._poll_ms = POLL_MS
        self._reads_from = 0
        self._is_cancelled = False
        self.is_accepted = False
        self.is_over = False
        self.seen: list[ClientEvent] = []
        self.complaints: list[str] = []
        self.settled: set[str] = set()
        self.accepted: list[Answer] = []
        self.after(planned.at_ms, self._ask)

    def receive(self, message: Message) -> None:
        if message.kind == "accepted":
            self._accepted()
        elif message.kind == "events":
            self._read(*message.body)
        elif message.kind == "answered":
            answer, refusal = message.body
            if refusal is None:
                self.accepted.append(answer)
            self._say("watch", (self._run_id, self._reads_from))
        elif message.kind == "ack":
            self._is_cancelled = True

    def _ask(self) -> None:
        if not self.is_accepted:
            self._say("submit", (self._run_id, self._planned.request))
            self.after(ASK_AGAIN_MS, self._ask)

    def _accepted(self) -> None:
        if self.is_accepted:
            return
        self.is_accepted = True
        person = self._planned.person
        self._poll()
        if person.pauses_ms is not None:
            self.after(person.pauses_ms, self._say, "pause", self._run_id)
        if person.cancels_ms is not None:
            self.after(person.cancels_ms, self._cancel)

    def _cancel(self) -> None:
        if not self._is_cancelled and not self.is_over:
            self._say("cancel", self._run_id)
            self.after(ASK_AGAIN_MS, self._cancel)

    def _poll(self) -> None:
        if self.is_over:
            return
        self._say("watch", (self._run_id, self._reads_from))
        self.after(self._poll_ms, self._poll)
        self._poll_ms = min(LONGEST_POLL_MS, self._poll_ms * 2)

    def reconnect(self, from_seq: int) -> None:
        """Simulate a lost connection: read again from an earlier event on."""
        self._reads_from = min(self._reads_from, from_seq)

    def _read(self, after_seq: int, events: list[ClientEvent]) -> None:
        numbers = [event.seq for event in events]
        if numbers != list(range(after_seq + 1, after_seq + 1 + len(events))):
            self.complaints.append(f"events {numbers} came after {after_seq}")
            return
        for event in events:
            if event.seq > len(self.seen) + 1:
                break
            self._reads_from = max(self._reads_from, event.seq)
            if event.seq <= len(self.seen):
                if self.seen[event.seq - 1] != event:
                    self.complaints.append(f"event {event.seq} was {self.seen[event.seq - 1].type}, now {event.type}")
                continue
            self.seen.append(event)
            self._poll_ms = POLL_MS
            self._notice(event)

    def _notice(self, event: ClientEvent) -> None:
        if event.type == "interrupt.resolved":
            self.settled.add(event.data["id"])
        elif event.type == "run.finished":
            self.is_over = True
            self._on_end(self._run_id)
        elif event.type == "interrupt.raised":
            self._consider(event)

    def _consider(self, event: ClientEvent) -> None:
        """Answer an interrupt as this user does: soon, too late, from two devices, after a stranger tried."""
        person, kind, interrupt_id = self._planned.person, event.data["kind"], event.data["id"]
        decision = person.answers.get(kind, "yes")
        if decision == "never":
            self.world.faults["late_answer"] += 1
            late_ms = (TIME_TO_LIVE_MS[kind] or 0) + TOO_LATE_MS
            self.after(late_ms, self._say, "answer", self._answer(interrupt_id, "yes", "too late"))
            return
        if person.stranger:
            self.world.faults["stranger"] += 1
            no = "yes" if decision == "no" else "no"
            self.after(person.delay_ms // 2, self._say, "answer", self._answer(interrupt_id, no, "hm", "mallory"))
        self.after(person.delay_ms, self._try, self._answer(interrupt_id, decision, "from the desk"), MOST_TRIES)
        if person.twice:
            self.world.faults["second_answer"] += 1
            self.after(person.delay_ms, self._try, self._answer(interrupt_id, decision, "from the train"), MOST_TRIES)

    def _answer(self, interrupt_id: str, decision: str, text: str, user_id: str = "ann") -> Answer:
        yes = decision == "yes"
        return Answer(
            self._run_id,
            interrupt_id,
            user_id,
            InterruptResponse(text, approved=yes, decision="approve" if yes else "reject"),
        )

    def _try(self, answer: Answer, tries: int) -> None:
        if answer.interrupt_id in self.settled or self.is_over or not tries:
            return
        self._say("answer", answer)
        self.after(ANSWER_AGAIN_MS, self._try, answer, tries - 1)

    def _say(self, kind: str, body: Any) -> None:
        self._sent += 1
        message_id = MessageId(f"{self.address}/{self._sent}")
        self.world.send(Message(message_id, kind, self.address, SUPERVISOR, body))

"""Provides a process that resends its messages until they are acknowledged."""

from __future__ import annotations

from typing import Any

from runtime.bus.outbox import Outbox
from runtime.primitives.ids import MessageId
from runtime.simulator.world import Message, Process, World

FIRST_WAIT_MS = 500
MAX_WAIT_MS = 4_000


class Speaker(Process):
    """Sends messages through an outbox, with one timer for when a message may be due next."""

    def __init__(self, world: World, address: str) -> None:
        super().__init__(world, address)
        self.outbox: Outbox[Message] = Outbox(first_wait_ms=FIRST_WAIT_MS, max_wait_ms=MAX_WAIT_MS)
        self._timer = 0
        self._armed_ms: int | None = None

    def say(self, message_id: MessageId, kind: str, target: str, body: Any, epoch: int | None = None) -> None:
        """Send a message, and resend it until it is acknowledged."""
        message = Message(message_id, kind, self.address, target, body, epoch)
        self.world.send(message)
        if not self.world.is_perfect:
            self.outbox.put(message_id, message, self.world.now_ms, target)
            self._arm()

    def hear(self, message_id: MessageId) -> None:
        """Take the acknowledgement of a message: those before it may count as lost now."""
        self.outbox.acknowledge(message_id, self.world.now_ms)
        self._arm()

    def acknowledge(self, message: Message, epoch: int | None = None) -> None:
        """Acknowledge a message, so that its sender stops resending it."""
        if not self.world.is_perfect:
            self.world.send(Message(message.id, "ack", self.address, message.source, message.id, epoch))

    def _arm(self) -> None:
        due_ms = self.outbox.next_due_ms()
        if due_ms is not None and (self._armed_ms is None or due_ms < self._armed_ms):
            self._timer += 1
            self._armed_ms = due_ms
            self.after(due_ms - self.world.now_ms, self._resend, self._timer)

    def _resend(self, timer: int) -> None:
        if timer != self._timer:
            return  # an earlier one took its place
        self._armed_ms = None
        for message in self.outbox.due(self.world.now_ms):
            self.world.send(message)
        self._arm()

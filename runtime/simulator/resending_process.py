"""Provides a process that resends its messages until they are acknowledged."""

from __future__ import annotations

from typing import Any

from runtime.bus.outbox import Outbox
from runtime.primitives.ids import MessageId
from runtime.simulator.world import Message, Process, World

FIRST_WAIT_MS = 500
MAX_WAIT_MS = 4_000


class Speaker(Process):
    """Sends messages through an outbox, with one timer for the next message that is due."""

    def __init__(self, world: World, address: str) -> None:
        super().__init__(world, address)
        self.outbox: Outbox[Message] = Outbox(first_wait_ms=FIRST_WAIT_MS, max_wait_ms=MAX_WAIT_MS)
        self._is_armed = False

    def say(self, message_id: MessageId, kind: str, target: str, body: Any, epoch: int | None = None) -> None:
        """Send a message, and resend it until it is acknowledged."""
        message = Message(message_id, kind, self.address, target, body, epoch)
        self.world.send(message)
        if not self.world.is_perfect:
            self.outbox.put(message_id, message, self.world.now_ms)
            if not self._is_armed:
                self._arm()

    def acknowledge(self, message: Message, epoch: int | None = None) -> None:
        """Acknowledge a message, so that its sender stops resending it."""
        if not self.world.is_perfect:
            self.world.send(Message(message.id, "ack", self.address, message.source, message.id, epoch))

    def _arm(self) -> None:
        due_ms = self.outbox.next_due_ms()
        if due_ms is not None:
            self._is_armed = True
            self.after(due_ms - self.world.now_ms, self._resend)

    def _resend(self) -> None:
        self._is_armed = False
        for message in self.outbox.due(self.world.now_ms):
            self.world.send(message)
        self._arm()

"""Resends commands that count as lost until they are acknowledged, whoever dies meanwhile.

Every resend is a new message to the bus, which drops copies. The `correlation_id` is the same for all of them: under it
the receiver acknowledges, and recognises duplicates.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import SendOutcome
from runtime.bus.outbox import Outbox
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, MessageId, RunId

log = logging.getLogger(__name__)

POLL_S = 0.25
FIRST_WAIT_MS = 1_000


class OutgoingCommand(msgspec.Struct, frozen=True):
    """Describes a command to send. `epoch`: of the owner of the run's log, so that receivers fence older ones."""

    target: Address
    type: str
    body: bytes
    run_id: RunId | None = None
    epoch: int = 0


class ReliableSender:
    """Combines the outbox of one endpoint with the loop that resends the messages that are due."""

    def __init__(
        self, endpoint: Endpoint, clock: Clock, outbox: Outbox[tuple[MessageId, OutgoingCommand]] | None = None
    ) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._outbox = Outbox(first_wait_ms=FIRST_WAIT_MS) if outbox is None else outbox
        self._loop: asyncio.Task[Any] | None = None

    async def send(self, message_id: MessageId, command: OutgoingCommand) -> SendOutcome:
        """Send now, and when it counts as lost, until `acknowledge(message_id)`; return the outcome of the first try.

        With a full outbox the first try is the only one; after that only the stage's own timeout helps.
        """
        if self._loop is None:
            self._loop = asyncio.create_task(self._send_again())
        if not self._outbox.put(message_id, (message_id, command), self._now_ms(), command.target):
            log.warning("courier.full", extra={"type": command.type, "run_id": command.run_id})
        return await self._hand_over(message_id, command)

    def acknowledge(self, message_id: MessageId) -> bool:
        """Stop resending a command that arrived; return False when it did not wait here."""
        return self._outbox.acknowledge(message_id, self._now_ms())

    def lose(self) -> None:
        """Count all commands as lost that wait for an acknowledgement: the bus or their receiver has died."""
        self._outbox.lose()

    def close(self) -> None:
        """Stop resending."""
        if self._loop is not None:
            self._loop.cancel()

    def __len__(self) -> int:
        return len(self._outbox)

    async def _send_again(self) -> None:
        while True:
            await self._clock.sleep(POLL_S)
            for message_id, command in self._outbox.due(self._now_ms()):
                if message_id not in self._outbox:
                    continue  # acknowledged or cancelled while those before it were being sent
                try:
                    await self._hand_over(message_id, command)
                except Exception:
                    log.exception("courier.not_sent", extra={"type": command.type, "run_id": command.run_id})

    async def _hand_over(self, message_id: MessageId, command: OutgoingCommand) -> SendOutcome:
        return await self._endpoint.command(
            command.target, command.type, command.body, command.run_id, message_id, command.epoch
        )

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * 1000)

"""Sends an endpoint's frames, retrying a bounded number of times while the bus is restarting.

Retrying is safe, because the frame keeps its message id and copies are dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from runtime.bus.frames import Frame, SendOutcome
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address

log = logging.getLogger(__name__)


class Transport(Protocol):
    """Carries frames between an endpoint and the bus."""

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        """Register the endpoint with the bus under `address`."""

    async def send(self, frame: Frame) -> SendOutcome:
        """Hand a frame to the bus; return whether the bus took it."""


class RetryRules(msgspec.Struct, frozen=True):
    """Bounds the retries against an unreachable bus: pauses double from `first_s` up to `longest_s`."""

    tries: int = 8
    first_s: float = 0.1
    longest_s: float = 2.0
    max_waiting: int = 1_000

    def pauses_s(self) -> list[float]:
        """Return the pause before each retry."""
        return [min(self.first_s * 2**number, self.longest_s) for number in range(self.tries)]


class Sender:
    """Sends frames; `rebind` registers the endpoint with a bus that has come back."""

    def __init__(
        self, transport: Transport, clock: Clock, rebind: Callable[[], None], rules: RetryRules | None = None
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._rebind = rebind
        self._rules = rules or RetryRules()
        self._lost = False
        self.waiting = 0

    async def send(self, frame: Frame) -> SendOutcome:
        """Return whether the bus took the frame: `unreachable` after all retries, `full` when too many wait already."""
        outcome = await self.send_once(frame)
        if outcome != "unreachable":
            return outcome
        if self.waiting >= self._rules.max_waiting:
            return "full"
        self.waiting += 1
        try:
            return await self._try_again(frame)
        finally:
            self.waiting -= 1

    async def send_once(self, frame: Frame) -> SendOutcome:
        """Return whether the bus took the frame, after one try."""
        outcome = await self._transport.send(frame)
        self._lost = self._lost or outcome == "unreachable"
        return outcome

    async def _try_again(self, frame: Frame) -> SendOutcome:
        for pause_s in self._rules.pauses_s():
            await self._clock.sleep(pause_s)
            if self._lost:
                self._lost = False
                self._rebind()
            outcome = await self.send_once(frame)
            if outcome != "unreachable":
                return outcome
        log.warning("bus.unreachable", extra={"type": frame.header.type, "run_id": frame.header.run_id})
        return "unreachable"

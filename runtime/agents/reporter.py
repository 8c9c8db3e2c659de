"""Resends stage reports until acknowledged, in order per stage.

While a report is in flight, further payloads of its stage gather, and are sent as one report when the first is
recorded. Start, tool calls and hooks' events may wait for a moment: a short stage costs one report, however many
payloads it has.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from runtime.bus.frames import Frame
from runtime.bus.outbox import CAPACITY
from runtime.bus.reliable_sender import OutgoingCommand, ReliableSender
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.supervision.events import (
    BudgetRequested,
    LatencyPassed,
    StageEmitted,
    StageFailed,
    StageStarted,
    StageSucceeded,
    ToolCalled,
)

log = logging.getLogger(__name__)

REPORT = "stage.report"
RECORDED = "stage.recorded"
GATHERED_FOR_S = 0.02

_IDS_DECODER = msgspec.msgpack.Decoder(list[MessageId])

Progress = ToolCalled | StageEmitted | LatencyPassed
StagePayload = StageStarted | StageSucceeded | StageFailed | BudgetRequested | Progress


class Report(msgspec.Struct, frozen=True):
    """Reports the progress of one attempt, in order, by one incarnation of its agent.

    `was_refused`: the attempt did not begin, because another process, which is gone, had begun it.
    """

    key: StageKey
    agent: Address
    incarnation: str = msgspec.field(name="life")
    payloads: tuple[StagePayload, ...]
    was_refused: bool = False

    @property
    def has_ended(self) -> bool:
        """True when the attempt is over."""
        return any(isinstance(payload, StageSucceeded | StageFailed) for payload in self.payloads)


_DECODER = msgspec.msgpack.Decoder(Report)


def decode_report(data: bytes) -> Report:
    """Decode the report in a frame's body."""
    return _DECODER.decode(data)


def encode_recorded(others: Sequence[MessageId]) -> bytes:
    """Return the body of an acknowledgement: the reports that it is about beside the one in its header."""
    return msgspec.msgpack.encode(others) if others else b""


def recorded_reports(frame: Frame) -> list[MessageId]:
    """Return the reports that an acknowledgement is about."""
    first = frame.header.correlation_id
    return [*([] if first is None else [first]), *(_IDS_DECODER.decode(frame.body) if frame.body else [])]


class Reporter:
    """Sends the reports of one incarnation of an agent. `supervisor_of`: run → the address that records it."""

    def __init__(
        self,
        sender: ReliableSender,
        clock: Clock,
        agent: Address,
        incarnation: str,
        supervisor_of: Callable[[RunId], Address],
        max_in_flight: int = CAPACITY,
    ) -> None:
        self._sender = sender
        self._clock = clock
        self._agent = agent
        self._incarnation = incarnation
        self._supervisor_of = supervisor_of
        self._max_in_flight = max_in_flight
        self._gathered: dict[StageKey, list[StagePayload]] = {}
        self._sent_soon: dict[StageKey, None] = {}
        self._is_gathering = False
        self._in_flight: dict[MessageId, StageKey] = {}
        self._waiting: set[StageKey] = set()
        self._held_back: dict[StageKey, None] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()

    def report(self, payload: StagePayload) -> None:
        """Report a payload, after earlier ones of the same stage."""
        key = payload.key
        self._gathered.setdefault(key, []).append(payload)
        if isinstance(payload, StageStarted | Progress):
            self._sent_soon[key] = None
            if not self._is_gathering:
                self._is_gathering = True
                self._spawn(self._send_gathered())
        else:
            self._send(key)

    def refuse(self, key: StageKey) -> None:
        """Report an attempt that another process had begun: it counts as lost with that process."""
        self._send_report(Report(key, self._agent, self._incarnation, (), was_refused=True))

    def recorded(self, message_id: MessageId) -> None:
        """Handle the acknowledgement of a report; payloads gathered since are sent now."""
        self._sender.acknowledge(message_id)
        key = self._in_flight.pop(message_id, None)
        if key is not None:
            self._waiting.discard(key)
            self._held_back[key] = None
        while self._held_back and self._has_room:
            first = next(iter(self._held_back))
            del self._held_back[first]
            self._send(first)

    async def _send_gathered(self) -> None:
        """Send what has gathered for twenty milliseconds, or up to twice as long where some waited already."""
        try:
            while self._sent_soon:
                keys, self._sent_soon = self._sent_soon, {}
                await self._clock.sleep(GATHERED_FOR_S)
                for key in keys:
                    self._send(key)
        finally:
            self._is_gathering = False

    def _send(self, key: StageKey) -> None:
        """Send the gathered payloads, unless a report of that stage is in flight: then they wait for their turn.

        At most as many reports are in flight as the sender's outbox can resend; further stages are held back, the
        longest waiting first.
        """
        if key in self._waiting or key not in self._gathered:
            return
        if not self._has_room:
            self._held_back[key] = None
            return
        self._waiting.add(key)
        self._send_report(Report(key, self._agent, self._incarnation, tuple(self._gathered.pop(key))))

    def _send_report(self, report: Report) -> None:
        run_id = report.key.run_id
        message_id = MessageId(f"{self._incarnation}.{next(self._numbers)}")
        self._in_flight[message_id] = report.key
        command = OutgoingCommand(self._supervisor_of(run_id), REPORT, msgspec.msgpack.encode(report), run_id)
        self._spawn(self._sender.send(message_id, command))

    @property
    def _has_room(self) -> bool:
        return len(self._in_flight) < self._max_in_flight

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("report.not_sent", exc_info=error)

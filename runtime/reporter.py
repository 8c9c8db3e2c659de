"""What an agent has to tell of its stages: each report once more until it is recorded, and in order for each stage.

While a report is under way, what happens meanwhile gathers, and goes as one report when the first is recorded. That a
stage has begun, or called a tool, may wait for a moment: a short stage costs one report, however much it did.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from runtime.clock import Clock
from runtime.courier import Courier, Parcel
from runtime.ids import Address, MessageId, RunId, StageKey
from runtime.supervision.events import BudgetRequested, StageFailed, StageStarted, StageSucceeded, ToolCalled

REPORT = "stage.report"
RECORDED = "stage.recorded"
GATHERED_FOR_S = 0.02

StagePayload = StageStarted | StageSucceeded | StageFailed | BudgetRequested | ToolCalled


class Report(msgspec.Struct, frozen=True):
    """What became of one attempt, in order, as told by one life of its agent.

    `was_refused`: it did not begin, because another process, which is gone, had begun it.
    """

    key: StageKey
    agent: Address
    life: str
    payloads: tuple[StagePayload, ...]
    was_refused: bool = False

    @property
    def has_ended(self) -> bool:
        """True when the attempt is over."""
        return any(isinstance(payload, StageSucceeded | StageFailed) for payload in self.payloads)


_DECODER = msgspec.msgpack.Decoder(Report)


def decode_report(data: bytes) -> Report:
    """The report in a frame's body."""
    return _DECODER.decode(data)


class Reporter:
    """Speaks for one life of an agent. `supervisor_of`: run → the address that records it."""

    def __init__(
        self, courier: Courier, clock: Clock, agent: Address, life: str, supervisor_of: Callable[[RunId], Address]
    ) -> None:
        self._courier = courier
        self._clock = clock
        self._agent = agent
        self._life = life
        self._supervisor_of = supervisor_of
        self._gathered: dict[StageKey, list[StagePayload]] = {}
        self._under_way: dict[MessageId, StageKey] = {}
        self._waiting: set[StageKey] = set()
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()

    def say(self, payload: StagePayload) -> None:
        """Report it, after what was said of that stage before."""
        key = payload.key
        self._gathered.setdefault(key, []).append(payload)
        if isinstance(payload, StageStarted | ToolCalled):
            self._spawn(self._send_soon(key))
        else:
            self._send(key)

    def refuse(self, key: StageKey) -> None:
        """Another process had begun that attempt: it counts as lost with that one."""
        self._send_report(Report(key, self._agent, self._life, (), was_refused=True))

    def recorded(self, message_id: MessageId) -> None:
        """The supervisor has recorded that report; what has gathered since goes now."""
        self._courier.acknowledge(message_id)
        key = self._under_way.pop(message_id, None)
        if key is not None:
            self._waiting.discard(key)
            self._send(key)

    async def _send_soon(self, key: StageKey) -> None:
        await self._clock.sleep(GATHERED_FOR_S)
        self._send(key)

    def _send(self, key: StageKey) -> None:
        """Send what has gathered, unless a report of that stage is under way: it takes its turn then."""
        if key in self._waiting:
            return
        payloads = self._gathered.pop(key, None)
        if not payloads:
            return
        self._waiting.add(key)
        self._send_report(Report(key, self._agent, self._life, tuple(payloads)))

    def _send_report(self, report: Report) -> None:
        run_id = report.key.run_id
        message_id = MessageId(f"{self._life}.{next(self._numbers)}")
        self._under_way[message_id] = report.key
        parcel = Parcel(self._supervisor_of(run_id), REPORT, msgspec.msgpack.encode(report), run_id)
        self._spawn(self._courier.send(message_id, parcel))

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

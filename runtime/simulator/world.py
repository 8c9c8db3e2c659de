"""Simulates time, processes and the network: a heap of events, and messages that meet faults.

Messages may be lost, doubled, delayed or reordered. Nothing here depends on runs. A `Process` may be stopped, and
continues later with its backlog; or it dies and loses its memory and the messages on the way to it. The bus is part of
the world: when it crashes, every message in flight is lost.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from runtime.primitives.ids import MessageId
from runtime.simulator.faults import NO_FAULTS, Fault, FaultPlan

START_MS = 1_700_000_000_000
LONGEST_MS = 40 * 3_600_000
MOST_STEPS = 60_000
AFTERMATH_MS = 30_000

Call = tuple[Callable[..., None], tuple[Any, ...]]


class Message(msgspec.Struct, gc=False):
    """Carries one message over the bus; `epoch` is that of the supervisor that sends it, None for other senders."""

    id: MessageId
    kind: str
    source: str
    target: str
    body: Any = None
    epoch: int | None = None


class Process:
    """Runs code that can be stopped or killed. Its scheduled calls wait while it is stopped, and die with it."""

    def __init__(self, world: World, address: str) -> None:
        self.world = world
        self.address = address
        self.is_alive = True
        self.is_stopped = False
        self.piled_up: list[Call] = []

    def receive(self, message: Message) -> None:
        """Handle a message."""
        raise NotImplementedError

    def after(self, delay_ms: int, function: Callable[..., None], *values: Any) -> None:
        """Call `function` in `delay_ms` if this process is still alive then."""
        self.world.schedule(delay_ms, self, function, values)

    def die(self) -> None:
        """Kill the process, with everything that was not on disk."""
        self.is_alive = False
        self.piled_up = []

    def stop(self) -> None:
        """Pause the process, which does not notice it."""
        self.is_stopped = True

    def wake(self) -> None:
        """Resume the process with the calls that piled up meanwhile."""
        self.is_stopped = False
        piled_up, self.piled_up = self.piled_up, []
        for function, values in piled_up:
            if self.is_alive:
                function(*values)


class World:
    """Runs the heap, the clock and the network, and counts the places at which a fault plan strikes.

    `is_perfect`: there are no faults, so nothing needs to be acknowledged.
    """

    def __init__(self, plan: FaultPlan, on_fault: Callable[[Fault], None]) -> None:
        self.plan = plan
        self.now_ms = START_MS
        self.wall_skew_ms = 0
        self.faults: Counter[str] = Counter()
        self.steps = 0
        self.messages = 0
        self.processes: dict[str, Process] = {}
        self.bus_is_down = False
        self.is_stuck = False
        self.is_perfect = plan is NO_FAULTS
        self._bus_incarnation = 0
        self._on_fault = on_fault
        self._heap: list[tuple[int, int, Process | None, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0
        self._ends_ms = START_MS + LONGEST_MS

    def schedule(
        self, delay_ms: int, process: Process | None, function: Callable[..., None], values: tuple[Any, ...] = ()
    ) -> None:
        """Call `function` in `delay_ms` on behalf of `process`; calls due at the same time keep this order."""
        self._scheduled += 1
        at_ms = self.now_ms + delay_ms if delay_ms > 0 else self.now_ms
        heapq.heappush(self._heap, (at_ms, self._scheduled, process, function, values))

    def run(self) -> None:
        """Run until `end_soon` was called and its time is over; set `is_stuck` if it was never called."""
        heap, at_step = self._heap, self.plan.at_step
        while heap:
            at_ms, _, process, function, values = heapq.heappop(heap)
            if at_ms > self._ends_ms:
                break
            self.now_ms = at_ms
            self.steps += 1
            if self.steps in at_step:
                self._on_fault(at_step[self.steps])
            if process is None:
                function(*values)
            elif process.is_stopped:
                process.piled_up.append((function, values))
            elif process.is_alive:
                function(*values)
            if self.steps > MOST_STEPS:
                break
        self.is_stuck = self._ends_ms == START_MS + LONGEST_MS

    def end_soon(self) -> None:
        """End the world after a grace period in which messages still in flight may do harm."""
        self._ends_ms = self.now_ms + AFTERMATH_MS

    def send(self, message: Message) -> None:
        """Send a message over the bus, with the fault that the plan has for it."""
        self.messages += 1
        if self.bus_is_down:
            return
        delay_ms = 1 + self.messages % 3
        fault = self.plan.at_message.get(self.messages)
        if fault is not None:
            self.faults[fault.kind] += 1
            if fault.kind == "drop":
                return
            if fault.kind == "double":
                self.schedule(delay_ms + fault.span_ms, None, self._deliver, (message, self._bus_incarnation))
            else:
                delay_ms += fault.span_ms
        self.schedule(delay_ms, None, self._deliver, (message, self._bus_incarnation))

    def _deliver(self, message: Message, bus_life: int) -> None:
        process = self.processes.get(message.target)
        if bus_life != self._bus_incarnation or process is None:
            return
        if process.is_stopped:
            process.piled_up.append((process.receive, (message,)))
        elif process.is_alive:
            process.receive(message)

    def crash_bus(self, down_ms: int) -> None:
        """Drop every message in flight, and every message sent in the next `down_ms`."""
        self._bus_incarnation += 1
        self.bus_is_down = True
        self.schedule(down_ms, None, self._restore_bus, (self._bus_incarnation,))

    def _restore_bus(self, bus_life: int) -> None:
        self.bus_is_down = self.bus_is_down and bus_life != self._bus_incarnation


class WallClock:
    """Simulates the clock of the supervisors' machine; faults make it jump."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now_ms(self) -> int:
        return self._world.now_ms + self._world.wall_skew_ms

    def monotonic_s(self) -> float:
        return self._world.now_ms / 1000

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError(f"the simulator does not sleep ({delay_s} s)")

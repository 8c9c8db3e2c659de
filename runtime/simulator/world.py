"""Virtual time and the network: a heap of what happens next, and messages that may be lost, doubled, late or overtaken.

Nothing in here knows what a run is. A `Process` may be stopped, and goes on later with what piled up; or it dies, and
what it had in memory and on the way to itself is gone. The bus is part of the world: when it crashes, every message on
its way is lost.
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
    """What goes over the bus; `epoch` is the supervisor's that sends it, None from anybody else."""

    id: MessageId
    kind: str
    source: str
    target: str
    body: Any = None
    epoch: int | None = None


class Process:
    """Something that can be stopped, and can die. What it scheduled waits while it is stopped, and dies with it."""

    def __init__(self, world: World, address: str) -> None:
        self.world = world
        self.address = address
        self.is_alive = True
        self.is_stopped = False
        self.piled_up: list[Call] = []

    def receive(self, message: Message) -> None:
        """Deal with a message."""
        raise NotImplementedError

    def after(self, delay_ms: int, function: Callable[..., None], *values: Any) -> None:
        """Call `function` in `delay_ms`, if this process still lives then."""
        self.world.schedule(delay_ms, self, function, values)

    def die(self) -> None:
        """Be gone, with everything that was not on disk."""
        self.is_alive = False
        self.piled_up = []

    def stop(self) -> None:
        """Do nothing any more, without knowing it."""
        self.is_stopped = True

    def wake(self) -> None:
        """Go on with what piled up meanwhile."""
        self.is_stopped = False
        piled_up, self.piled_up = self.piled_up, []
        for function, values in piled_up:
            if self.is_alive:
                function(*values)


class World:
    """The heap, the clock, the network; and the numbers by which a fault plan finds its places.

    `is_perfect`: no fault will ever strike, so nothing needs to be acknowledged.
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
        self._bus_life = 0
        self._on_fault = on_fault
        self._heap: list[tuple[int, int, Process | None, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0
        self._ends_ms = START_MS + LONGEST_MS

    def schedule(
        self, delay_ms: int, process: Process | None, function: Callable[..., None], values: tuple[Any, ...] = ()
    ) -> None:
        """Call `function` in `delay_ms` on behalf of `process`; things due at one instant happen in this order."""
        self._scheduled += 1
        at_ms = self.now_ms + delay_ms if delay_ms > 0 else self.now_ms
        heapq.heappush(self._heap, (at_ms, self._scheduled, process, function, values))

    def run(self) -> None:
        """Let everything happen, until `end_soon` was called and its time is over; note when that never comes."""
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
        """All is done: give what is still on its way some time to do harm, then end."""
        self._ends_ms = self.now_ms + AFTERMATH_MS

    def send(self, message: Message) -> None:
        """Hand a message to the bus; what becomes of it, the plan says."""
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
                self.schedule(delay_ms + fault.span_ms, None, self._deliver, (message, self._bus_life))
            else:
                delay_ms += fault.span_ms
        self.schedule(delay_ms, None, self._deliver, (message, self._bus_life))

    def _deliver(self, message: Message, bus_life: int) -> None:
        process = self.processes.get(message.target)
        if bus_life != self._bus_life or process is None:
            return
        if process.is_stopped:
            process.piled_up.append((process.receive, (message,)))
        elif process.is_alive:
            process.receive(message)

    def crash_bus(self, down_ms: int) -> None:
        """Lose everything on its way, and everything that is sent in the next `down_ms`."""
        self._bus_life += 1
        self.bus_is_down = True
        self.schedule(down_ms, None, self._restore_bus, (self._bus_life,))

    def _restore_bus(self, bus_life: int) -> None:
        self.bus_is_down = self.bus_is_down and bus_life != self._bus_life


class WallClock:
    """The clock of the supervisors' machine; faults make it jump."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now_ms(self) -> int:
        return self._world.now_ms + self._world.wall_skew_ms

    def monotonic_s(self) -> float:
        return self._world.now_ms / 1000

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError(f"the simulator does not sleep ({delay_s} s)")

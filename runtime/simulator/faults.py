"""Draws fault plans from a seed before a simulation runs.

A place is a number: the n-th message, the n-th write to the run log, the n-th step of the world. How many of each there
will be is known from the run without faults, so that faults fall where something happens. A plan is data: removing
entries narrows a failure down.
"""

from __future__ import annotations

import random
from typing import Literal

import msgspec

MessageFault = Literal["drop", "double", "delay", "reorder"]
StepFault = Literal[
    "crash_agent", "crash_bus", "crash_supervisor", "crash_store", "stop_supervisor", "clock_jump", "reconnect"
]
WriteFault = Literal["store_error", "store_lie", "crash_after_append"]
JournalFault = Literal["journal_error", "journal_lie"]
FaultKind = MessageFault | StepFault | WriteFault | JournalFault | Literal["crash_after_effect"]

LIVES_OF_AN_AGENT = 4


class Fault(msgspec.Struct, frozen=True):
    """Describes one fault; `span_ms` is its delay, duration or clock jump; `which` picks one of several processes."""

    kind: FaultKind
    span_ms: int = 0
    which: int = 0


class FaultPlan(msgspec.Struct, frozen=True):
    """Maps places to faults: number of the message, step, write to the log, write to the journal, effect (from 1).

    `gathers_ms`: for how long supervisors collect messages that they record in one write; 0: one write for each.
    """

    at_message: dict[int, Fault] = {}
    at_step: dict[int, Fault] = {}
    at_write: dict[int, Fault] = {}
    at_journal: dict[int, Fault] = {}
    at_effect: dict[int, Fault] = {}
    gathers_ms: int = 0


class Extent(msgspec.Struct, frozen=True):
    """Counts the places for faults in a simulation of a scenario."""

    messages: int
    steps: int
    writes: int
    journal_writes: int
    effects: int


NO_FAULTS = FaultPlan()

_MESSAGE_KINDS: tuple[MessageFault, ...] = ("drop", "drop", "double", "double", "delay", "reorder")
_STEP_KINDS: tuple[StepFault, ...] = (
    "crash_agent",
    "crash_agent",
    "crash_bus",
    "crash_supervisor",
    "crash_supervisor",
    "crash_store",
    "stop_supervisor",
    "clock_jump",
    "reconnect",
)
_GATHERS_MS = (0, 0, 2, 30)
_SPANS_MS: dict[FaultKind, tuple[int, int]] = {
    "double": (0, 4_000),
    "delay": (200, 8_000),
    "reorder": (3, 60),
    "crash_agent": (50, 2_500),
    "crash_after_effect": (50, 2_500),
    "crash_bus": (50, 2_000),
    "crash_supervisor": (50, 3_000),
    "crash_after_append": (50, 3_000),
    "crash_store": (100, 4_000),
    "stop_supervisor": (500, 20_000),
    "clock_jump": (-8_000, 8_000),
}


def draw_plan(rng: random.Random, extent: Extent) -> FaultPlan:
    """Draw a plan for a simulation of that extent; one in ten disturbs up to an eighth of the messages."""
    intensity = rng.choice((0.5, 1.0, 1.0, 1.0, 2.0))
    storm = rng.random() < 0.1
    messages = extent.messages // 8 if storm else _amount(rng, 4 * intensity)
    return FaultPlan(
        at_message={
            rng.randint(1, extent.messages + 5): _fault(rng, rng.choice(_MESSAGE_KINDS)) for _ in range(messages)
        },
        at_step={
            rng.randint(1, extent.steps + 5): _fault(rng, rng.choice(_STEP_KINDS))
            for _ in range(_amount(rng, 2.5 * intensity))
        },
        at_write={
            rng.randint(1, extent.writes + 2): _fault(
                rng, rng.choice(("store_error", "store_lie", "crash_after_append"))
            )
            for _ in range(_amount(rng, 1.2 * intensity))
        },
        at_journal={
            rng.randint(1, extent.journal_writes + 2): _fault(rng, rng.choice(("journal_error", "journal_lie")))
            for _ in range(_amount(rng, 0.8 * intensity))
        },
        at_effect={
            rng.randint(1, extent.effects + 1): _fault(rng, "crash_after_effect")
            for _ in range(_amount(rng, 0.5 * intensity))
        },
        gathers_ms=rng.choice(_GATHERS_MS),
    )


def _amount(rng: random.Random, mean: float) -> int:
    return int(rng.random() * (2 * mean + 1))


def _fault(rng: random.Random, kind: FaultKind) -> Fault:
    low, high = _SPANS_MS.get(kind, (0, 0))
    return Fault(kind, rng.randint(low, high), rng.randrange(1_000))

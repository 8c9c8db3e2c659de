"""What the supervisor tells its host to do. Commands say everything that is needed; hosts decide nothing."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from runtime.bounds import Grant
from runtime.envelope import Interrupt, TerminalReason
from runtime.goals import GoalBoard
from runtime.ids import RunId, StageKey, StageName

CLIENT_SCHEMA_VERSION = 1

ClientEventType = Literal[
    "run.accepted",
    "stage.started",
    "stage.finished",
    "tool.called",
    "goals.changed",
    "bound.warned",
    "interrupt.raised",
    "interrupt.resolved",
    "text.snapshot",
    "text.delta",
    "run.finished",
]

# What a stage is writing, before anything of it is checked: neither numbered nor recorded.
TEXT_EVENTS = frozenset({"text.snapshot", "text.delta"})


class StageView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a stage sees of its run: the request, what earlier stages wrote, the goals, and how much room is left.

    `item` and `item_index` are set in a fan-out; `interrupt` is the last question of the run, with its answer.
    """

    raw_input: str
    metadata: dict[str, Any] = {}
    session_id: str | None = None
    user_id: str = "local"
    outputs: dict[str, dict[str, Any]] = {}
    goals: GoalBoard = GoalBoard()
    context_bounds: dict[str, int] = {}
    edges: dict[str, int] = {}
    ended_by: TerminalReason | None = None
    hop: int = 0
    item: Any = None
    item_index: int | None = None
    interrupt: Interrupt | None = None


class RunStage(msgspec.Struct, frozen=True, tag="run_stage"):
    """Let the agent of `stage` work; `retries` counts the attempts of this visit that failed before."""

    key: StageKey
    stage: StageName
    input: bytes
    grant: Grant
    deadline_ms: int
    retries: int = 0


class CancelStage(msgspec.Struct, frozen=True, tag="cancel_stage"):
    """Tell the agent of `stage` to drop what it does under `key`."""

    key: StageKey
    stage: StageName


class GiveGrant(msgspec.Struct, frozen=True, tag="give_grant"):
    """Tell the agent of `stage` what more it may spend; all zero: nothing is left of what it asked for."""

    key: StageKey
    stage: StageName
    grant: Grant


class SetTimer(msgspec.Struct, frozen=True, tag="set_timer"):
    """Report TimerFired(timer_id) at `due_ms`, once."""

    timer_id: str
    due_ms: int


class ClientEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a caller sees happen; `seq` counts from 1 per run without gaps, and is 0 for TEXT_EVENTS."""

    seq: int
    at_ms: int
    run_id: RunId
    type: ClientEventType
    hop: int | None = None
    stage: StageName | None = None
    data: dict[str, Any] = {}
    schema_version: int = msgspec.field(default_factory=lambda: CLIENT_SCHEMA_VERSION)  # a factory: always written


class Emit(msgspec.Struct, frozen=True, tag="emit"):
    """Show `event` to whoever watches the run."""

    event: ClientEvent


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """The run is over; its envelope is final."""

    run_id: RunId
    reason: TerminalReason


Command = RunStage | CancelStage | GiveGrant | SetTimer | Emit | Finish

_VIEW_DECODER = msgspec.msgpack.Decoder(StageView)


def decode_view(data: bytes) -> StageView:
    """The view in a RunStage command."""
    return _VIEW_DECODER.decode(data)

"""Defines the commands that a decision gives its host, each self-contained: hosts decide nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import msgspec

from runtime.primitives.ids import RunId, StageKey, StageName
from runtime.run.envelope import TerminalReason
from runtime.run.grant import Grant

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

# The first words of the types above: no capability may have one of them as its id.
EVENT_FAMILIES = frozenset(name.partition(".")[0] for name in get_args(ClientEventType))

# Text that a stage is still writing, before it is checked: neither numbered nor recorded.
TEXT_EVENTS = frozenset({"text.snapshot", "text.delta"})


def _told(meaning: str) -> msgspec.Meta:
    return msgspec.Meta(description=meaning)


class RunStage(msgspec.Struct, frozen=True, tag="run_stage"):
    """Starts `stage` at its agent; `retries` counts the attempts of this visit that failed before."""

    key: StageKey
    stage: StageName
    input: bytes
    grant: Grant
    deadline_ms: int
    retries: int = 0


class CancelStage(msgspec.Struct, frozen=True, tag="cancel_stage"):
    """Makes the agent of `stage` stop the work under `key`."""

    key: StageKey
    stage: StageName


class GiveGrant(msgspec.Struct, frozen=True, tag="give_grant"):
    """Grants the agent of `stage` a further budget; all zero: nothing is left of what it requested."""

    key: StageKey
    stage: StageName
    grant: Grant


class SetTimer(msgspec.Struct, frozen=True, tag="set_timer"):
    """Requests one TimerFired(timer_id) event at `due_ms`."""

    timer_id: str
    due_ms: int


class ClientEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reports progress of a run to its callers; `data` has the form that `client_data` declares for its type."""

    seq: Annotated[int, _told("1 for the first event of the run, without gaps; 0: the event is not recorded")]
    at_ms: Annotated[int, _told("when it happened, in ms since 1970")]
    run_id: Annotated[RunId, _told("the run")]
    type: Annotated[str, _told("one of the types below")]
    hop: Annotated[int | None, _told("number of the visit of a stage, from 1 over the whole run")] = None
    stage: Annotated[StageName | None, _told("name of the stage, if the event is about one")] = None
    data: Annotated[dict[str, Any], _told("fields that depend on the type")] = {}
    # A factory: always written.
    schema_version: Annotated[int, _told("version of the form of events")] = msgspec.field(
        default_factory=lambda: CLIENT_SCHEMA_VERSION
    )


class Emit(msgspec.Struct, frozen=True, tag="emit"):
    """Delivers `event` to the watchers of the run."""

    event: ClientEvent


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """Ends the run; its envelope is final."""

    run_id: RunId
    reason: TerminalReason


Command = RunStage | CancelStage | GiveGrant | SetTimer | Emit | Finish

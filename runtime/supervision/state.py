"""The state of one run as the supervisor keeps it: the fold of the run's log."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.primitives.ids import RunId, StageKey, StageName
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope, InterruptRequest, Request, TerminalReason
from runtime.supervision.commands import Command
from runtime.supervision.events import StageSucceeded


class InFlight(msgspec.Struct, frozen=True):
    """A stage that was told to run and has not reported; `waiting_retry` while its next attempt waits for a timer.

    `tool_calls` counts what it has reported while it works, for the book of an attempt that never reports its end.
    """

    key: StageKey
    stage: StageName
    grant: Grant
    issued_at_ms: int
    retries: int = 0
    reissues: int = 0
    waiting_retry: bool = False
    started: bool = False
    tool_calls: int = 0


class Ending(msgspec.Struct, frozen=True):
    """A bound that has ended the run, at `at_ms`, while the final stage still collects what was found."""

    reason: TerminalReason
    detail: str
    at_ms: int


class FanOut(msgspec.Struct, frozen=True):
    """A stage that runs once per item. `results`: index → output; `next_item` is the first that was not issued."""

    hop: int
    items: tuple[Any, ...]
    next_item: int
    results: dict[int, StageSucceeded] = {}


class Question(msgspec.Struct, frozen=True):
    """What a stage wants to know of a person; a pause is a question of no stage.

    `unapproved`: the stage's result, which takes effect when it is approved; `failure`: how the run ends if the answer
    is no.
    """

    stage: StageName | None
    request: InterruptRequest
    unapproved: StageSucceeded | None = None
    failure: Ending | None = None


class Held(msgspec.Struct, frozen=True):
    """What waits while the run does: `entries` are stages to enter once it goes on.

    `questions` are put one after the other; the first is the one that the run waits for. While the run is `ready`, the
    first may be one that was answered: it is the one whose stage the envelope's interrupt names.
    """

    entries: tuple[StageName, ...] = ()
    questions: tuple[Question, ...] = ()


class RunState(msgspec.Struct, frozen=True):
    """Everything that deciding needs about one run.

    `timers`: timer id → due instant in ms; `fan_outs`: stage → its fan-out under way; `revisits`: stages of a parallel
    run that were routed to and cannot be entered yet: they are at work, or held back by a stage that they come after.
    """

    envelope: Envelope
    in_flight: dict[str, InFlight] = {}
    timers: dict[str, int] = {}
    ending: Ending | None = None
    fan_outs: dict[str, FanOut] = {}
    held: Held = Held()
    revisits: tuple[StageName, ...] = ()
    next_event_seq: int = 1
    warned: frozenset[str] = frozenset()


class Decision(msgspec.Struct, frozen=True):
    """What follows from one event. `ignored` says why an event changed nothing."""

    state: RunState
    commands: tuple[Command, ...] = ()
    ignored: str | None = None


def new_state(run_id: RunId) -> RunState:
    """A run that nothing has happened to."""
    return RunState(Envelope(run_id=run_id, request=Request(pipeline="", raw_input="")))

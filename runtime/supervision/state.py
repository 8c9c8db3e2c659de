"""Defines the state of one run, which the supervisor folds from the run's log."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.primitives.ids import RunId, StageKey, StageName
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope, InterruptRequest, Request, TerminalReason
from runtime.supervision.commands import Command
from runtime.supervision.events import StageSucceeded


class InFlight(msgspec.Struct, frozen=True):
    """Tracks a stage that was issued and has not reported; `waiting_retry` while its next attempt waits for a timer.

    `tool_calls` counts those reported so far, to account for an attempt that never reports its end; `emitted` is the
    number of the last event that hooks emitted in this visit, in any of its attempts; `is_slow`: the visit has passed
    the latency budget of its agent.
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
    emitted: int = 0
    is_slow: bool = False


class Ending(msgspec.Struct, frozen=True):
    """Records the bound that has ended the run, at `at_ms`, while the final stage still collects what was found."""

    reason: TerminalReason
    detail: str
    at_ms: int


class FanOut(msgspec.Struct, frozen=True):
    """Tracks a stage that runs once per item. `results`: index → output; `next_item` is the first not issued."""

    hop: int
    items: tuple[Any, ...]
    next_item: int
    results: dict[int, StageSucceeded] = {}


class Question(msgspec.Struct, frozen=True):
    """Holds a stage's question to a person; a pause is a question without a stage.

    `unapproved`: the stage's result, which takes effect when it is approved; `failure`: how the run ends if the answer
    is no.
    """

    stage: StageName | None
    request: InterruptRequest
    unapproved: StageSucceeded | None = None
    failure: Ending | None = None


class Held(msgspec.Struct, frozen=True):
    """Holds back work while the run waits: `entries` are stages to enter once it continues.

    `questions` are raised one after the other; the run waits for the first. While the run is `ready`, the first may be
    an answered one: it is the one whose stage the envelope's interrupt names.
    """

    entries: tuple[StageName, ...] = ()
    questions: tuple[Question, ...] = ()


class RunState(msgspec.Struct, frozen=True):
    """Holds all that deciding needs about one run.

    `timers`: timer id → due instant in ms; `fan_outs`: stage → its fan-out in progress; `revisits`: stages of a
    parallel run that were routed to and cannot be entered yet: they are at work, or held back by a stage that they come
    after.
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
    """Holds the consequences of one event. `ignored` is the reason why an event changed nothing."""

    state: RunState
    commands: tuple[Command, ...] = ()
    ignored: str | None = None


def new_state(run_id: RunId) -> RunState:
    """Return the state of a run before its first event."""
    return RunState(Envelope(run_id=run_id, request=Request(pipeline="", raw_input="")))

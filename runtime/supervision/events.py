"""Defines the events of a run; each is appended to the run log before it takes effect.

An event holds the instant at which it happened, so that deciding needs no clock; randomness never enters.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from runtime.errors import WireError
from runtime.primitives.ids import InterruptId, RunId, StageKey, TimerId
from runtime.run.envelope import InterruptRequest, InterruptResponse, Request
from runtime.run.goals import GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict

FailureKind = Literal["tool", "model", "internal", "timeout", "budget"]
Bound = Literal["llm_calls", "tokens"]

# Hooks' own events: how many a visit of a stage may have, and the form of their names.
MAX_EMITTED = 32
EMITTED_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class StageUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts what one attempt of a stage spent, and its duration."""

    llm_calls: int = 0
    tool_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    duration_ms: int = 0


class RunRequested(msgspec.Struct, frozen=True, tag="run_requested", omit_defaults=True):
    """Records an accepted request; `queued`: it begins when it is admitted. `config_hash` pins the pipeline version."""

    request: Request
    queued: bool = False
    config_hash: str = ""


class StageStarted(msgspec.Struct, frozen=True, tag="stage_started", omit_defaults=True):
    """Records that an agent started a stage."""

    key: StageKey


class StageSucceeded(msgspec.Struct, frozen=True, tag="stage_succeeded", omit_defaults=True):
    """Records a stage's result: an output, a change to the goals, or a question to a person."""

    key: StageKey
    output: dict[str, Any]
    goals: GoalsPatch | None = None
    interrupt: InterruptRequest | None = None
    usage: StageUsage = StageUsage()
    policy: PolicyVerdict | None = None


class StageFailed(msgspec.Struct, frozen=True, tag="stage_failed", omit_defaults=True):
    """Records a stage that ended without an output; `bound` is set when a reservation was refused (kind `budget`)."""

    key: StageKey
    kind: FailureKind
    error: str
    bound: Bound | None = None
    recoverable: bool = False
    usage: StageUsage = StageUsage()


class TimerFired(msgspec.Struct, frozen=True, tag="timer_fired", omit_defaults=True):
    """Records that a timer of the run came due. `queued`: its effects wait until there is room for the run."""

    timer_id: TimerId
    queued: bool = False


class CancelRequested(msgspec.Struct, frozen=True, tag="cancel_requested", omit_defaults=True):
    """Records a caller's request to stop the run."""

    reason: str = ""


class ActorLost(msgspec.Struct, frozen=True, tag="actor_lost", omit_defaults=True):
    """Records the death of an agent's process; the attempts that it held may or may not have run.

    `keys`: those attempts; when empty, all that the agent of that stage has.
    """

    agent: str
    keys: tuple[StageKey, ...] = ()


class RunAdmitted(msgspec.Struct, frozen=True, tag="run_admitted"):
    """Records that there is room for the run: it may begin, or continue after it waited."""


class RunAdopted(msgspec.Struct, frozen=True, tag="run_adopted", omit_defaults=True):
    """Records that a supervisor took over the run: stages in flight are reissued; `queued`: once there is room.

    `shift_ms` of a fork is the time since its last copied event, by which everything that is still to come moves.
    """

    reason: str = ""
    queued: bool = False
    shift_ms: int = 0


class PauseRequested(msgspec.Struct, frozen=True, tag="pause_requested", omit_defaults=True):
    """Records a caller's request to hold the run at its next step."""

    reason: str = ""


class InterruptAnswered(msgspec.Struct, frozen=True, tag="interrupt_answered", omit_defaults=True):
    """Records a person's answer; `user_id` must be allowed to control the run.

    `queued`: the run continues once there is room for it.
    """

    interrupt_id: InterruptId
    user_id: str
    response: InterruptResponse
    queued: bool = False


class QuotaExhausted(msgspec.Struct, frozen=True, tag="quota_exhausted"):
    """Records that this user's runs have spent the user's quota for now; `detail` has the numbers."""

    bound: Bound
    detail: str


class BudgetRequested(msgspec.Struct, frozen=True, tag="budget_requested", omit_defaults=True):
    """Records that a stage has used up its grant and requests more."""

    key: StageKey
    llm_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0


class ToolCalled(msgspec.Struct, frozen=True, tag="tool_called", omit_defaults=True):
    """Records a tool call of a stage at work; callers see it as it happens."""

    key: StageKey
    tool: str
    status: str
    duration_ms: int = 0


class StageEmitted(msgspec.Struct, frozen=True, tag="stage_emitted", omit_defaults=True):
    """Records an event that a hook made for callers; `number` counts those of one attempt from 1."""

    key: StageKey
    name: str
    number: int
    data: dict[str, Any] = {}


class LatencyPassed(msgspec.Struct, frozen=True, tag="latency_passed"):
    """Records that a stage takes longer than the latency budget of its agent."""

    key: StageKey
    budget_ms: int


Payload = (
    RunRequested
    | RunAdmitted
    | RunAdopted
    | StageStarted
    | StageSucceeded
    | StageFailed
    | BudgetRequested
    | InterruptAnswered
    | PauseRequested
    | QuotaExhausted
    | TimerFired
    | CancelRequested
    | ActorLost
    | ToolCalled
    | StageEmitted
    | LatencyPassed
)


class Event(msgspec.Struct, frozen=True):
    """Stores one entry of a run's log; `seq` counts from 1 without gaps."""

    run_id: RunId
    seq: int
    at_ms: int
    payload: Payload


EVENT_CODEC = msgspec.msgpack.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """Encode an event as MessagePack."""
    return msgspec.msgpack.encode(event)


def decode_event(data: bytes) -> Event:
    """Decode an event. Raises WireError when the bytes are none."""
    try:
        return EVENT_CODEC.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"these {len(data)} bytes are no event: {error}", size_bytes=len(data)) from error

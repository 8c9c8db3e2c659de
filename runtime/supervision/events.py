"""What can happen to a run. Each event is appended to the run log before anything follows from it.

An event holds the instant at which it happened, so that deciding needs no clock; randomness never enters.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from runtime.errors import WireError
from runtime.primitives.ids import RunId, StageKey
from runtime.run.envelope import InterruptRequest, InterruptResponse, Request
from runtime.run.goals import GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict

FailureKind = Literal["tool", "model", "internal", "timeout", "budget"]
Bound = Literal["llm_calls", "tokens"]


class StageUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one attempt of a stage spent, and how long it took."""

    llm_calls: int = 0
    tool_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    duration_ms: int = 0


class RunRequested(msgspec.Struct, frozen=True, tag="run_requested", omit_defaults=True):
    """A caller's request was accepted; `queued`: it begins when it is admitted. `config_hash` pins the rules."""

    request: Request
    queued: bool = False
    config_hash: str = ""


class StageStarted(msgspec.Struct, frozen=True, tag="stage_started", omit_defaults=True):
    """An agent took up a stage."""

    key: StageKey


class StageSucceeded(msgspec.Struct, frozen=True, tag="stage_succeeded", omit_defaults=True):
    """A stage ended with an output, a change to the goals, or a question to a person."""

    key: StageKey
    output: dict[str, Any]
    goals: GoalsPatch | None = None
    interrupt: InterruptRequest | None = None
    usage: StageUsage = StageUsage()
    policy: PolicyVerdict | None = None


class StageFailed(msgspec.Struct, frozen=True, tag="stage_failed", omit_defaults=True):
    """A stage ended without an output. `bound` is set when a reservation was refused (kind `budget`)."""

    key: StageKey
    kind: FailureKind
    error: str
    bound: Bound | None = None
    recoverable: bool = False
    usage: StageUsage = StageUsage()


class TimerFired(msgspec.Struct, frozen=True, tag="timer_fired", omit_defaults=True):
    """A timer that the run had set came due. `queued`: what follows from it waits until there is room for the run."""

    timer_id: str
    queued: bool = False


class CancelRequested(msgspec.Struct, frozen=True, tag="cancel_requested", omit_defaults=True):
    """A caller wants the run to stop."""

    reason: str = ""


class ActorLost(msgspec.Struct, frozen=True, tag="actor_lost", omit_defaults=True):
    """The process behind an agent died; what it had in hand may or may not have run.

    `keys`: the attempts that died with it; without any, all that the agent of that stage has.
    """

    agent: str
    keys: tuple[StageKey, ...] = ()


class RunAdmitted(msgspec.Struct, frozen=True, tag="run_admitted"):
    """There is room for the run: it may begin, or go on after it waited."""


class RunAdopted(msgspec.Struct, frozen=True, tag="run_adopted", omit_defaults=True):
    """A supervisor took the run up from its log: what was in flight is issued again; `queued`: once there is room."""

    reason: str = ""
    queued: bool = False


class PauseRequested(msgspec.Struct, frozen=True, tag="pause_requested", omit_defaults=True):
    """A caller wants the run to hold at the next step."""

    reason: str = ""


class InterruptAnswered(msgspec.Struct, frozen=True, tag="interrupt_answered", omit_defaults=True):
    """A person answered; `user_id` must be the one who asked. `queued`: the run goes on once there is room for it."""

    interrupt_id: str
    user_id: str
    response: InterruptResponse
    queued: bool = False


class QuotaExhausted(msgspec.Struct, frozen=True, tag="quota_exhausted"):
    """The runs of this user have spent all that the user may spend for now; `detail` says how much of what."""

    bound: Bound
    detail: str


class BudgetRequested(msgspec.Struct, frozen=True, tag="budget_requested", omit_defaults=True):
    """A stage has used up what it was granted and asks for more."""

    key: StageKey
    llm_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0


class ToolCalled(msgspec.Struct, frozen=True, tag="tool_called", omit_defaults=True):
    """A stage reports a tool call while it works; callers see it as it happens."""

    key: StageKey
    tool: str
    status: str
    duration_ms: int = 0


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
)


class Event(msgspec.Struct, frozen=True):
    """One entry of a run's log; `seq` counts from 1 without gaps."""

    run_id: RunId
    seq: int
    at_ms: int
    payload: Payload


EVENT_CODEC = msgspec.msgpack.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """MessagePack of an event."""
    return msgspec.msgpack.encode(event)


def decode_event(data: bytes) -> Event:
    """The event in `data`. Raises WireError when the bytes are none."""
    try:
        return EVENT_CODEC.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"these {len(data)} bytes are no event: {error}", size_bytes=len(data)) from error

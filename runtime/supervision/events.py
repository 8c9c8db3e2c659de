"""Defines the events of a run; each is appended to the run log before it takes effect.

An event holds the instant at which it happened, so that deciding needs no clock; randomness never enters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

import msgspec

from runtime.errors import NewerVersionError, WireError
from runtime.primitives.ids import InterruptId, RunId, StageKey, TimerId
from runtime.primitives.newer_records import convert_known, with_unknown
from runtime.run.envelope import (
    SCHEMA_VERSION,
    InterruptRequest,
    InterruptResponse,
    Request,
    check_schema_version,
)
from runtime.run.goals import GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict

FailureKind = Literal["tool", "model", "internal", "timeout", "budget"]
Bound = Literal["llm_calls", "tokens", "cost"]

# Hooks' own events: how many a visit of a stage may have, and the form of their names.
MAX_EMITTED = 32
EMITTED_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class StageUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts what one attempt of a stage spent, and its duration; `cost_micro` in millionths of the currency."""

    llm_calls: int = 0
    tool_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    duration_ms: int = 0
    cost_micro: int = 0


class RunRequested(msgspec.Struct, frozen=True, tag="run_requested", omit_defaults=True):
    """Records an accepted request; `queued`: it begins when it is admitted. `config_hash` pins the pipeline version.

    `schema_version` is that of the program that accepted it: the run is decided as by that version to its end.
    `calls_models` is False when the owner's agents reason without models, so that none need be reserved for.
    """

    request: Request
    queued: bool = False
    config_hash: str = ""
    schema_version: int = 1
    calls_models: bool = True


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
    `calls_models` is False when the agents of the new owner reason without models.
    """

    reason: str = ""
    queued: bool = False
    shift_ms: int = 0
    calls_models: bool = True


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


class QuotaExhausted(msgspec.Struct, frozen=True, tag="quota_exhausted", omit_defaults=True):
    """Records that this user's runs have spent the user's quota for now; `detail` has the numbers.

    `of_run`: the run itself has spent what one run may, so that there will be no room again.
    """

    bound: Bound
    detail: str
    of_run: bool = False


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


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """Stores one entry of a run's log; `seq` counts from 1 without gaps.

    `extra`: the fields of the payload that this version does not know, at every level; copies keep them.
    """

    run_id: RunId
    seq: int
    at_ms: int
    payload: Payload
    extra: dict[str, Any] = {}


EVENT_CODEC = msgspec.msgpack.Decoder(Event)


class _Whole(msgspec.Struct, frozen=True):
    """Holds an event whose payload is read for itself."""

    run_id: RunId
    seq: int
    at_ms: int
    payload: Any


_PAYLOAD_DECODER = msgspec.msgpack.Decoder(Payload)
_TAGS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(Payload))


def encode_payload(event: Event) -> bytes:
    """Encode the payload of an event as MessagePack, with the fields that this version does not know."""
    body = msgspec.msgpack.encode(event.payload)
    return msgspec.msgpack.encode(with_unknown(msgspec.msgpack.decode(body), event.extra)) if event.extra else body


def decode_payload(run_id: RunId, seq: int, at_ms: int, body: bytes) -> Event:
    """Decode a payload as an event of a run.

    Raises NewerVersionError if a newer version wrote what cannot be decided here, and WireError for other bytes.
    """
    try:
        payload: Payload = _PAYLOAD_DECODER.decode(body)
        extra: dict[str, Any] = {}
        if msgspec.msgpack.encode(payload) != body:  # an older version wrote it, or a newer one with more fields
            _, extra = convert_known(msgspec.msgpack.decode(body), type(payload))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, TypeError) as error:
        _check_type(run_id, seq, body)
        raise WireError(f"these {len(body)} bytes are no event: {error}", size_bytes=len(body)) from error
    if isinstance(payload, RunRequested):
        check_schema_version(run_id, payload.schema_version)
    return Event(run_id, seq, at_ms, payload, extra)


def _check_type(run_id: RunId, seq: int, body: bytes) -> None:
    """Raise NewerVersionError if the bytes are an event of a type that this version does not have."""
    try:
        tag = msgspec.msgpack.decode(body)["type"]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, LookupError, TypeError):
        return
    if isinstance(tag, str) and tag not in _TAGS:
        raise NewerVersionError(
            f"these {len(body)} bytes are no event that this program knows (schema versions up to {SCHEMA_VERSION}):"
            f" event {seq} of run {run_id} is of the type '{tag[:60]}'; a newer version of jeeves wrote it: continue"
            " the run with that version, or install it here",
            run_id=run_id,
            found=tag,
            known=SCHEMA_VERSION,
        )


def encode_event(event: Event) -> bytes:
    """Encode an event as MessagePack."""
    payload = msgspec.Raw(encode_payload(event))
    return msgspec.msgpack.encode(_Whole(event.run_id, event.seq, event.at_ms, payload))


def decode_event(data: bytes) -> Event:
    """Decode an event. Raises NewerVersionError, and WireError when the bytes are none."""
    try:
        whole = msgspec.msgpack.decode(data, type=_Whole)
        body = msgspec.msgpack.encode(whole.payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"these {len(data)} bytes are no event: {error}", size_bytes=len(data)) from error
    return decode_payload(whole.run_id, whole.seq, whole.at_ms, body)


def request_event(events: Sequence[Event]) -> RunRequested:
    """Return the first event of a run's log, which is its request."""
    first = events[0].payload
    assert isinstance(first, RunRequested)
    return first

"""Defines the envelope, which holds the state of one run in one value that travels as MessagePack.

It is domain-free: outputs are whatever stages wrote under their output keys. The parts are frozen structs; only
`runtime.supervision` derives the next envelope from the last. Fields that a newer version wrote and this one does not
know survive a round trip, at the top in `extra` and below in `extra_parts`; new words of an enumeration raise the
`schema_version`. An envelope above ours can be read and shown; `check_schema_version` refuses to continue its run.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from runtime.errors import NewerVersionError, WireError
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.pipeline.run_terms import RunMode
from runtime.primitives.ids import RunId, StageName
from runtime.primitives.newer_records import convert_known, with_unknown
from runtime.run.goals import GoalBoard

# Runs keep the version that they began under: `decide` does for them what it did then.
# 2: usage is booked within its grant.
SCHEMA_VERSION = 2

TerminalReason = Literal[
    "completed",
    "clarification_required",
    "confirmation_required",
    "denied_by_policy",
    "tool_failed_recoverably",
    "tool_failed_fatally",
    "llm_failed_fatally",
    "max_iterations_exceeded",
    "max_llm_calls_exceeded",
    "max_agent_hops_exceeded",
    "max_loop_exceeded",
    "max_tokens_exceeded",
    "deadline_exceeded",
    "loop_detected",
    "interrupt_expired",
    "unsatisfiable_dependencies",
    "user_cancelled",
    "internal_error",
]

BOUND_REASONS: frozenset[str] = frozenset(
    {
        "max_iterations_exceeded",
        "max_llm_calls_exceeded",
        "max_agent_hops_exceeded",
        "max_loop_exceeded",
        "max_tokens_exceeded",
        "deadline_exceeded",
        "loop_detected",
    }
)

FAILURE_REASONS: frozenset[str] = frozenset(
    {"tool_failed_recoverably", "tool_failed_fatally", "llm_failed_fatally", "internal_error"}
)

Lifecycle = Literal["new", "ready", "running", "waiting", "blocked", "terminated"]
StageStatus = Literal["active", "asking", "success", "failed", "handled", "cancelled"]
ClosedStatus = Literal["resolved", "expired", "cancelled"]
InterruptStatus = Literal["pending", "resolved", "expired", "cancelled"]
HistoryStatus = Literal["success", "error", "skipped", "cancelled"]


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a caller's request. `metadata` is the capability's own (code_analysis: `repo`); `limits` only lower bounds.

    `run_mode`: how the pipeline is to run; None: as it is configured. `wait`: the run waits when it has a question;
    otherwise a question ends the run. `durable`: the run is continued whenever a system comes up, however long it had
    no owner; None, as in requests of older versions: if it waits.
    """

    pipeline: str
    raw_input: str
    user_id: str = "local"
    session_id: str | None = None
    request_id: str | None = None
    metadata: dict[str, Any] = {}
    limits: dict[str, int] = {}
    deadline_s: float | None = None
    wait: bool = False
    priority: str | None = None
    durable: bool | None = None
    run_mode: RunMode | None = None

    @property
    def is_durable(self) -> bool:
        """True if the run is to be continued even if it had no owner for a long time."""
        return self.wait if self.durable is None else self.durable


class Bounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits one run: N permits exactly N; `None` is no limit; `deadline_ms` is an instant since the epoch."""

    max_iterations: int = 3
    max_llm_calls: int = 10
    max_agent_hops: int = 21
    max_tool_calls: int = 50
    max_tokens: int | None = None
    deadline_ms: int | None = None
    context: dict[str, int] = {}


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts what a run has spent; `cost_micro` in millionths of the currency that model prices are in.

    `edges`: "from->to" → traversals; `slow_stages`: visits beyond the latency budget of their agent.
    """

    iterations: int = 0
    llm_calls: int = 0
    agent_hops: int = 0
    tool_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    edges: dict[str, int] = {}
    slow_stages: int = 0
    cost_micro: int = 0


class HistoryRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records one finished attempt of a stage."""

    stage: StageName
    hop: int
    attempt: int
    started_at_ms: int
    duration_ms: int
    status: HistoryStatus
    error: str | None = None
    llm_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    item: int = 0
    digest: str = ""


class InterruptRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Asks a person a question that only a person can answer."""

    kind: InterruptKind
    question: str
    message: str = ""
    data: dict[str, Any] = {}


class InterruptResponse(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a person's answer. `approved` settles confirmations, `decision` reviews: approve, reject or modify."""

    text: str = ""
    approved: bool | None = None
    decision: Literal["approve", "reject", "modify"] | None = None
    data: dict[str, Any] = {}
    received_at_ms: int = 0


class Interrupt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a question of the run; `stage` is the one that asked, `expires_at_ms` None: never."""

    id: str
    kind: InterruptKind
    question: str
    stage: StageName | None = None
    message: str = ""
    data: dict[str, Any] = {}
    created_at_ms: int = 0
    expires_at_ms: int | None = None
    status: InterruptStatus = "pending"
    response: InterruptResponse | None = None


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds all state of one run. `outputs`: output key → field → value."""

    run_id: RunId
    request: Request
    config_hash: str = ""
    received_at_ms: int = 0
    bounds: Bounds = Bounds()
    usage: Usage = Usage()
    outputs: dict[str, dict[str, Any]] = {}
    goals: GoalBoard = GoalBoard()
    current_stage: StageName | None = None
    lifecycle: Lifecycle = "new"
    history: tuple[HistoryRecord, ...] = ()
    errors: tuple[str, ...] = ()
    interrupt: Interrupt | None = None
    interrupts_raised: int = 0
    stages: dict[str, StageStatus] = {}
    terminal_reason: TerminalReason | None = None
    terminal_detail: str | None = None
    finished_at_ms: int | None = None
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)  # a factory: always written
    extra: dict[str, Any] = {}
    extra_parts: dict[str, Any] = {}


_LEVELS = ("extra", "extra_parts")


def encode_envelope(envelope: Envelope) -> bytes:
    """Encode the envelope as MessagePack, with the fields that this version does not know beside the known ones."""
    if not envelope.extra and not envelope.extra_parts:
        return msgspec.msgpack.encode(envelope)
    return msgspec.msgpack.encode(envelope_document(envelope))


def envelope_document(envelope: Envelope) -> dict[str, Any]:
    """Return the envelope as plain data, with the fields that this version does not know beside the known ones."""
    known = msgspec.msgpack.decode(msgspec.msgpack.encode(msgspec.structs.replace(envelope, extra={}, extra_parts={})))
    document: dict[str, Any] = with_unknown(known, {"fields": envelope.extra, "parts": envelope.extra_parts})
    return document


def decode_envelope(data: bytes) -> Envelope:
    """Decode an envelope, also one of a newer version, whose words that this one does not know stay as text.

    Raises WireError when the bytes are no envelope.
    """
    try:
        raw = msgspec.msgpack.decode(data)
        plain = {key: value for key, value in raw.items() if key not in _LEVELS}
        version = plain.get("schema_version", SCHEMA_VERSION)
        is_newer = isinstance(version, int) and version > SCHEMA_VERSION
        envelope, unknown = convert_known(plain, Envelope, keeps_words=is_newer)
    except (msgspec.MsgspecError, AttributeError, RecursionError, TypeError, UnicodeDecodeError) as error:
        raise WireError(f"these {len(data)} bytes are no envelope: {error}", size_bytes=len(data)) from error
    if not unknown:
        return envelope
    return msgspec.structs.replace(envelope, extra=unknown["fields"], extra_parts=unknown["parts"])


def check_schema_version(run_id: str, found: int) -> None:
    """Check that this version can continue a run. Raises NewerVersionError if a newer one began it."""
    if found > SCHEMA_VERSION:
        raise NewerVersionError(
            f"run {run_id} was begun by a newer version of jeeves: it has schema version {found}, this program knows"
            f" versions up to {SCHEMA_VERSION}; continue it with that version, or install it here",
            run_id=run_id,
            found=found,
            known=SCHEMA_VERSION,
        )

"""Offers the kernel on JSON documents, for the doors that do: `jeeves envelope` and gRPC.

    created      a request                                → the envelope of a new run
    processed    {request, events: [{at_ms, payload}]}    → the envelope after them, and the commands of the last one
    continuing   an envelope                              → {can_continue, reason, detail}
    result       an envelope                              → {terminal_reason, outputs, …}
    validity     an envelope                              → {valid, faults}

Fields of a request that are unknown to this version are returned in the envelope. Nothing is run or recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from runtime.errors import InputError, NewerVersionError, WireError
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.run_modes import check_run_mode
from runtime.primitives.clock import SystemClock, utc_time
from runtime.primitives.ids import RunId, new_run_id
from runtime.run.bounds import blocked_hop
from runtime.run.envelope import (
    SCHEMA_VERSION,
    Envelope,
    Request,
    check_schema_version,
    decode_envelope,
    envelope_document,
)
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.decide import decide
from runtime.supervision.events import Event, Payload, RunRequested
from runtime.supervision.state import Decision, new_state

T = TypeVar("T")

PipelineNamed = Callable[[str], PipelineConfig]
"""Returns the pipeline of a name. Raises UnknownNameError."""


class Moment(msgspec.Struct, frozen=True):
    """Pairs an event's payload with its time in ms."""

    at_ms: int
    payload: Payload


class Script(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes a run by its request and the events that follow it."""

    request: Request
    events: list[Moment] = []
    run_id: str = "r-script"
    at_ms: int = 0


def created(document: bytes, pipeline_named: PipelineNamed) -> dict[str, Any]:
    """Return the envelope of a new run. Raises InputError for what is no request."""
    request, given = _read(document, Request)
    now_ms = SystemClock().now_ms()
    pipeline = pipeline_named(request.pipeline)
    check_run_mode(pipeline, request.run_mode)
    begun = _begun(pipeline, request, new_run_id(now_ms), now_ms)
    return _unknown(given) | envelope_document(begun.state.envelope)


def processed(document: bytes, pipeline_named: PipelineNamed) -> dict[str, Any]:
    """Return the envelope after events, and the commands of the last one. Raises InputError for what is no script."""
    script, given = _read(document, Script)
    pipeline = pipeline_named(script.request.pipeline)
    check_run_mode(pipeline, script.request.run_mode)
    run_id = RunId(script.run_id)
    decision = _begun(pipeline, script.request, run_id, script.at_ms)
    ignored = []
    for number, moment in enumerate(script.events, 2):
        decision = decide(pipeline, decision.state, Event(run_id, number, moment.at_ms, moment.payload))
        if decision.ignored is not None:
            ignored.append({"event": number, "reason": decision.ignored})
    commands = [_shown(command) for command in decision.commands]
    envelope = _unknown(given["request"]) | envelope_document(decision.state.envelope)
    return {"envelope": envelope, "commands": commands, "ignored": ignored}


def continuing(document: bytes, pipeline_named: PipelineNamed) -> dict[str, Any]:
    """Return whether the bounds of an envelope permit another stage. Raises InputError for what is no envelope."""
    envelope = _envelope(document)
    check_schema_version(envelope.run_id, envelope.schema_version)
    if envelope.lifecycle == "terminated":
        return {"can_continue": False, "reason": envelope.terminal_reason, "detail": envelope.terminal_detail}
    if envelope.lifecycle == "waiting":
        question = envelope.interrupt.question if envelope.interrupt else None
        return {"can_continue": False, "reason": "waiting", "detail": question}
    deadline_ms = envelope.bounds.deadline_ms
    if deadline_ms is not None and SystemClock().now_ms() >= deadline_ms:
        return {"can_continue": False, "reason": "deadline_exceeded", "detail": f"it passed at {utc_time(deadline_ms)}"}
    pipeline = pipeline_named(envelope.request.pipeline)
    blocked = blocked_hop(pipeline, envelope, envelope.current_stage or pipeline.first_stage.name)
    if blocked is not None:
        return {"can_continue": False, "reason": blocked.reason, "detail": blocked.detail}
    return {"can_continue": True, "reason": None, "detail": None}


def result(document: bytes) -> dict[str, Any]:
    """Return the terminal reason of an envelope and the outputs of its stages. Raises InputError."""
    envelope = _envelope(document)
    return {
        "run_id": envelope.run_id,
        "lifecycle": envelope.lifecycle,
        "terminal_reason": envelope.terminal_reason,
        "terminal_detail": envelope.terminal_detail,
        "outputs": envelope.outputs,
        "errors": list(envelope.errors),
        "usage": msgspec.to_builtins(envelope.usage),
    }


def validity(document: bytes) -> dict[str, Any]:
    """Return whether a document is a valid envelope of a version that is known here."""
    try:
        envelope = _envelope(document)
        check_schema_version(envelope.run_id, envelope.schema_version)
    except (InputError, NewerVersionError) as error:
        return {"valid": False, "faults": [error.message]}
    return {"valid": True, "faults": []}


def _begun(pipeline: PipelineConfig, request: Request, run_id: RunId, at_ms: int) -> Decision:
    if "\0" in request.raw_input:
        raise InputError("raw_input holds the character U+0000, which no question may; leave it out")
    return decide(
        pipeline, new_state(run_id), Event(run_id, 1, at_ms, RunRequested(request, schema_version=SCHEMA_VERSION))
    )


def _envelope(document: bytes) -> Envelope:
    """Return an envelope; unknown fields are kept."""
    try:
        given = msgspec.json.decode(document, type=dict[str, Any])
        return decode_envelope(msgspec.msgpack.encode(given))
    except WireError as error:
        # It counts the bytes of our own encoding, which the caller never saw.
        raise InputError(f"not an envelope: {error.__cause__}") from error
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InputError(f"not an envelope: {error}") from error


def _read(document: bytes, kind: type[T]) -> tuple[T, dict[str, Any]]:
    """Return a document as a `kind` and as plain data."""
    try:
        given = msgspec.json.decode(document)
        return msgspec.convert(given, kind), given
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InputError(f"not a {kind.__name__.lower()}: {error}") from error


def _unknown(request: dict[str, Any]) -> dict[str, Any]:
    known = {field.encode_name for kind in (Request, Envelope) for field in msgspec.structs.fields(kind)}
    return {name: value for name, value in request.items() if name not in known}


def _shown(command: Command) -> dict[str, Any]:
    """Return a command as JSON, with the stage's input decoded instead of as Base64."""
    document: dict[str, Any] = msgspec.to_builtins(command)
    if isinstance(command, RunStage):
        document["input"] = msgspec.msgpack.decode(command.input)
    return document

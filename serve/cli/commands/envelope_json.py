"""Runs `jeeves envelope`: offers the kernel to any language, as JSON on standard input and output.

    create        {pipeline, raw_input, …}                 → the envelope of a new run
    process       {request, events: [{at_ms, payload}]}    → the envelope after them, and the commands of the last one
    can-continue  an envelope                              → {can_continue, reason, detail}
    result        an envelope                              → {terminal_reason, outputs, …}
    validate      an envelope                              → {valid, faults}
    version                                                → {version, schema_version}

Fields of a request that are unknown to this version are returned in the envelope. An error is
`{error, code, message}` on standard output, with exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from runtime.errors import InputError, JeevesError, NewerVersionError
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
from runtime.settings import Settings, load_settings
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.decide import decide
from runtime.supervision.events import Event, Payload, RunRequested
from runtime.supervision.state import Decision, new_state
from serve.cli.output.terminal import say_encoded_json
from serve.pipeline_files import load_named_pipeline

app = typer.Typer(help="The kernel as JSON on standard input and output.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option(help="Settings file.")]

T = TypeVar("T")

MAX_DOCUMENT_BYTES = 64 * 2**20
"""As long as the longest line that a warm system takes."""


@app.command("create")
def create(config: Config = None) -> None:
    """Read a request, write the envelope of a new run."""
    _answer(lambda: _created(load_settings(config), *_read(Request)))


@app.command("process")
def process(config: Config = None) -> None:
    """Read a request and events, write the envelope after them and the resulting commands."""
    _answer(lambda: _processed(load_settings(config), *_read(Script)))


@app.command("can-continue")
def can_continue(config: Config = None) -> None:
    """Read an envelope, write whether its bounds permit another stage."""
    _answer(lambda: _continuing(load_settings(config), _envelope()))


@app.command("result")
def result() -> None:
    """Read an envelope, write its terminal reason and the outputs of its stages."""
    _answer(lambda: _result(_envelope()))


@app.command("validate")
def validate() -> None:
    """Read an envelope, write whether it is valid."""

    def check() -> dict[str, Any]:
        try:
            envelope = _envelope()
            check_schema_version(envelope.run_id, envelope.schema_version)
        except (InputError, NewerVersionError) as error:
            return {"valid": False, "faults": [error.message]}
        return {"valid": True, "faults": []}

    _answer(check)


@app.command("version")
def version() -> None:
    """Write the versions of the program and of the envelope's schema."""
    _answer(lambda: {"version": installed_version("jeeves"), "schema_version": SCHEMA_VERSION})


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


def _created(settings: Settings, request: Request, given: dict[str, Any]) -> dict[str, Any]:
    now_ms = SystemClock().now_ms()
    pipeline = load_named_pipeline(settings, request.pipeline)
    check_run_mode(pipeline, request.run_mode)
    begun = _begun(pipeline, request, new_run_id(now_ms), now_ms)
    return _unknown(given) | _document(begun.state.envelope)


def _processed(settings: Settings, script: Script, given: dict[str, Any]) -> dict[str, Any]:
    pipeline = load_named_pipeline(settings, script.request.pipeline)
    check_run_mode(pipeline, script.request.run_mode)
    run_id = RunId(script.run_id)
    decision = _begun(pipeline, script.request, run_id, script.at_ms)
    ignored = []
    for number, moment in enumerate(script.events, 2):
        decision = decide(pipeline, decision.state, Event(run_id, number, moment.at_ms, moment.payload))
        if decision.ignored is not None:
            ignored.append({"event": number, "reason": decision.ignored})
    commands = [_shown(command) for command in decision.commands]
    envelope = _unknown(given["request"]) | _document(decision.state.envelope)
    return {"envelope": envelope, "commands": commands, "ignored": ignored}


def _begun(pipeline: PipelineConfig, request: Request, run_id: RunId, at_ms: int) -> Decision:
    return decide(
        pipeline, new_state(run_id), Event(run_id, 1, at_ms, RunRequested(request, schema_version=SCHEMA_VERSION))
    )


def _continuing(settings: Settings, envelope: Envelope) -> dict[str, Any]:
    check_schema_version(envelope.run_id, envelope.schema_version)
    if envelope.lifecycle == "terminated":
        return {"can_continue": False, "reason": envelope.terminal_reason, "detail": envelope.terminal_detail}
    if envelope.lifecycle == "waiting":
        question = envelope.interrupt.question if envelope.interrupt else None
        return {"can_continue": False, "reason": "waiting", "detail": question}
    deadline_ms = envelope.bounds.deadline_ms
    if deadline_ms is not None and SystemClock().now_ms() >= deadline_ms:
        return {"can_continue": False, "reason": "deadline_exceeded", "detail": f"it passed at {utc_time(deadline_ms)}"}
    pipeline = load_named_pipeline(settings, envelope.request.pipeline)
    blocked = blocked_hop(pipeline, envelope, envelope.current_stage or pipeline.first_stage.name)
    if blocked is not None:
        return {"can_continue": False, "reason": blocked.reason, "detail": blocked.detail}
    return {"can_continue": True, "reason": None, "detail": None}


def _result(envelope: Envelope) -> dict[str, Any]:
    return {
        "run_id": envelope.run_id,
        "lifecycle": envelope.lifecycle,
        "terminal_reason": envelope.terminal_reason,
        "terminal_detail": envelope.terminal_detail,
        "outputs": envelope.outputs,
        "errors": list(envelope.errors),
        "usage": msgspec.to_builtins(envelope.usage),
    }


def _envelope() -> Envelope:
    """Read an envelope from standard input; unknown fields are kept."""
    try:
        return decode_envelope(msgspec.msgpack.encode(_given()))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError, JeevesError) as error:
        raise InputError(f"not an envelope: {error}") from error


def _read(kind: type[T]) -> tuple[T, dict[str, Any]]:
    """Read standard input, as a `kind` and as plain data."""
    try:
        given = _given()
        return msgspec.convert(given, kind), given
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InputError(f"not a {kind.__name__.lower()}: {error}") from error


def _given() -> Any:
    data = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"it has more than {MAX_DOCUMENT_BYTES} bytes")
    return msgspec.json.decode(data)


def _unknown(request: dict[str, Any]) -> dict[str, Any]:
    known = {field.encode_name for kind in (Request, Envelope) for field in msgspec.structs.fields(kind)}
    return {name: value for name, value in request.items() if name not in known}


def _document(envelope: Envelope) -> dict[str, Any]:
    return envelope_document(envelope)


def _shown(command: Command) -> dict[str, Any]:
    """Return a command as JSON, with the stage's input decoded instead of as Base64."""
    document: dict[str, Any] = msgspec.to_builtins(command)
    if isinstance(command, RunStage):
        document["input"] = msgspec.msgpack.decode(command.input)
    return document


def _answer(work: Callable[[], dict[str, Any]]) -> None:
    try:
        answer = work()
    except JeevesError as error:
        _write({"error": True, "code": error.code, "message": error.message})
        raise typer.Exit(1) from None
    _write(answer)


def _write(document: dict[str, Any]) -> None:
    say_encoded_json(msgspec.json.encode(document).decode())

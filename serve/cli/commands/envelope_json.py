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
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from runtime.errors import InputError, JeevesError
from runtime.run.envelope import SCHEMA_VERSION
from runtime.settings import load_settings
from serve.cli.output.terminal import say_encoded_json
from serve.envelope_documents import PipelineNamed, continuing, created, processed, result, validity
from serve.pipeline_files import load_named_pipeline

app = typer.Typer(help="The kernel as JSON on standard input and output.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option(help="Settings file.")]

MAX_DOCUMENT_BYTES = 64 * 2**20
"""As long as the longest line that a warm system takes."""


@app.command("create")
def create(config: Config = None) -> None:
    """Read a request, write the envelope of a new run."""
    _answer(lambda: created(_given("a request"), _pipelines(config)))


@app.command("process")
def process(config: Config = None) -> None:
    """Read a request and events, write the envelope after them and the resulting commands."""
    _answer(lambda: processed(_given("a script"), _pipelines(config)))


@app.command("can-continue")
def can_continue(config: Config = None) -> None:
    """Read an envelope, write whether its bounds permit another stage."""
    _answer(lambda: continuing(_given("an envelope"), _pipelines(config)))


@app.command("result")
def write_result() -> None:
    """Read an envelope, write its terminal reason and the outputs of its stages."""
    _answer(lambda: result(_given("an envelope")))


@app.command("validate")
def validate() -> None:
    """Read an envelope, write whether it is valid."""

    def check() -> dict[str, Any]:
        try:
            return validity(_given("an envelope"))
        except InputError as error:
            return {"valid": False, "faults": [error.message]}

    _answer(check)


@app.command("version")
def version() -> None:
    """Write the versions of the program and of the envelope's schema."""
    _answer(lambda: {"version": installed_version("jeeves"), "schema_version": SCHEMA_VERSION})


def _pipelines(config: Path | None) -> PipelineNamed:
    return partial(load_named_pipeline, load_settings(config))


def _given(what: str) -> bytes:
    """Return standard input. Raises InputError if it is longer than a document may be."""
    data = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise InputError(f"not {what}: it has more than {MAX_DOCUMENT_BYTES} bytes")
    return data


def _answer(work: Callable[[], dict[str, Any]]) -> None:
    try:
        answer = work()
    except JeevesError as error:
        _write({"error": True, "code": error.code, "message": error.message})
        raise typer.Exit(1) from None
    _write(answer)


def _write(document: dict[str, Any]) -> None:
    say_encoded_json(msgspec.json.encode(document).decode())

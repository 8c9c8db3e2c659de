"""Runs `jeeves runs watch`, `cancel`, `pause` and `resume`.

They use the system that `jeeves up` keeps; `resume` continues a run that no system drives from its log, in this
process.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from actors.origin import code_version
from runtime.contracts.session_state import SESSION_PREFIX
from runtime.errors import InputError, InterruptError, RunStateError, UnknownNameError
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Interrupt, InterruptResponse
from runtime.run.interrupts import refusal
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from runtime.supervision.replay import client_events_of as client_events
from runtime.supervision.replay import fold
from serve.answer_document import asked_in, document_of, exit_status
from serve.cli.asking import print_document
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import SystemOption, with_system
from serve.cli.output.terminal import say_encoded_json, say_json, say_line
from serve.cli.process_end import run_to_end
from serve.principals import at_terminal
from serve.run_control import check_response, open_question
from serve.run_logs import log_to_go_on_with, recorded_run
from serve.runtimes.answering import OnEvent, ignore_event
from serve.runtimes.warm import WarmRuntime, read_record

Config = Annotated[Path | None, typer.Option(readable=False, help="Settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Run = Annotated[str, typer.Argument(help="Id of the run.")]


def watch(
    run_id: Run,
    after: Annotated[int, typer.Option(min=0, help="Show only the events after this number.")] = 0,
    as_json: AsJson = False,
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Show the events of a run to its end; the exit status is that of `ask`.

    For a run that the warm system does not drive, show the events in its log.
    """
    settings = with_system(load_command_settings(config), system)

    def show(event: ClientEvent) -> None:
        say_encoded_json(msgspec.json.encode(event).decode()) if as_json else say_line(_line_of(event))

    raise typer.Exit(exit_status(_watched(settings, RunId(run_id), after, show)))


def cancel(
    run_id: Run,
    reason: Annotated[str, typer.Option(help="Kept with the run.")] = "",
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Cancel a run of the warm system; results of finished stages are kept.

    A session of a change ends, live or not; its branch and files stay.
    """
    if run_id.startswith(SESSION_PREFIX):
        say_json(_cancelled_change(load_command_settings(config), run_id, reason))
        return
    document = asyncio.run(_system(with_system(load_command_settings(config), system)).cancel(run_id, reason))
    say_line(f"{run_id} {document['terminal_reason']}")


def pause(
    run_id: Run,
    reason: Annotated[str, typer.Option(help="Kept with the run.")] = "",
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Pause a run of the warm system at its next step, until `jeeves runs resume`."""
    asyncio.run(_system(with_system(load_command_settings(config), system)).pause(run_id, reason))
    say_line(f"{run_id} waiting; continue with: jeeves runs resume {run_id}")


def resume(
    run_id: Run,
    text: Annotated[str, typer.Option(help="Answer to a clarification, or a comment.")] = "",
    approve: Annotated[bool, typer.Option("--approve", help="Approve.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject.")] = False,
    modify: Annotated[str | None, typer.Option(metavar="JSON", help="Replacement data, as a JSON object.")] = None,
    interrupt: Annotated[str | None, typer.Option(metavar="ID", help="Question id; default: the open one.")] = None,
    as_json: AsJson = False,
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Resume a waiting run with the answer that it needs, and print its answer.

    A run that no system drives is continued from its log in this process. A session of a change takes --text to go on
    and --reject to end.
    """
    settings = with_system(load_command_settings(config), system)
    if run_id.startswith(SESSION_PREFIX):
        say_json(_answered_change(settings, run_id, text, goes_on=not reject))
        return
    response = response_of(text, approve, reject, modify)
    document = run_to_end(_resumed(settings, RunId(run_id), interrupt, response))
    print_document(document, as_json)
    raise typer.Exit(exit_status(document))


def _cancelled_change(settings: Settings, session_id: str, reason: str) -> dict[str, Any]:
    from serve.cli.change_store import open_change_records

    with open_change_records(settings) as records:
        return records.cancel(session_id, reason)


def _answered_change(settings: Settings, session_id: str, text: str, *, goes_on: bool) -> dict[str, Any]:
    from serve.cli.change_store import open_change_records

    with open_change_records(settings) as records:
        return records.answer(session_id, text, goes_on=goes_on)


def response_of(text: str, approve: bool, reject: bool, modify: str | None) -> InterruptResponse:
    """Return the answer given on the command line. Raises InputError."""
    if approve + reject + (modify is not None) > 1:
        raise InputError("--approve, --reject and --modify are mutually exclusive; pass one of them")
    if modify is not None:
        try:
            data = json.loads(modify)
        except (ValueError, RecursionError) as error:
            raise InputError(f"--modify takes a JSON object: {error}") from error
        if not isinstance(data, dict):
            raise InputError(f"--modify takes a JSON object, not a {type(data).__name__}")
        return InterruptResponse(text, decision="modify", data=data)
    if approve or reject:
        return InterruptResponse(text, approved=approve, decision="approve" if approve else "reject")
    return InterruptResponse(text)


def _watched(settings: Settings, run_id: RunId, after_seq: int, show: OnEvent) -> dict[str, Any]:
    """Show the events after `after_seq`, live or from the log, and return the run's document."""
    if read_record(settings) is not None:
        with suppress(UnknownNameError):  # it ran elsewhere: its log may have it
            return asyncio.run(_system(settings).watch(run_id, after_seq, show))
    run = recorded_run(settings, run_id)
    for event in client_events(run.rules, run.events):
        if event.seq > after_seq:
            show(event)
    envelope = fold(run.rules, run.events).envelope
    return document_of(asked_in(envelope.request), envelope, settings.reasoner)


def _system(settings: Settings) -> WarmRuntime:
    """Return the warm system. Raises InputError if there is none."""
    record = read_record(settings)
    if record is None:
        raise InputError("no system is up; start one with `jeeves up`")
    return WarmRuntime(record, code_version())


async def _resumed(
    settings: Settings, run_id: RunId, interrupt_id: str | None, response: InterruptResponse
) -> dict[str, Any]:
    record = read_record(settings)
    if record is not None:
        warm = WarmRuntime(record, code_version())
        try:
            after_seq = await warm.answer(run_id, interrupt_id, response)
        except UnknownNameError:
            pass  # it began elsewhere, in a process that is gone: its log may have it
        else:
            return await warm.watch(run_id, after_seq, ignore_event, until_it_waits=True)
    return await _carried_on(settings, run_id, interrupt_id, response)


async def _carried_on(
    settings: Settings, run_id: RunId, interrupt_id: str | None, response: InterruptResponse
) -> dict[str, Any]:
    """Resume a run from its log, answer its question, and follow it to its end or its next question."""
    from serve.pipeline_files import load_named_pipeline
    from serve.wiring import index_service, local_runner

    run = recorded_run(settings, run_id)
    asked = _to_answer(fold(run.rules, run.events).envelope, interrupt_id, response)
    pipeline: PipelineConfig = load_named_pipeline(settings, run.rules.name)
    with log_to_go_on_with(settings, run_id) as owner:
        runner = local_runner(settings, pipeline, index_service(settings), owner)
        try:
            await runner.resume(run_id)
            if asked is not None:
                await runner.answer(run_id, asked.id, at_terminal().user_id, response)
            async for _ in runner.watch(run_id):
                if runner.envelope(run_id).lifecycle == "waiting":
                    break
            envelope = runner.envelope(run_id)
            return document_of(asked_in(envelope.request), envelope, settings.reasoner)
        finally:
            await runner.close()


def _to_answer(envelope: Envelope, interrupt_id: str | None, response: InterruptResponse) -> Interrupt | None:
    """Return the question that the answer is for; None for a run whose process died at work and that needs no answer.

    Everything that could refuse the answer is checked here, before the run is resumed.
    """
    is_over, is_waiting = envelope.lifecycle == "terminated", envelope.lifecycle == "waiting"
    if not is_over and not is_waiting and interrupt_id is None:
        if response != InterruptResponse():
            raise RunStateError(f"run {envelope.run_id} is {envelope.lifecycle}: it waits for no answer")
        return None
    interrupt = open_question(envelope, interrupt_id)
    check_response(interrupt, response)
    now_ms = SystemClock().now_ms()
    refused = refusal(interrupt, interrupt.id, at_terminal().user_id, envelope.request.user_id, now_ms)
    if refused is not None:
        raise InterruptError(refused, run_id=envelope.run_id, interrupt_id=interrupt.id)
    return interrupt


def _line_of(event: ClientEvent) -> str:
    at = datetime.fromtimestamp(event.at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    about = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.data.items()]
    return " ".join([f"{event.seq:4}  {at}  {event.type}", *([str(event.stage)] if event.stage else []), *about])

"""Runs `jeeves runs`: reads, explains and forks runs from their logs, whether a system is up or not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from runtime.contracts.session_state import SESSION_PREFIX
from runtime.errors import InputError, RunStateError
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.settings import Settings
from runtime.supervision.event_log import LoggedEvent, event_log
from runtime.supervision.replay import explain, fold
from serve.cli.command_settings import load_command_settings
from serve.cli.commands import runs_control
from serve.cli.output.run_lines import RunLine, run_lines, terminal_width
from serve.cli.output.terminal import say, say_encoded_json, say_json, say_line
from serve.cli.process_end import run_to_end
from serve.pipeline_files import load_named_pipeline
from serve.run_logs import ListedRun, listed_runs, log_to_go_on_with, recorded_run, runs_of_session
from serve.wiring import index_service, local_runner

app = typer.Typer(help="Inspect and control runs.", no_args_is_help=True)
app.command("watch")(runs_control.watch)
app.command("cancel")(runs_control.cancel)
app.command("pause")(runs_control.pause)
app.command("resume")(runs_control.resume)

Config = Annotated[Path | None, typer.Option(help="Settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Run = Annotated[str, typer.Argument(help="Id of the run.")]

LISTED = 20
MOST_CHARS = 200


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of runs, newest first.")] = LISTED,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """List the newest runs of all logs, and the newest sessions of changes, each with what was asked.

    `[NAME]` before it is the session that it was asked in.
    """
    # Imported where they are needed: other commands start without them.
    from serve.cli.change_store import has_change_records, open_change_records

    settings = load_command_settings(config)
    runs = [(_run_line(run), msgspec.to_builtins(run)) for run in listed_runs(settings, limit)]
    rows: list[dict[str, Any]] = []
    if has_change_records(settings):
        with open_change_records(settings) as records:
            rows = [_change_row(change) for change in records.newest(limit)]
    changes = [(_change_line(row), row) for row in rows]
    newest = sorted((*runs, *changes), key=lambda entry: -entry[0].started_at_ms)[:limit]
    if as_json:
        say_json([row for _, row in newest])
        return
    for line in run_lines([line for line, _ in newest], terminal_width()):
        say_line(line)


def _run_line(run: ListedRun) -> RunLine:
    begun = (run.run_id, run.started_at_ms, run.pipeline, run.user_id)
    return RunLine(*begun, _state(run), run.question, run.session_id)


def _change_line(row: dict[str, Any]) -> RunLine:
    begun = (row["run_id"], row["started_at_ms"], row["pipeline"], row["user_id"])
    return RunLine(*begun, row["outcome"] or row["phase"], row["question"])


def _change_row(row: Any) -> dict[str, Any]:
    state = row.state
    return {
        "run_id": state.session_id,
        "pipeline": "code_change",
        "user_id": state.user,
        "started_at_ms": state.started_at_ms,
        "phase": state.phase,
        "outcome": state.outcome,
        "question": state.query,
        "query": state.query,
        "repository": state.repository,
    }


@app.command("show")
def show(
    run_id: Run,
    as_html: Annotated[
        bool, typer.Option("--html", help="Instead, print a page that stands alone: answer, bounds, stages, decisions.")
    ] = False,
    config: Config = None,
) -> None:
    """Print the envelope of a run as JSON; `stays` is the reason why it cannot be resumed, if so."""
    if as_html:
        _show_page(run_id, config)
        return
    if run_id.startswith(SESSION_PREFIX):
        from serve.cli.change_store import open_change_records

        with open_change_records(load_command_settings(config)) as records:
            say_json(records.document(run_id))
        return
    run = recorded_run(load_command_settings(config), RunId(run_id))
    envelope: Envelope = fold(run.rules, run.events).envelope
    document = msgspec.to_builtins(envelope)
    if run.stays is not None and envelope.lifecycle != "terminated":
        document["stays"] = run.stays
    say_encoded_json(msgspec.json.encode(document).decode())


def _show_page(run_id: str, config: Path | None) -> None:
    from serve.answer_document import asked_in, document_of
    from serve.cited_code import cited_code, read_until_ms
    from serve.run_page import RunRecord, run_page

    if run_id.startswith(SESSION_PREFIX):
        raise InputError(f"{run_id} is a session of a change; --html shows runs, and without it the session is shown")
    settings = load_command_settings(config)
    run = recorded_run(settings, RunId(run_id))
    envelope: Envelope = fold(run.rules, run.events).envelope
    document = document_of(asked_in(envelope.request), envelope, settings.reasoner)
    code = cited_code(Path(document["repo"]), document["citations"], read_until_ms(envelope))
    say(run_page(RunRecord(envelope, document, explain(run.rules, run.events), run.rules, code)))


@app.command("answer")
def answer(
    run_id: Run,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer document as JSON.")] = False,
    config: Config = None,
) -> None:
    """Print the answer of a run again, as `ask` printed it; of a run that waits, what it asks."""
    from serve.answer_document import asked_in, document_of
    from serve.cli.asking import print_document

    if run_id.startswith(SESSION_PREFIX):
        raise InputError(f"{run_id} is a session of a change, which has no answer; `jeeves runs show` prints it")
    settings = load_command_settings(config)
    run = recorded_run(settings, RunId(run_id))
    envelope: Envelope = fold(run.rules, run.events).envelope
    if envelope.lifecycle not in ("terminated", "waiting"):
        raise RunStateError(f"run {run_id} is {envelope.lifecycle}: it has no answer yet", run_id=run_id)
    reasoner = "llm" if envelope.usage.llm_calls else settings.reasoner
    print_document(document_of(asked_in(envelope.request), envelope, reasoner), as_json)


@app.command("why")
def why(run_id: Run, as_json: AsJson = False, config: Config = None) -> None:
    """Print the chain of decisions that led to the end of a run."""
    run = recorded_run(load_command_settings(config), RunId(run_id))
    reasons = explain(run.rules, run.events)
    if as_json:
        say_json([msgspec.to_builtins(reason) for reason in reasons])
        return
    for reason in reasons:
        say_line(f"{reason.seq:4}  {_time(reason.at_ms)}  {reason.why}")
        say_line(f"      → {reason.what}")


@app.command("log")
def log(
    run_id: Annotated[str | None, typer.Argument(help="Id of the run.")] = None,
    session: Annotated[str | None, typer.Option(help="Instead, all runs of this session, oldest first.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one event per line.")] = False,
    config: Config = None,
) -> None:
    """Print the events of a run: stages, tool and model calls, goals, questions, errors, the end."""
    if (run_id is None) == (session is None):
        raise InputError("pass either a run id or --session")
    settings = load_command_settings(config)
    for each in runs_of_session(settings, session) if session is not None else [RunId(str(run_id))]:
        run = recorded_run(settings, each)
        for event in event_log(run.rules, run.events):
            say_json(msgspec.to_builtins(event)) if as_json else say_line(_line_of(event))


def _line_of(event: LoggedEvent) -> str:
    said = "  ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.payload.items())
    number = event.event_id.rpartition(":")[2].partition(".")[0]
    return (
        f"{number:>4}  {_time(event.timestamp_ms)}  {event.event_type:16}  {event.agent or '-':12}  {said[:MOST_CHARS]}"
    )


@app.command("fork")
def fork(
    run_id: Run,
    at: Annotated[int, typer.Option(min=1, help="Number of the last event to copy from the run's log.")],
    config: Config = None,
) -> None:
    """Fork a run: copy its history up to an event, and continue independently in this process."""
    settings = load_command_settings(config)
    run = recorded_run(settings, RunId(run_id))
    envelope = run_to_end(_forked(settings, load_named_pipeline(settings, run.rules.name), RunId(run_id), at))
    say_line(f"{envelope.run_id} {envelope.terminal_reason or envelope.lifecycle}")


async def _forked(settings: Settings, pipeline: PipelineConfig, source: RunId, at: int) -> Envelope:
    with log_to_go_on_with(settings, source) as owner:
        runner = local_runner(settings, pipeline, index_service(settings), owner)
        try:
            run_id = await runner.fork(source, at)
            async for _ in runner.watch(run_id):
                if runner.envelope(run_id).lifecycle == "waiting":
                    break  # nobody can answer here
            return runner.envelope(run_id)
        finally:
            await runner.close()


def _state(run: ListedRun) -> str:
    if run.stays is not None:
        return f"stays: {run.stays}"
    return run.terminal_reason or run.lifecycle or ("over" if run.finished else "open")


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
